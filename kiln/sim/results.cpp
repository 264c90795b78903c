#include "kiln/sim/results.h"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <set>
#include <string>

#include "kiln/isa/inst_view.h"
#include "kiln/sim/placed_error.h"
#include "kiln/sim/rules.h"

namespace kiln::sim {
namespace {

// The index of an element of a tensor that lies in C order, as text.
std::string place_text(const isa::Tensor& t, std::int64_t element) {
  std::string text;
  for (std::size_t d = t.shape.size(); d-- > 0;) {
    text = fmt::format("{}{}{}", element % t.shape[d], text.empty() ? "" : ", ", text);
    element /= t.shape[d];
  }
  return fmt::format("[{}]", text);
}

// What cannot be mistaken for a result, in the elements with unwritten bytes.
void fill_unwritten(const isa::Tensor& t, const Storage& s) {
  const int size = size_bytes(t.dtype);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const bool is_number = is_float(t.dtype);
  const std::uint32_t bits = is_number ? from_float(t.dtype, nan) : t.dtype == DType::bool_ ? 1 : 4;
  for (std::int64_t at = 0; at < s.rows * s.row_bytes; at += size) {
    if (s.shadow.first_nonzero(at, at + size)) std::memcpy(s.data + at, &bits, size);
  }
}

// A tensor that the caller gets back, once.
template <class Fn>
void for_results(const isa::Launch& launch, Fn&& fn) {
  std::set<std::string, std::less<>> seen;
  for (const isa::Program* p : launch.programs) {
    for (const isa::Tensor& t : p->tensors) {
      const bool is_result = t.role == isa::Role::output || t.role == isa::Role::inout;
      if (is_result && seen.insert(t.name).second) fn(*p, t);
    }
  }
}

// Padding of scale tiles that was copied out: 0, and a warning, for the chip leaves there what it finds.
void settle_padding(const isa::Tensor& t, Storage& s, const Origins& origins, std::int64_t first, RunReport& report) {
  const auto* arrival = origins.arrival(&s, s.shadow.at(first));
  report.warnings.push_back(broken(
      run_rules::kTable, run_rules::kScaleRows,
      {.found = fmt::format("element {} of `{}` is no scale", place_text(t, first / size_bytes(t.dtype)), t.name),
       .loc = arrival ? arrival->program->locs[arrival->inst->loc] : SourceLoc{},
       .severity = Severity::warning,
       .category = Category::undefined}));
  for (std::int64_t at = first; at < s.rows * s.row_bytes; ++at) {
    if (!origins.is_padding(s.shadow.at(at))) continue;
    s.data[at] = std::byte{0};
    s.shadow.fill(at, at + 1, 0);
  }
}

}  // namespace

void check_arrivals(const isa::Launch& launch, int rank, const SharedTensors& shared, const Origins& origins,
                    RunReport& report) {
  if (!origins.any_arrivals()) return;
  for_results(launch, [&](const isa::Program&, const isa::Tensor& t) {
    Storage& s = *shared.at(t.name).storage;
    for (std::int64_t at = s.shadow.find_nonzero(); at < s.rows * s.row_bytes; ++at) {
      const isa::Shadow shadow = s.shadow.at(at);
      if (shadow == 0) continue;
      const auto* arrival = origins.arrival(&s, shadow);
      if (!arrival) continue;  // nothing wrote there
      if (origins.is_padding(shadow)) {
        settle_padding(t, s, origins, at, report);
        continue;
      }
      const isa::InstView inst(*arrival->program, *arrival->inst);
      const Error error(unwritten_diagnostic(origins, shadow, run_rules::kWrittenResults,
                                             place_text(t, at / size_bytes(t.dtype)), t, inst, "output"));
      throw PlacedError(error, inst.program(), &inst.inst(), arrival->pass, rank);
    }
  });
}

void warn_unwritten(const isa::Launch& launch, const SharedTensors& shared, bool fill, RunReport& report) {
  for_results(launch, [&](const isa::Program& p, const isa::Tensor& t) {
    const Storage& s = *shared.at(t.name).storage;
    if (t.role != isa::Role::output || s.shadow.is_uniform(0)) return;
    const std::string first = place_text(t, s.shadow.find_nonzero() / size_bytes(t.dtype));
    report.warnings.push_back(
        broken(run_rules::kTable, run_rules::kWholeOutput,
               {.found = fmt::format("{} of the {} bytes of `{}` are never written, first those of element {}",
                                     s.shadow.count_nonzero(), s.rows * s.row_bytes, t.name, first),
                .loc = p.locs[t.loc],
                .severity = Severity::warning,
                .category = Category::undefined}));
    if (fill) fill_unwritten(t, s);
  });
}

}  // namespace kiln::sim
