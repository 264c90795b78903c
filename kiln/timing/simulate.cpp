// In what order a timing goes. This page reads from top to bottom like one:
//
//  1. every trip count that is given names a loop;
//  2. whether the list scheduler chooses the order is decided, and the what-if changes the chip;
//  3. each core gets a CoreModel, which plans its program (plan.h: streams, times at full speed, memory that is
//  touched);
//  4. a Walk (walk.h) executes the statements on it, loop by loop. Each instruction goes through the parts of the
//     CoreModel: Dependencies say what it waits for; in program order, or in that of the ListScheduler, it starts on
//     the ComputeUnit, the TensorArray or the DmaUnit; Progress keeps its times, the EventLog what is shown and
//     counted;
//  5. in long loops, Steady (steady.h) leaves out iterations that are like those before;
//  6. cores of a pair, and ranks, stop where they meet, and go on when all are there (together.h);
//  7. what the cores did becomes one Timeline (make_timeline.h): lanes, memory, critical path, error band;
//  8. where program order is faster than the list scheduler's, it stays.
#include "kiln/timing/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "kiln/arch/topologies.h"
#include "kiln/timing/band.h"
#include "kiln/timing/make_timeline.h"
#include "kiln/timing/order.h"
#include "kiln/timing/rules.h"
#include "kiln/timing/together.h"
#include "kiln/timing/trips.h"

namespace kiln::timing {
using namespace isa;

namespace {

constexpr std::int64_t kTriedInOrder = 100'000;  // executed instructions

// 1. A count that no loop takes is a mistake.
void require_loops(std::span<const Program* const> cores, const TimingOptions& options) {
  for (const auto& [name, count] : options.trip_counts) {
    const bool known =
        std::any_of(cores.begin(), cores.end(), [&](const Program* p) { return takes_trip_count(*p, name); });
    if (known && count >= 0) continue;
    raise(timing_rules::kTable, timing_rules::kKnownLoop,
          {.found = known ? fmt::format("`{}` runs {} times", name, count)
                          : fmt::format("no loop runs on a register `{}`", name)});
  }
}

// 2.
bool reorders(std::span<const Program* const> cores, const TimingOptions& options) {
  if (options.reorder) return *options.reorder;
  double executed = 0;
  for (const Program* core : cores)
    executed += analysis::executed_instructions(*core, core->body, trip_counts(*core, options));
  return executed <= static_cast<double>(options.reorder_up_to);
}

// "rank 3 core 0 ", as much of it as there is more than one of.
std::string prefix_of(const TimedRanks& ranks, int kind, int core) {
  std::string prefix;
  if (ranks.launch.ranks > 1) prefix += ranks_text(ranks.kinds.ranks_of[static_cast<std::size_t>(kind)]) + " ";
  if (ranks.launch.cores_per_rank > 1) prefix += fmt::format("core {} ", core);
  return prefix;
}

// 3. to 7., in the one order of the instructions that the options say. Nothing when one core takes longer than `limit`.
std::optional<Timeline> run_within(Time limit, const TimedRanks& ranks, const TimingOptions& options) {
  const int cores = ranks.launch.cores_per_rank;
  const bool meets = cores > 1 || ranks.kinds.count() > 1;
  std::vector<CoreRun> runs;
  for (int kind = 0; kind < ranks.kinds.count(); ++kind) {
    for (int core = 0; core < cores; ++core) {
      const int number = static_cast<int>(runs.size());
      CoreRun& r = runs.emplace_back();
      const Program& program = ranks.launch.program(ranks.kinds.first(kind), core);
      r.core =
          std::make_unique<CoreModel>(program, ranks.arch, options, number, cores > 1, prefix_of(ranks, kind, core));
      r.walk = std::make_unique<Walk>(*r.core, options, number, meets);
    }
  }
  if (!meets) runs[0].walk->give_up_after(limit);
  run_together(runs, ranks);
  if (runs[0].walk->gave_up()) return std::nullopt;
  return make_timeline(runs, ranks, options);
}

Timeline run(const TimedRanks& ranks, const TimingOptions& options) {
  return *run_within(std::numeric_limits<Time>::max(), ranks, options);
}

// 8. A compiler keeps an order that is better than what it found.
Timeline better_of(Timeline reordered, std::span<const Program* const> cores, const TimedRanks& ranks,
                   TimingOptions options) {
  const bool scratch = std::any_of(cores.begin(), cores.end(), [](const Program* core) { return has_scratch(*core); });
  if (reordered.instructions > kTriedInOrder || scratch || !options.tries_program_order) return reordered;
  options.reorder = false;
  std::optional<Timeline> in_order = run_within(reordered.total, ranks, options);
  if (!in_order || in_order->total >= reordered.total) return reordered;
  in_order->reordered = in_order->kept_order = true;
  in_order->band = band_of(*in_order, ranks.arch);
  return std::move(*in_order);
}

}  // namespace

Arch chip_of(const Arch& arch, const TimingOptions& options) {
  if (options.topology.empty()) return timing::apply(arch, options.what_if);
  const Topology* topology = find_topology(options.topology);
  if (!topology || topology->target != arch.target)
    raise(timing_rules::kTable, timing_rules::kTopology,
          {.found = topology ? fmt::format("`{}` has {}, the program is for {}", topology->name,
                                           kiln::arch(topology->target).name, arch.name)
                             : fmt::format("no topology `{}`; there are {}", options.topology, topology_names(", "))});
  return timing::apply(with_topology(arch, *topology), options.what_if);
}

Timeline simulate(const Launch& launch, const Arch& arch, const TimingOptions& given) {
  if (launch.ranks > 1) {
    require_ranks(launch);
  } else {
    require_sound(launch);
  }
  const RankKinds kinds = rank_kinds(launch);
  const std::vector<const Program*> cores = timed_programs(launch, kinds);
  require_loops(cores, given);
  TimingOptions options = given;
  options.reorder = reorders(cores, given);
  const Arch changed = chip_of(arch, options);
  const TimedRanks ranks{launch, kinds, changed};
  Timeline t = run(ranks, options);
  if (!*options.reorder) return t;
  return better_of(std::move(t), cores, ranks, options);
}

bool takes_trip_count(const Program& program, const std::string& name) {
  return std::any_of(program.loops.begin(), program.loops.end(), [&](const Loop& loop) {
    return loop.kind != Loop::Kind::static_for && (loop.variable == name || program.registers[loop.reg].name == name);
  });
}

}  // namespace kiln::timing
