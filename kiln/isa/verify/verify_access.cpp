#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "kiln/isa/text/print.h"
#include "kiln/isa/text/text_limits.h"
#include "kiln/isa/verify/verifier.h"

namespace kiln::isa {
namespace {

// |a * b| stays within the limit that keeps sums of such parts in 64 bits.
bool small_product(std::int64_t a, std::int64_t b) {
  std::int64_t product;
  return !__builtin_mul_overflow(a, b, &product) && product <= kMaxTensorSize && product >= -kMaxTensorSize;
}

std::string range_text(const Range& r) { return fmt::format("{} to {}", r.min, r.max); }

}  // namespace

void Verifier::access(const Access& a, bool written) {
  const Tensor& t = program_.tensors[a.tensor];
  access_scope(a);
  if (written) {
    written_[a.tensor] = true;
    if (t.role == Role::input) report_here(program_rules::kInput, fmt::format("{} is an input", t.name));
  }
  // Instructions share accesses: what was sound in this loop still is.
  LoopId& sound_in = sound_in_[&a - program_.accesses.data()];
  const LoopId loop = instructions_[inst_id_].loop;
  if (sound_in == loop) return;
  const std::size_t before = out_.size();
  access_shape(a);
  if (out_.size() == before) sound_in = loop;
}

void Verifier::access_shape(const Access& a) {
  const bool sound = access_pattern(a);
  const bool terms = access_terms(a.partition) && access_terms(a.offset);
  if (a.dynamic != kNone) access_dynamic(a);
  if (!sound || !terms) return;
  if (!small_parts(a))
    return report_here(program_rules::kBounds, fmt::format("{} reaches too far", print(program_, a)));
  access_partitions(a);
  access_bounds(a);
}

void Verifier::access_scope(const Access& a) {
  const Site use = instructions_[inst_id_], declared = tensors_[a.tensor];
  const std::string& tensor = program_.tensors[a.tensor].name;
  if (declared.order > use.order) {
    report_here(program_rules::kScope, fmt::format("{} is declared later", tensor));
  } else if (!encloses(declared.loop, use.loop)) {
    report_here(program_rules::kScope, fmt::format("{} is declared in a loop that has ended", tensor));
  }
}

bool Verifier::access_pattern(const Access& a) {
  const bool on_chip = is_on_chip(program_.tensors[a.tensor].memory);
  bool sound = a.rank >= (on_chip ? 2 : 1) && a.rank <= max_rank(on_chip);
  std::int64_t count = 1;
  for (int i = 0; i < a.rank; ++i) {
    const std::int64_t c = a.dims[i].count;
    sound = sound && c > 0 && !__builtin_mul_overflow(count, c, &count) && count <= kMaxTensorSize;
  }
  if (on_chip) {
    sound = sound && a.dims[0].stride == 1;
  } else {
    sound = sound && a.partition.constant == 0 && a.partition.term_count == 0;
  }
  if (!sound) report_here(program_rules::kPattern, print(program_, a));
  return sound;
}

bool Verifier::access_terms(const Affine& affine) {
  if (affine.term_count > kMaxTerms) {
    report_here(program_rules::kVariable, fmt::format("{} terms", affine.term_count));
    return false;
  }
  for (const Term& term : program_.terms_of(affine)) {
    const Loop& loop = program_.loops[term.loop];
    const bool enclosing = encloses(term.loop, instructions_[inst_id_].loop);
    if (enclosing && loop.kind == Loop::Kind::static_for) continue;
    report_here(program_rules::kVariable, fmt::format("variable {} of {}", loop.variable,
                                                      enclosing ? "a dynamic loop" : "a loop that is not around it"));
    return false;
  }
  return true;
}

// Every part that range_of and element_range add up is small enough for them to do so in 64 bits.
bool Verifier::small_parts(const Access& a) const {
  for (const Affine* affine : {&a.partition, &a.offset}) {
    if (!small_product(affine->constant, 1)) return false;
    for (const Term& term : program_.terms_of(*affine)) {
      const Loop& loop = program_.loops[term.loop];
      const std::int64_t first = loop.lower.value;
      const std::int64_t last = first + std::max<std::int64_t>(loop.trip_count() - 1, 0) * loop.step;
      if (!small_product(term.coefficient, first) || !small_product(term.coefficient, last)) return false;
    }
  }
  return std::all_of(a.dims, a.dims + a.rank, [](const Dim& d) { return small_product(d.stride, d.count); });
}

void Verifier::access_dynamic(const Access& a) {
  const Dynamic& d = program_.dynamics[a.dynamic];
  const bool on_chip = is_on_chip(program_.tensors[a.tensor].memory);
  if (d.kind == Dynamic::Kind::vector && on_chip) report_here(program_rules::kDynamic, "a vector offset on chip");
  if (d.kind == Dynamic::Kind::indirect && !on_chip) report_here(program_rules::kDynamic, "an indirect access to HBM");
  if (d.kind == Dynamic::Kind::scalar_register) return;
  const Access& source = program_.accesses[d.source];
  if (source.dynamic != kNone) {
    return report_here(program_rules::kDynamic,
                       fmt::format("offset {} has a run-time offset itself", program_.tensors[source.tensor].name));
  }
  access(source, false);
}

void Verifier::access_partitions(const Access& a) {
  const Tensor& t = program_.tensors[a.tensor];
  if (!is_on_chip(t.memory)) return;
  Range r = range_of(program_, a.partition);
  r.max += a.dims[0].count - 1;
  if (r.min >= 0 && r.max < t.partitions()) return;
  report_here(program_rules::kPartitions, fmt::format("{} touches partitions {}", print(program_, a), range_text(r)),
              fmt::format("0 to {}", t.partitions() - 1));
}

// With a run-time offset only the extent is known now: it must fit somewhere. A vector offset places each row
// by itself; an indirect access takes its elements from anywhere.
void Verifier::access_bounds(const Access& a) {
  const Tensor& t = program_.tensors[a.tensor];
  const std::int64_t size = t.bytes_per_partition() / size_bytes(a.dtype);
  Access fixed = a;
  if (a.dynamic != kNone) {
    const Dynamic::Kind kind = program_.dynamics[a.dynamic].kind;
    if (kind == Dynamic::Kind::indirect) return;
    if (kind == Dynamic::Kind::vector) fixed.dims[0].count = 1;
    fixed.offset = {};
  }
  Range r = element_range(program_, fixed);
  if (a.dynamic != kNone) r = {0, r.max - r.min};
  if (r.min >= 0 && r.max < size) return;
  const char* where = is_on_chip(t.memory) ? " of each partition" : "";
  report_here(program_rules::kBounds,
              fmt::format("{} touches {} elements {}{}", print(program_, a), name(a.dtype), range_text(r), where),
              fmt::format("0 to {}", size - 1));
}

}  // namespace kiln::isa
