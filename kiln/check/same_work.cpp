#include "kiln/check/same_work.h"

#include <fmt/format.h>

#include <algorithm>

#include "kiln/analysis/writers.h"
#include "kiln/check/rules.h"

namespace kiln::check {
using namespace isa;
namespace {

bool same(const Affine& a, const Affine& b) {
  return a.constant == b.constant && a.first_term == b.first_term && a.term_count == b.term_count;
}
bool same(const Arg& a, const Arg& b) { return a.kind == b.kind && a.count == b.count && a.integer == b.integer; }
bool same(const Dynamic& a, const Dynamic& b) { return a.kind == b.kind && a.source == b.source && a.scale == b.scale; }
bool same(const Access& a, const Access& b) {
  return a.tensor == b.tensor && a.dtype == b.dtype && a.rank == b.rank && a.dynamic == b.dynamic &&
         same(a.partition, b.partition) && same(a.offset, b.offset) && std::equal(a.dims, a.dims + a.rank, b.dims);
}
bool same(const Instruction& a, const Instruction& b) { return a.opcode == b.opcode && a.first_arg == b.first_arg; }
bool same(const Bound& a, const Bound& b) { return a.is_register == b.is_register && a.value == b.value; }
bool same(const Loop& a, const Loop& b) {
  return a.kind == b.kind && a.reg == b.reg && a.step == b.step && a.body == b.body && same(a.lower, b.lower) &&
         same(a.upper, b.upper);
}
bool same(const Tensor& a, const Tensor& b) {
  return a.name == b.name && a.memory == b.memory && a.dtype == b.dtype && a.role == b.role && a.shape == b.shape &&
         a.address == b.address;
}

// Programs are built in one order, so equal ones have equal pools.
bool same(const Program& a, const Program& b) {
  if (&a == &b) return true;
  const auto equal = [](const auto& x, const auto& y) {
    return std::ranges::equal(x, y, [](const auto& p, const auto& q) { return same(p, q); });
  };
  return equal(a.instructions, b.instructions) && equal(a.args, b.args) && equal(a.accesses, b.accesses) &&
         equal(a.dynamics, b.dynamics) && equal(a.loops, b.loops) && equal(a.tensors, b.tensors) &&
         a.terms == b.terms && a.integers == b.integers && a.reals == b.reals && a.body == b.body;
}

// What both cores write, or null.
const Tensor* written_result(const Program& program) {
  const std::vector<bool> written = analysis::written_tensors(program);
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (written[i] && program.tensors[i].role != Role::internal) return &program.tensors[i];
  }
  return nullptr;
}

}  // namespace

void check_shared_work(const Launch& launch, std::vector<Diagnostic>& out) {
  if (launch.cores_per_rank != 2) return;
  for (int rank = 0; rank < launch.ranks; ++rank) {
    const Program &a = launch.program(rank, 0), &b = launch.program(rank, 1);
    const Tensor* result = written_result(a);
    if (!result || !same(a, b)) continue;
    out.push_back(
        broken(flow_rules::kTable, flow_rules::kSharedWork,
               {.found = fmt::format("both cores execute the same {} instructions and write the same parts of "
                                     "`{}`",
                                     a.instructions.size(), result->name),
                .loc = a.locs[result->loc],
                .context = a.name,
                .severity = Severity::warning}));
    return;
  }
}

}  // namespace kiln::check
