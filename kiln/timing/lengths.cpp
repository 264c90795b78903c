#include "kiln/timing/lengths.h"

#include <algorithm>
#include <memory>

#include "kiln/timing/order.h"
#include "kiln/timing/walk.h"

namespace kiln::timing {

namespace {

constexpr double kShort = 20'000;  // executed instructions as written
constexpr OpId kAsked = 32;        // a longer run is compared after so many ops, again and again
constexpr OpId kAlike = 192;       // as many as the list scheduler holds back

Length length_of(const CoreModel& core) { return {core.progress().last_end(), core.log().dma_busy()}; }

// What a run has done after so many ops, besides their times.
struct Mark {
  Time dma_busy;
  LoopState state;
};

// A run as written, once it is over.
struct Whole {
  const CoreModel& core;
  std::vector<Mark> marks;  // after each kAsked ops
};

// A run with more passes of a loop, from where the loop ends. What follows the loop is the same, only later. Once many
// ops in a row came as much later as each other, the rest is taken to as well.
class Longer {
 public:
  Longer(const CoreModel& core, const Walk& walk, const MorePasses& more)
      : core_(core.fork()), walk_(walk, *core_, more.loop, more.passes), next_(core.progress().op_count()) {}
  Length run(const Whole& whole) {
    const auto goes_on = [&] { return !is_known(whole); };
    if (walk_.added_ops()) walk_.ask(*walk_.added_ops() + (next_ / kAsked + 1) * kAsked, kAsked, goes_on);
    walk_.advance();
    return known_.value_or(length_of(*core_));
  }

 private:
  void compare(const Progress& whole);
  bool is_known(const Whole& whole);

  std::unique_ptr<CoreModel> core_;
  Walk walk_;
  OpId next_;       // of the run as written, to be compared
  OpId alike_ = 0;  // so many before it came `later_`
  Time later_ = 0;
  std::optional<Length> known_;
};

void Longer::compare(const Progress& whole) {
  const Progress& own = core_->progress();
  for (const OpId added = *walk_.added_ops(); next_ + added < own.op_count(); ++next_) {
    if (!own.has_times(next_ + added)) return;
    const OpTimes here = own.times(next_ + added), there = whole.times(next_);
    const Time later = here.end - there.end;
    if (here.start - there.start != later) {
      alike_ = 0;
    } else {
      alike_ = later == later_ ? alike_ + 1 : 1;
      later_ = later;
    }
  }
}

bool Longer::is_known(const Whole& whole) {
  compare(whole.core.progress());
  const std::size_t asked = (core_->progress().op_count() - *walk_.added_ops()) / kAsked;
  if (alike_ < kAlike || asked > whole.marks.size()) return false;
  const Mark& mark = whole.marks[asked - 1];
  if (core_->loop_state() != mark.state) return false;
  const Length now = length_of(*core_), all = length_of(whole.core);
  known_ = {std::max(now.total, all.total + later_), now.dma_busy + all.dma_busy - mark.dma_busy};
  return true;
}

// One core in one order of its instructions, and those that begin on its way.
class Runs {
 public:
  Runs(const isa::Program& program, const Arch& arch, TimingOptions options, bool reorder)
      : options_(with_order(std::move(options), reorder)),
        core_(program, arch, options_, 0, false, ""),
        walk_(core_, options_, 0, false) {}

  bool is_short() const { return walk_.executed() <= kShort; }
  void give_up_after(Time limit) { walk_.give_up_after(limit); }
  bool gave_up() const { return walk_.gave_up(); }
  void run(std::span<const MorePasses> loops) {
    std::vector<isa::LoopId> ids;
    for (const MorePasses& l : loops) ids.push_back(l.loop);
    std::vector<std::unique_ptr<Longer>> longer(loops.size());
    const auto at_end = [&](isa::LoopId id) {
      for (std::size_t i = 0; i < loops.size(); ++i) {
        if (loops[i].loop == id) longer[i] = std::make_unique<Longer>(core_, walk_, loops[i]);
      }
    };
    Whole whole{core_, {}};
    const auto mark = [&] {
      whole.marks.push_back({core_.log().dma_busy(), core_.loop_state()});
      return true;
    };
    walk_.tell_of(std::move(ids), at_end);
    if (!loops.empty()) walk_.ask(kAsked, kAsked, mark);
    walk_.advance();
    for (const std::unique_ptr<Longer>& l : longer)
      longer_.push_back(l ? l->run(whole) : length());  // without one it is never reached
  }
  Length length() const { return length_of(core_); }
  const std::vector<Length>& longer() const { return longer_; }

 private:
  static TimingOptions with_order(TimingOptions options, bool reorder) {
    options.reorder = reorder;
    return options;
  }

  const TimingOptions options_;
  CoreModel core_;
  Walk walk_;
  std::vector<Length> longer_;
};

}  // namespace

std::optional<Lengths> lengths(const isa::Launch& launch, const Arch& arch, const TimingOptions& options,
                               std::span<const MorePasses> loops) {
  if (launch.programs.size() != 1) return {};
  const isa::Program& program = *launch.programs[0];
  const Arch chip = chip_of(arch, options);
  const bool tries_both = !options.reorder && options.tries_program_order && !has_scratch(program);
  const bool reorder = options.reorder.value_or(true);
  Runs runs(program, chip, options, reorder);
  if (!runs.is_short()) return {};
  runs.run(loops);
  if (tries_both) {
    Runs in_order(program, chip, options, false);
    in_order.give_up_after(runs.length().total);
    in_order.run({});
    if (!in_order.gave_up() && in_order.length().total < runs.length().total) {
      Runs again(program, chip, options, false);
      again.run(loops);
      return Lengths{again.length(), again.longer(), false};
    }
  }
  return Lengths{runs.length(), runs.longer(), reorder};
}

}  // namespace kiln::timing
