#include "kiln/isa/semantics/indirect_rules.h"

#include <fmt/format.h>

#include <algorithm>

namespace kiln::isa {
namespace {

const Access& index_of(const Check& c, int param) { return c.program().accesses[c.dynamic(param)->source]; }

// A tensor of more than 64 partitions has only one place, of more than 32 two, others four.
std::int64_t placement_unit(const Check& c, const Tensor& t) {
  if (t.address || t.partitions() > 2 * kQuadrantPartitions) return c.arch().partitions;
  return t.partitions() > kQuadrantPartitions ? 2 * kQuadrantPartitions : kQuadrantPartitions;
}

std::int64_t first_partition(const Check& c, const Access& a) {
  const Tensor& t = c.program().tensors[a.tensor];
  return a.partition.constant + (t.address ? t.address->partition : 0);
}

bool can_start_together(const Check& c, const Access& a, const Access& b) {
  const Program& p = c.program();
  const auto x = p.terms_of(a.partition), y = p.terms_of(b.partition);
  if (!std::equal(x.begin(), x.end(), y.begin(), y.end())) return false;
  const std::int64_t unit = std::min(placement_unit(c, p.tensors[a.tensor]), placement_unit(c, p.tensors[b.tensor]));
  return (first_partition(c, a) - first_partition(c, b)) % unit == 0;
}

bool starts_in_quadrant(const Check& c, const Access& index) {
  const auto terms = c.program().terms_of(index.partition);
  return first_partition(c, index) % kQuadrantPartitions == 0 &&
         std::all_of(terms.begin(), terms.end(),
                     [](const Term& t) { return t.coefficient % kQuadrantPartitions == 0; });
}

// The operand that decides where the index of a scattered destination lies: the first input, or nothing.
const Access* main_source(const Check& c) {
  for (int i = 0; i < static_cast<int>(c.row().params.size()); ++i) {
    const ParamInfo& p = c.row().params[i];
    if (p.is_output() || !p.is_tile()) continue;
    if (!c.is_tile(i)) return nullptr;
    if (!c.in_psum(i)) return &c.access(i);
    return c.is_indirect(i) ? &index_of(c, i) : nullptr;
  }
  return nullptr;
}

std::string misplaced(const Check& c, int param) {
  const Access& index = index_of(c, param);
  const ParamInfo& p = c.row().params[param];
  if (!starts_in_quadrant(c, index))
    return fmt::format("the index of `{}` starts at partition {}", p.name, first_partition(c, index));
  const Access* other = p.is_output() ? main_source(c) : &c.access(param);
  if (!other || can_start_together(c, index, *other)) return {};
  return fmt::format("the index of `{}` starts at partition {}, {} at partition {}", p.name, first_partition(c, index),
                     p.is_output() ? "the source" : "the operand itself", first_partition(c, *other));
}

}  // namespace

std::string misplaced_indirect(const Check& c) {
  for (int i = 0; i < static_cast<int>(c.row().params.size()); ++i) {
    if (!c.row().params[i].is_tile() || !c.is_indirect(i)) continue;
    if (std::string found = misplaced(c, i); !found.empty()) return found;
  }
  return {};
}

bool can_start_at(const Check& c, const Access& access, std::int64_t partition) {
  return (first_partition(c, access) - partition) % placement_unit(c, c.program().tensors[access.tensor]) == 0;
}

std::int64_t index_capacity(const Check& c, const Access& index) {
  const std::int64_t group = c.engine() == Engine::tensor ? 32 : 16;
  const std::int64_t rest = index.rows() % group;  // partitions of a last, incomplete group
  return rest ? rest : group * index.row_size();
}

}  // namespace kiln::isa
