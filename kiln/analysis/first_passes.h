// First passes: a program as it runs, for whoever follows what becomes of values without running it.
#pragma once

#include <algorithm>
#include <vector>

#include "kiln/isa/program.h"

namespace kiln::analysis {

// The first two passes of each loop: what one pass leaves, the next one finds. Of very deep loops the first one only,
// or the work would double with each.
class FirstPasses {
 public:
  explicit FirstPasses(const isa::Program& program) : program_(program), loop_values_(program.loops.size()) {}

  // The values of the loops' variables now, by LoopId.
  const std::vector<std::int64_t>& loop_values() const { return loop_values_; }

  // Calls fn(node) for each declaration and instruction, in the order of the run.
  template <class Fn>
  void walk(Fn&& fn) {
    block(program_.body, fn);
  }

 private:
  static constexpr int kMaxDoubledLoops = 6;

  template <class Fn>
  void block(const isa::Block& body, Fn& fn) {
    for (const isa::Node& node : body) {
      if (node.kind == isa::Node::Kind::loop) {
        loop(node.index, fn);
      } else {
        fn(node);
      }
    }
  }

  template <class Fn>
  void loop(isa::LoopId id, Fn& fn) {
    const isa::Loop& loop = program_.loops[id];
    const bool counted = loop.kind == isa::Loop::Kind::static_for;
    const std::int64_t most = depth_ < kMaxDoubledLoops ? 2 : 1;
    const std::int64_t passes = counted ? std::min(loop.trip_count(), most) : most;
    ++depth_;
    for (std::int64_t pass = 0; pass < passes; ++pass) {
      loop_values_[id] = loop.lower.value + pass * loop.step;
      block(loop.body, fn);
    }
    --depth_;
  }

  const isa::Program& program_;
  std::vector<std::int64_t> loop_values_;
  int depth_ = 0;
};

}  // namespace kiln::analysis
