#include "kiln/timing/loop_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "kiln/analysis/statements.h"
#include "kiln/timing/rules.h"
#include "kiln/timing/trips.h"

namespace kiln::timing {
using namespace isa;

namespace {

constexpr double kUntilSteady = 16;  // iterations that becoming steady takes, about
constexpr double kFewestPasses = 6;  // the least that it takes
constexpr double kCountable = 1e18;  // instructions

}  // namespace

// Which loops are watched.
struct LoopPlan::Choice {
  double all_at_once;     // executed instructions that are simulated one by one
  double min_iterations;  // fewer are not worth extrapolating
  bool around_others;     // loops around loops that are watched
};

LoopPlan::LoopPlan(const Program& program, const Plan& plan, const TimingOptions& options, bool pair)
    : program_(program),
      plan_(plan),
      pair_(pair),
      trips_(timing::trip_counts(program, options)),
      each_(program.loops.size()),
      next_(program.loops.size(), kNone),
      watched_(program.loops.size()) {
  constexpr Choice kOutermost{100'000, 24, false}, kNested{12'500, 8, true};
  executed_ = count(program.body);
  require_countable();
  if (options.extrapolate && !options.reorder.value() && executed_ > kOutermost.all_at_once) {
    if (!pair) choose(program.body, kOutermost);
    if (taken(program.body, 2 * kUntilSteady) > options.nested_from) {
      watched_.assign(program.loops.size(), false);
      find_chains();
      choose(program.body, kNested);
    }
  }
  simulated_ = taken(program.body, 2 * kUntilSteady);
  require_within(options);
}

double LoopPlan::count(const Block& block) {
  double sum = 0;
  for (const Node& node : block) {
    if (node.kind == Node::Kind::instruction) sum += 1;
    if (node.kind != Node::Kind::loop) continue;
    each_[node.index] = count(program_.loops[node.index].body);
    sum += each_[node.index] * static_cast<double>(trips_[node.index]);
  }
  return sum;
}

void LoopPlan::find_chains() {
  for (LoopId id = 0; id < program_.loops.size(); ++id) {
    const Loop& loop = program_.loops[id];
    if (loop.kind != Loop::Kind::static_for || loop.body.size() != 1 || each_[id] == 0) continue;
    const Node& only = loop.body[0];
    if (only.kind == Node::Kind::loop && goes_on(id, only.index)) next_[id] = only.index;
  }
}

bool LoopPlan::goes_on(LoopId outer, LoopId inner) const {
  if (program_.loops[inner].kind != Loop::Kind::static_for) return false;
  return analysis::for_each_instruction(program_, {Node::Kind::loop, inner}, [&](InstructionId id) {
    const auto uses = plan_.uses_of(id);
    return std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
      const Access& access = program_.accesses[use.access];
      return use.uncertain || (goes_on(access.partition, outer, inner) && goes_on(access.offset, outer, inner));
    });
  });
}

bool LoopPlan::goes_on(const Affine& affine, LoopId outer, LoopId inner) const {
  const auto stride = [&](LoopId loop) {
    std::int64_t sum = 0;
    for (const Term& term : program_.terms_of(affine)) {
      if (term.loop == loop) sum += term.coefficient;
    }
    return sum * program_.loops[loop].step;
  };
  return stride(outer) == stride(inner) * trips_[inner];
}

std::vector<LoopId> LoopPlan::chain(LoopId id) const {
  std::vector<LoopId> loops;
  for (; id != kNone; id = next_[id]) loops.push_back(id);
  return loops;
}

LoopId LoopPlan::innermost(LoopId id) const {
  while (next_[id] != kNone) id = next_[id];
  return id;
}

std::int64_t LoopPlan::passes(LoopId id) const {
  std::int64_t passes = 1;
  for (; id != kNone; id = next_[id]) passes *= trips_[id];
  return passes;
}

// Marks the outermost loops that are long, but whose iterations are short enough to simulate some of them; and loops
// around those, when all of their iterations are too many.
void LoopPlan::choose(const Block& block, const Choice& choice) {
  for (const Node& node : block) {
    if (node.kind != Node::Kind::loop || each_[node.index] == 0) continue;
    const LoopId inner = innermost(node.index);
    const double each = each_[inner], count = static_cast<double>(passes(node.index));
    if (each * count <= choice.all_at_once / kUntilSteady) continue;
    const bool is_short = each * kUntilSteady <= choice.all_at_once;
    watched_[node.index] =
        count >= choice.min_iterations && (is_short || choice.around_others) && !meets_in(node.index);
    if (!is_short || !watched_[node.index]) choose(program_.loops[inner].body, choice);
  }
}

// Whether the other core is met in the loop.
bool LoopPlan::meets_in(LoopId id) const {
  return pair_ && !analysis::for_each_instruction(program_, {Node::Kind::loop, id},
                                                  [&](InstructionId i) { return !plan_.ops[i].meets; });
}

double LoopPlan::taken(LoopId id, double until_steady) const {
  if (each_[id] == 0) return 0;
  const auto count = static_cast<double>(passes(id));
  return (watched_[id] ? std::min(count, until_steady) : count) *
         taken(program_.loops[innermost(id)].body, until_steady);
}

// Instructions that are simulated when a loop that is watched goes round so often before it is steady.
double LoopPlan::taken(const Block& block, double until_steady) const {
  double sum = 0;
  for (const Node& node : block) {
    if (node.kind == Node::Kind::instruction) sum += 1;
    if (node.kind == Node::Kind::loop) sum += taken(node.index, until_steady);
  }
  return sum;
}

void LoopPlan::require_countable() const {
  if (executed_ <= kCountable) return;
  for (const Node& node : program_.body) {
    if (node.kind != Node::Kind::loop) continue;
    const double executed = each_[node.index] * static_cast<double>(trips_[node.index]);
    if (executed < executed_ / static_cast<double>(program_.body.size())) continue;
    raise(timing_rules::kTable, timing_rules::kLongestTime,
          {.found = fmt::format("the loop on `{}` executes {:.3g} instructions",
                                name_of(program_, program_.loops[node.index]), executed),
           .loc = program_.locs[program_.loops[node.index].loc]});
  }
}

// Names the innermost of the loops that are too long.
void LoopPlan::require_within(const TimingOptions& options) const {
  const auto limit = static_cast<double>(options.limit);
  const Block* block = &program_.body;
  LoopId found = kNone;
  const auto is_too_long = [&](const Node& node) {
    return node.kind == Node::Kind::loop && taken(node.index, kFewestPasses) > limit;
  };
  for (auto node = std::find_if(block->begin(), block->end(), is_too_long); node != block->end();) {
    found = node->index;
    block = &program_.loops[innermost(found)].body;
    node = std::find_if(block->begin(), block->end(), is_too_long);
  }
  if (found == kNone) return;
  raise(timing_rules::kTable, timing_rules::kOneByOne,
        {.found = fmt::format("the loop on `{}` needs {:.0f} instructions one by one{}, where {} are allowed",
                              name_of(program_, program_.loops[found]), taken(found, kFewestPasses),
                              options.reorder.value() ? " to be reordered" : "", options.limit),
         .help = options.reorder.value()
                     ? "time it in program order (--in-order, in Python reorder=False), where passes that "
                       "are alike are left out, or raise the limit"
                     : "",
         .loc = program_.locs[program_.loops[found].loc]});
}

}  // namespace kiln::timing
