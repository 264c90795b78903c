#include "kiln/timing/lengths.h"

#include <limits>

#include "kiln/timing/order.h"
#include "kiln/timing/walk.h"

namespace kiln::timing {

namespace {

constexpr double kMost = 20'000;  // executed instructions as written

// One core in one order of its instructions, and those that begin on its way.
class Runs {
 public:
  Runs(const isa::Program& program, const Arch& arch, TimingOptions options, bool reorder)
      : options_(with_order(std::move(options), reorder)),
        core_(program, arch, options_, 0, false, ""),
        walk_(core_, options_, 0, false) {}

  bool is_short() const { return walk_.executed() <= kMost; }
  void give_up_after(Time limit) { walk_.give_up_after(limit); }
  bool gave_up() const { return walk_.gave_up(); }
  void run(std::span<const MorePasses> loops) {
    std::vector<isa::LoopId> ids;
    for (const MorePasses& l : loops) ids.push_back(l.loop);
    longer_.assign(loops.size(), {});
    std::vector<bool> ended(loops.size());
    const auto at_end = [&](isa::LoopId id) {
      for (std::size_t i = 0; i < loops.size(); ++i) {
        if (loops[i].loop != id) continue;
        longer_[i] = from_here(loops[i]);
        ended[i] = true;
      }
    };
    walk_.tell_of(std::move(ids), at_end);
    walk_.advance();
    for (std::size_t i = 0; i < loops.size(); ++i) {
      if (!ended[i]) longer_[i] = length();  // it is never reached
    }
  }
  Length length() const { return length_of(core_); }
  const std::vector<Length>& longer() const { return longer_; }

 private:
  static TimingOptions with_order(TimingOptions options, bool reorder) {
    options.reorder = reorder;
    return options;
  }
  static Length length_of(const CoreModel& core) { return {core.progress().last_end(), core.log().dma_busy()}; }
  Length from_here(const MorePasses& more) const {
    const std::unique_ptr<CoreModel> core = core_.fork();
    Walk(walk_, *core, more.loop, more.passes).advance();
    return length_of(*core);
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
