#include "kiln/check/check_program.h"

#include <algorithm>
#include <functional>

#include "kiln/check/capacity.h"
#include "kiln/check/clobber.h"
#include "kiln/check/io.h"
#include "kiln/check/placement.h"
#include "kiln/check/read_early.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/verify/verify.h"

namespace kiln::check {
using namespace analysis;
namespace {

bool is_error(const Diagnostic& d) { return d.severity == Severity::error; }
bool has_error(const std::vector<Diagnostic>& all) { return std::any_of(all.begin(), all.end(), is_error); }

// PSUM that is too small in the order written may be large enough in the order a scheduler makes of it: a
// warning. Its tensors then have no addresses of their own: those belong to that order.
void forgive_psum(const isa::Program& program, const Arch& arch, const Liveness& liveness, Allocation& allocation,
                  std::vector<Diagnostic>& out) {
  const auto is_psum = [](const Overflow& o) { return o.memory == Memory::psum; };
  if (std::none_of(allocation.overflows.begin(), allocation.overflows.end(), is_psum)) return;
  const Allocation moved = allocate(program, arch, read_early(program, liveness));
  if (std::any_of(moved.overflows.begin(), moved.overflows.end(), is_psum)) return;
  Allocation written = allocation;
  std::erase_if(written.overflows, std::not_fn(is_psum));
  const std::size_t first = out.size();
  report_overflows(program, arch, liveness, written, out);
  for (std::size_t i = first; i < out.size(); ++i) {
    out[i].severity = Severity::warning;
    out[i].found += "; they fit when each is read as soon as it is complete";
  }
  std::erase_if(allocation.overflows, is_psum);
  allocation.psum = moved.psum;
}

void check_layers(const isa::Program& program, const Arch& arch, Report& report) {
  auto& found = report.diagnostics;
  found = isa::verify(program, arch);
  if (has_error(found)) return;  // the other layers rely on the structure
  isa::check_instructions(program, arch, found);
  const Liveness liveness = live_intervals(program);
  std::vector<Diagnostic> misplaced;
  check_placement(program, arch, misplaced);
  const bool placeable = misplaced.empty();
  std::move(misplaced.begin(), misplaced.end(), std::back_inserter(found));
  if (placeable) {
    check_clobbered(program, liveness, found);
    report.allocation = allocate(program, arch, liveness);
    forgive_psum(program, arch, liveness, report.allocation, found);
    report_overflows(program, arch, liveness, report.allocation, found);
  }
  check_hbm(program, arch, found);
  check_io(program, arch, liveness, found);
}

}  // namespace

bool Report::ok() const { return !has_error(diagnostics); }

Report check_program(const isa::Program& program, const Arch& arch) {
  Report report;
  check_layers(program, arch, report);
  auto& all = report.diagnostics;
  if (all.size() > kMaxDiagnostics) {
    std::stable_partition(all.begin(), all.end(), is_error);  // no error may hide behind warnings
    report.left_out = all.size() - kMaxDiagnostics;
    all.resize(kMaxDiagnostics);
  }
  return report;
}

}  // namespace kiln::check
