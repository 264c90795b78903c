#include "kiln/check/check_program.h"

#include <algorithm>

#include "kiln/check/clobber.h"
#include "kiln/check/io.h"
#include "kiln/check/lost_sums.h"
#include "kiln/check/placement.h"
#include "kiln/check/unused_results.h"
#include "kiln/check/unwritten.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/verify/program_rules.h"
#include "kiln/isa/verify/verify.h"

namespace kiln::check {
using namespace analysis;
namespace {

bool is_error(const Diagnostic& d) { return d.severity == Severity::error; }
bool has_error(const std::vector<Diagnostic>& all) { return std::any_of(all.begin(), all.end(), is_error); }

// An output that nothing writes is an error, and one that hides no other.
bool is_sound(const std::vector<Diagnostic>& all) {
  static const std::string unwritten = code_of(isa::program_rules::kTable, isa::program_rules::kOutput);
  return std::none_of(all.begin(), all.end(), [](const Diagnostic& d) { return is_error(d) && d.code != unwritten; });
}

void check_layers(const isa::Program& program, const Arch& arch, const CheckOptions& options, Report& report) {
  auto& found = report.diagnostics;
  found = isa::verify(program, arch);
  if (!is_sound(found)) return;  // the other layers rely on the structure
  isa::check_instructions(program, arch, found);
  const Liveness liveness = live_intervals(program);
  std::vector<Diagnostic> misplaced;
  check_placement(program, arch, misplaced);
  const bool placeable = misplaced.empty();
  std::move(misplaced.begin(), misplaced.end(), std::back_inserter(found));
  if (placeable) {
    check_clobbered(program, liveness, found);
    report.allocation = check_capacity(program, arch, liveness, options.strict_order, found);
  }
  check_hbm(program, arch, found);
  check_io(program, arch, liveness, found);
  if (has_error(found) || !options.warnings) return;  // what it computes is worth a word once it is legal
  check_sums(program, found);
  check_unused(program, liveness, found);
  if (options.unwritten) check_unwritten(program, found);
}

}  // namespace

bool Report::ok() const { return !has_error(diagnostics); }

Report check_program(const isa::Program& program, const Arch& arch, const CheckOptions& options) {
  Report report;
  check_layers(program, arch, options, report);
  auto& all = report.diagnostics;
  if (all.size() > kMaxDiagnostics) {
    std::stable_partition(all.begin(), all.end(), is_error);  // no error may hide behind warnings
    report.left_out = all.size() - kMaxDiagnostics;
    all.resize(kMaxDiagnostics);
  }
  return report;
}

}  // namespace kiln::check
