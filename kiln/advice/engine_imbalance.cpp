#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "kiln/advice/advice_rules.h"
#include "kiln/base/quantity_text.h"
#include "kiln/rewrite/move_engine.h"

namespace kiln::advice {
namespace {

constexpr Engine kSharing[] = {Engine::vector, Engine::scalar, Engine::gpsimd};

using BusyByEngine = std::array<double, kEngineCount>;

BusyByEngine busy_by_engine(const TimedRun& run) {
  BusyByEngine busy{};
  for (const timing::Lane& lane : run.timeline.lanes) {
    if (lane.queue < 0) busy[static_cast<int>(lane.engine)] += timing::to_ns(lane.busy);
  }
  return busy;
}

// Time that each instruction of a core takes on `engine`.
std::vector<double> busy_by_instruction(const TimedRun& run, int core, Engine engine) {
  std::vector<double> busy(run.cores()[core]->instructions.size());
  for (const timing::Event& event : run.timeline.events) {
    const timing::Lane& lane = run.timeline.lanes[event.lane];
    if (lane.core == core && lane.engine == engine)
      busy[event.inst] += timing::to_ns(event.occupied) * static_cast<double>(event.repeats);
  }
  return busy;
}

// The longest-running instructions that together hold about `share` of the time.
std::vector<isa::InstructionId> choose(const std::vector<double>& busy, double share) {
  std::vector<isa::InstructionId> order(busy.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return busy[a] > busy[b]; });
  std::vector<isa::InstructionId> chosen;
  double left = share;
  for (const isa::InstructionId id : order) {
    if (busy[id] <= 0 || busy[id] > left) continue;
    left -= busy[id];
    chosen.push_back(id);
  }
  return chosen;
}

std::optional<Advice> try_move(const Evidence& e, Engine from, Engine to, const BusyByEngine& busy) {
  Change change;
  change.engine = to;
  Places places;
  std::size_t count = 0;
  const double half = (busy[static_cast<int>(from)] - busy[static_cast<int>(to)]) / 2;
  for (std::size_t core = 0; core < e.run.cores().size(); ++core) {
    const isa::Program& program = *e.run.cores()[core];
    std::vector<double> times = busy_by_instruction(e.run, static_cast<int>(core), from);
    for (std::size_t i = 0; i < times.size(); ++i) {
      const auto& engines = info(program.instructions[i].opcode).engines;
      if (std::find(engines.begin(), engines.end(), to) == engines.end()) times[i] = 0;
    }
    std::vector<isa::InstructionId> moved = rewrite::movable(
        e.scratch(core), choose(times, half / static_cast<double>(e.run.cores().size())), to, e.run.arch);
    for (const isa::InstructionId id : moved) places.add({program, program.instructions[id]});
    count += moved.size();
    std::sort(moved.begin(), moved.end());
    change.cores.push_back({.moved = std::move(moved)});
  }
  if (count == 0) return {};
  return Advice{
      .found = fmt::format("the {} engine is busy for {}, the {} engine for {}", name(from),
                           time_text(busy[static_cast<int>(from)]), name(to), time_text(busy[static_cast<int>(to)])),
      .remedy = fmt::format("run these with engine={}", name(to)),
      .places = std::move(places).take(),
      .gain_ns = e.gain_with(change),
      .estimate = e.estimate(fmt::format("these instructions on the {} engine", name(to)))};
}

}  // namespace

std::optional<Advice> engine_imbalance(const Evidence& e) {
  const BusyByEngine busy = busy_by_engine(e.run);
  const Engine from = *std::max_element(std::begin(kSharing), std::end(kSharing), [&](Engine a, Engine b) {
    return busy[static_cast<int>(a)] < busy[static_cast<int>(b)];
  });
  std::optional<Advice> best;
  for (const Engine to : kSharing) {
    if (to == from) continue;
    std::optional<Advice> advice = try_move(e, from, to, busy);
    if (advice && (!best || advice->gain_ns > best->gain_ns)) best = std::move(advice);
  }
  return best;
}

}  // namespace kiln::advice
