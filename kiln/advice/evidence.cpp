#include "kiln/advice/evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <list>

#include "kiln/analysis/statements.h"
#include "kiln/rewrite/costs_after.h"
#include "kiln/timing/rank_kinds.h"

namespace kiln::advice {
namespace {

constexpr double kRunInFull = 200'000;  // executed instructions, simulated one by one
constexpr std::size_t kParts = 4;
constexpr double kPartInstructions = 25'000;

std::vector<std::vector<std::int64_t>> all_executions(const TimedRun& run) {
  std::vector<std::vector<std::int64_t>> all;
  for (int core = 0; core < static_cast<int>(run.cores().size()); ++core)
    all.push_back(analysis::executions(*run.cores()[core], run.trips(core)));
  return all;
}

// Instructions that the model took one by one: those of left-out iterations are not among them.
double simulated(const timing::Timeline& t) {
  const auto triggers = std::count_if(t.events.begin(), t.events.end(),
                                      [](const timing::Event& e) { return e.kind == timing::Kind::trigger; });
  return static_cast<double>(std::ssize(t.events) - triggers + t.events_left_out);
}

// Statements of the body at a quarter, a half … of what it executes.
std::vector<std::size_t> beginnings(const isa::Program& program, const std::vector<std::int64_t>& executed) {
  std::vector<double> until;  // by statement
  double sum = 0;
  for (const isa::Node& node : program.body) {
    analysis::for_each_instruction(program, node,
                                   [&](isa::InstructionId id) { sum += static_cast<double>(executed[id]); });
    until.push_back(sum);
  }
  std::vector<std::size_t> first;
  for (std::size_t k = 0; k < kParts; ++k) {
    const double at = sum * static_cast<double>(k) / kParts;
    const auto i = static_cast<std::size_t>(std::upper_bound(until.begin(), until.end(), at) - until.begin());
    if (first.empty() || first.back() != i) first.push_back(i);
  }
  return first;
}

CoreChange translated(const CoreChange& change, const rewrite::Excerpt& part) {
  using rewrite::Excerpt;
  return {Excerpt::translate(change.narrowed, part.instructions), Excerpt::translate(change.moved, part.instructions),
          Excerpt::translate(change.merged, part.instructions), Excerpt::translate(change.early, part.instructions),
          Excerpt::translate(change.in_turn, part.tensors)};
}

}  // namespace

Evidence::Evidence(const TimedRun& run) : run(run), executions(all_executions(run)) {
  scratch_.resize(run.cores().size());
  // The two programs of a pair meet, so they are run from beginning to end.
  if (run.cores().size() == 1) take_parts(simulated(run.timeline));
}

void Evidence::take_parts(double simulated) {
  if (simulated <= kRunInFull) return;
  const std::vector<std::size_t> first = beginnings(*run.cores()[0], executions[0]);
  const double each = kParts * kPartInstructions / static_cast<double>(first.size());
  const analysis::TripCounts trips = run.trips(0);
  for (const std::size_t statement : first) {
    parts_.push_back(rewrite::excerpt_of(*run.cores()[0], trips, statement, each));
    parts_executed_ += parts_.back().executed;
    parts_total_ += total_with(parts_.back().program, {});
  }
}

timing::Time Evidence::total_with(const isa::Launch& launch, const Change& change) const {
  const std::vector<const isa::Program*> cores = timing::timed_programs(launch, timing::rank_kinds(launch));
  timing::TimingOptions options = run.options;
  options.what_if.clear();  // run.arch has them already
  options.topology.clear();
  options.extrapolate = true;
  options.keep_events = 0;
  options.done = nullptr;
  std::erase_if(options.trip_counts, [&](const auto& given) {  // of loops that a part does not have
    return std::none_of(cores.begin(), cores.end(),
                        [&](const isa::Program* p) { return timing::takes_trip_count(*p, given.first); });
  });
  std::list<isa::Program> costs;
  for (std::size_t core = 0; core < change.cores.size(); ++core) {
    const CoreChange& c = change.cores[core];
    timing::ProgramChange& to = options.changes.emplace_back();
    if (!c.narrowed.empty() || !c.moved.empty()) {
      costs.push_back(rewrite::costs_after(*cores[core], c.narrowed, c.moved, change.engine));
      to.costs = &costs.back();
    }
    to.early = c.early;
    to.in_turn = c.in_turn;
    to.buffers = change.buffers;
    to.merged = c.merged;
    to.merge = change.merge;
    to.same_bytes = change.same_bytes;
  }
  return timing::simulate(launch, timing::apply(run.arch, change.constants), options).total;
}

double Evidence::gain_with(const Change& change) const {
  if (parts_.empty()) return timing::to_ns(run.timeline.total - total_with(run.launch, change));
  timing::Time changed = 0;
  for (const rewrite::Excerpt& part : parts_) {
    Change here = change;
    for (CoreChange& core : here.cores) core = translated(core, part);
    changed += total_with(part.program, here);
  }
  const auto before = static_cast<double>(std::max<timing::Time>(1, parts_total_));
  return std::min(total_ns() * (1 - static_cast<double>(changed) / before), most_to_gain(change));
}

// Instructions that get faster win back no more than what of the critical path is theirs: parts of a program
// may be bound by what hides behind something else in the whole.
double Evidence::most_to_gain(const Change& change) const {
  const CoreChange& core = change.cores.at(0);
  if (!core.in_turn.empty()) return total_ns();
  std::vector<bool> faster(run.cores()[0]->instructions.size());
  for (const auto* ids : {&core.narrowed, &core.moved, &core.merged, &core.early}) {
    for (const isa::InstructionId id : *ids) faster[id] = true;
  }
  timing::Time most = 0;
  for (const timing::CriticalStep& step : run.timeline.critical_path) {
    if (faster[run.timeline.events[step.event].inst]) most += step.time;
  }
  return timing::to_ns(most);
}

std::string Evidence::estimate(const std::string& change) const {
  std::string text = "model re-run with " + change;
  if (!parts_.empty())
    text += fmt::format(", on {} of {} instructions", static_cast<std::int64_t>(parts_executed_),
                        run.timeline.instructions);
  return text;
}

isa::Program& Evidence::scratch(std::size_t core) const {
  if (!scratch_[core]) scratch_[core] = std::make_unique<isa::Program>(*run.cores()[core]);
  return *scratch_[core];
}

}  // namespace kiln::advice
