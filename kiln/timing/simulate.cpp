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
//  6. the cores of a pair stop where they meet, and go on when both are there;
//  7. what the cores did becomes one Timeline (make_timeline.h): lanes, memory, critical path, error band;
//  8. where program order is faster than the list scheduler's, it stays.
#include "kiln/timing/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "kiln/timing/band.h"
#include "kiln/timing/make_timeline.h"
#include "kiln/timing/rules.h"
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

[[noreturn]] void deadlock(const std::vector<CoreRun>& runs, const std::vector<bool>& ended) {
  const std::size_t waiting = ended[0] ? 1 : 0;
  const Program& program = runs[waiting].core->program();
  raise(timing_rules::kTable, timing_rules::kDeadlock,
        {.found = "one core waits here and the other has ended",
         .loc = program.locs[program.instructions[runs[waiting].walk->meeting].loc],
         .category = Category::invalid});
}

// 6. Each core goes on until it meets the other; then both know when.
void run_pair(std::vector<CoreRun>& runs, const Arch& arch) {
  std::vector<bool> ended(runs.size());
  while (true) {
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (!ended[i]) ended[i] = runs[i].walk->advance();
    }
    if (std::all_of(ended.begin(), ended.end(), [](bool e) { return e; })) return;
    if (std::any_of(ended.begin(), ended.end(), [](bool e) { return e; })) deadlock(runs, ended);
    Time at = 0;
    for (const CoreRun& r : runs) at = std::max(at, r.walk->arrival);
    for (CoreRun& r : runs) r.core->meet(at + from_ns(arch.timing.pair_ns));
  }
}

// 3. to 7., in the one order of the instructions that the options say. Nothing when one core takes longer than `limit`.
std::optional<Timeline> run_within(Time limit, std::span<const Program* const> cores, const Arch& arch,
                                   const TimingOptions& options) {
  const bool pair = cores.size() > 1;
  std::vector<CoreRun> runs(cores.size());
  for (std::size_t i = 0; i < cores.size(); ++i) {
    runs[i].core = std::make_unique<CoreModel>(*cores[i], arch, options, static_cast<int>(i), pair);
    runs[i].walk = std::make_unique<Walk>(*runs[i].core, options, static_cast<int>(i), pair);
  }
  if (pair) {
    run_pair(runs, arch);
  } else {
    runs[0].walk->give_up_after(limit);
    runs[0].walk->advance();
    if (runs[0].walk->gave_up()) return std::nullopt;
  }
  return make_timeline(runs, arch, options);
}

Timeline run(std::span<const Program* const> cores, const Arch& arch, const TimingOptions& options) {
  return *run_within(std::numeric_limits<Time>::max(), cores, arch, options);
}

// Loops that hand results on through HBM: the compiler that reorders lets them wait for each other.
bool has_scratch(std::span<const Program* const> cores) {
  return std::any_of(cores.begin(), cores.end(), [](const Program* core) {
    return std::any_of(core->tensors.begin(), core->tensors.end(),
                       [](const Tensor& tensor) { return tensor.role == Role::internal && is_hbm(tensor.memory); });
  });
}

// 8. A compiler keeps an order that is better than what it found.
Timeline better_of(Timeline reordered, std::span<const Program* const> cores, const Arch& arch, TimingOptions options) {
  if (reordered.instructions > kTriedInOrder || has_scratch(cores)) return reordered;
  options.reorder = false;
  std::optional<Timeline> in_order = run_within(reordered.total, cores, arch, options);
  if (!in_order || in_order->total >= reordered.total) return reordered;
  in_order->reordered = true;
  in_order->band = band_of(*in_order, arch);
  return std::move(*in_order);
}

}  // namespace

Timeline simulate(const Launch& launch, const Arch& arch, const TimingOptions& given) {
  require_sound(launch);
  const std::span<const Program* const> cores = launch.cores();
  require_loops(cores, given);
  TimingOptions options = given;
  options.reorder = reorders(cores, given);
  const Arch changed = timing::apply(arch, options.what_if);
  Timeline t = run(cores, changed, options);
  if (!*options.reorder) return t;
  return better_of(std::move(t), cores, changed, options);
}

bool takes_trip_count(const Program& program, const std::string& name) {
  return std::any_of(program.loops.begin(), program.loops.end(), [&](const Loop& loop) {
    return loop.kind != Loop::Kind::static_for && (loop.variable == name || program.registers[loop.reg].name == name);
  });
}

}  // namespace kiln::timing
