// The order of a run, from the caller's buffers to the report. Within it, core.cpp says in what order one instruction
// goes, pair.cpp how two cores meet, and ranks.cpp how ranks do.
#include "kiln/sim/machine.h"

#include <list>
#include <memory>

#include "kiln/analysis/trips.h"
#include "kiln/base/thread_count.h"
#include "kiln/sim/buffers.h"
#include "kiln/sim/checks.h"
#include "kiln/sim/core.h"
#include "kiln/sim/first_nonfinite.h"
#include "kiln/sim/memory_need.h"
#include "kiln/sim/pass_teller.h"
#include "kiln/sim/placed_error.h"
#include "kiln/sim/ranks.h"
#include "kiln/sim/results.h"
#include "kiln/sim/shared_results.h"

namespace kiln::sim {
namespace {

// About a fifth of a millisecond, for which no thread wakes up unless a number of them was asked for (dispatch.cpp):
// two threads of one core win nothing before.
constexpr std::int64_t kAloneWork = 3 << 20;

bool looks_for_nan(const RunOptions& options) { return kChecks && options.nan != NanMode::off; }

// What all cores of a rank see: the tensors of the caller, and what may be done with them.
void share_buffers(const isa::Launch& of_rank, const Buffers& buffers, bool may_borrow, Common& common) {
  bind_buffers(of_rank, buffers, common.tensors);
  common.written = written_buffers(of_rank);
  common.may_borrow = may_borrow;
  common.cores = of_rank.cores_per_rank;
}

// Instructions that all cores execute; 0 when that shows only at run time.
double expected_instructions(const isa::Launch& launch) {
  double sum = 0;
  for (const isa::Program* p : launch.programs) {
    analysis::TripCounts trips;
    for (const isa::Loop& loop : p->loops) {
      const std::optional<std::int64_t> known = analysis::known_trips(loop);
      if (!known) return 0;
      trips.push_back(*known);
    }
    sum += analysis::executed_instructions(*p, p->body, trips);
  }
  return sum;
}

// What the ranks of a run have in common.
struct WholeRun {
  RunReport report;
  FirstNonfinite nonfinite;
  TaskQueue queue;
  Origins origins;
  isa::WarningSink warnings;
  std::int64_t sequence = 0;
  std::list<Rank> ranks;

  explicit WholeRun(const RunOptions& options)
      : nonfinite(options.nan),
        queue(thread_count(options.threads), options.poll, looks_for_nan(options) ? &nonfinite : nullptr,
              options.threads == 0 ? kAloneWork : 0) {}
};

void add_ranks(const isa::Launch& launch, const Arch& arch, std::span<const Buffers> of_ranks,
               const RunOptions& options, WholeRun& run) {
  const bool may_borrow = inputs_stay(launch, of_ranks);
  const double expected = options.done ? expected_instructions(launch) : 0;
  const int processes = options.processes ? options.processes->count() : 1;
  for (int r = 0; r < launch.ranks; ++r) {
    Rank& rank = run.ranks.emplace_back(Rank{{run.queue, run.report, run.origins, run.warnings, run.sequence}});
    rank.common.rank = r;
    rank.common.ranks = launch.ranks;
    rank.common.done = options.done;
    rank.common.expected = expected;
    rank.process = process_of(r, launch.ranks, processes);
    if (options.processes && rank.process != options.processes->self()) continue;
    share_buffers(launch.of_rank(r), of_ranks[r], may_borrow, rank.common);
    for (const isa::Program* p : launch.cores(r))
      rank.cores.push_back(std::make_unique<Core>(*p, arch, options, rank.common, static_cast<int>(rank.cores.size())));
  }
}

// Issues all instructions of all cores and waits for their values.
void run_to_the_end(WholeRun& run, const isa::Launch& launch, const Arch& arch, const RunOptions& options) {
  try {
    run_ranks(run.ranks, launch, arch, options);
  } catch (...) {
    if (!run.queue.stopped()) run.queue.wait();  // what was issued before may fail too: that is the first failure
    throw;
  }
  run.queue.wait();
}

void look_at_results(const isa::Launch& launch, const RunOptions& options, WholeRun& run) {
  for (Rank& rank : run.ranks) {
    if (!rank.is_here()) continue;
    const isa::Launch own = launch.of_rank(rank.common.rank);
    const std::size_t before = run.report.warnings.size();
    check_arrivals(own, rank.common.rank, rank.common.tensors, run.origins, run.report);
    warn_unwritten(own, rank.common.tensors, options.fill_unwritten, run.report);
    for (std::size_t i = before; launch.ranks > 1 && i < run.report.warnings.size(); ++i)
      run.report.warnings[i].facts.push_back({"rank", std::to_string(rank.common.rank)});
  }
}

void report_warnings(WholeRun& run, const PassTeller& passes) {
  for (auto& found : {run.warnings.take(), run.nonfinite.take()}) {
    for (const isa::WarningSink::Warning& warning : found) {
      run.report.warnings.push_back(warning.diagnostic);
      passes.tell(run.report.warnings.back(), *warning.inst, warning.pass);
    }
  }
}

}  // namespace

bool parse_nan_mode(std::string_view text, NanMode& out) {
  const auto* const found = std::ranges::find(kNanModes, text);
  if (found == std::end(kNanModes)) return false;
  out = static_cast<NanMode>(found - std::begin(kNanModes));
  return true;
}

RunReport run(const isa::Launch& launch, const Arch& arch, const Buffers& buffers, const RunOptions& options) {
  return run(launch, arch, std::span(&buffers, 1), options);
}

namespace {

// What is asked of a launch before anything runs; the part of it that this process has.
void require_all(const isa::Launch& launch, std::span<const Buffers> of_ranks, const RunOptions& options) {
  isa::require_ranks(launch);
  if (options.processes) require_same_launch(*options.processes, launch.ranks, text_of(launch));
  require_buffers(launch, of_ranks);
  require_memory(own_ranks(launch, options.processes), options.max_memory);
}

RunReport run_all(const isa::Launch& launch, const Arch& arch, std::span<const Buffers> of_ranks,
                  const RunOptions& options) {
  require_all(launch, of_ranks, options);
  KILN_ASSERT(arch.partitions <= kMaxPartitions);
  const PassTeller passes(launch, options);
  try {
    WholeRun all(options);
    add_ranks(launch, arch, of_ranks, options, all);
    run_to_the_end(all, launch, arch, options);
    report_warnings(all, passes);
    look_at_results(launch, options, all);
    if (options.processes) share_results(*options.processes, launch, of_ranks, all.report);
    return std::move(all.report);
  } catch (const PlacedError& e) {
    std::vector<Diagnostic> diagnostics = e.diagnostics();
    for (Diagnostic& d : diagnostics) {
      passes.tell(d, *e.program, e.inst, e.pass);
      if (launch.ranks > 1) d.facts.push_back({"rank", std::to_string(e.rank)});
    }
    throw Error(std::move(diagnostics));
  }
}

}  // namespace

RunReport run(const isa::Launch& launch, const Arch& arch, std::span<const Buffers> of_ranks,
              const RunOptions& options) {
  try {
    return run_all(launch, arch, of_ranks, options);
  } catch (const std::exception& e) {
    if (options.processes) options.processes->give_up(e.what());
    throw;
  }
}

}  // namespace kiln::sim
