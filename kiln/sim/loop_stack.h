// The loops that a core is in, the values of their variables, and the statement that comes next.
#pragma once

#include <cstdint>
#include <vector>

#include "kiln/analysis/affine.h"
#include "kiln/isa/program.h"
#include "kiln/isa/semantics/pass.h"
#include "kiln/sim/machine.h"
#include "kiln/sim/registers.h"

namespace kiln::sim {

class LoopStack final : public isa::PassSource {
 public:
  // Starts before the first statement. Dynamic loops read and write `registers`, and are counted in `counts`; that all
  // loops together go round more than `max_passes` times is an error.
  LoopStack(const isa::Program& program, Registers& registers, LoopCounts& counts, std::int64_t max_passes);

  // The next declaration or instruction in the order of the run; null at the end. Before it calls
  // left(loop, position) for every statement of a loop's body (kNone: of the program's own) that the core has left.
  template <class Left>
  const isa::Node* next(Left&& left);

  // The statement that comes `after` the next one in the innermost open loop; null when that ends before.
  const isa::Node* ahead(std::size_t after) const {
    const Frame& frame = frames_.back();
    return frame.next + after < frame.block->size() ? &(*frame.block)[frame.next + after] : nullptr;
  }

  isa::Pass pass() const override;

  // The value of an expression in the loops' variables now.
  std::int64_t evaluate(const isa::Affine& affine) const { return analysis::value_of(program_, affine, value_); }

 private:
  struct Frame {
    const isa::Block* block;
    std::size_t next = 0;
    isa::LoopId loop = isa::kNone;
    std::int64_t iterations = 0;
  };
  void enter(isa::LoopId id);
  bool repeat(Frame& frame);
  bool goes_on(const isa::Loop& loop, isa::LoopId id);
  LoopCount& count_of(const isa::Loop& loop);
  std::int64_t bound(const isa::Bound& b, isa::LocId loc) const;
  double count_static(const isa::Block& block);
  void require_passes(const isa::Loop& loop, double passes, const std::string& found) const;
  void check_trip_count(const isa::Loop& loop) const;

  const isa::Program& program_;
  Registers& registers_;
  LoopCounts& counts_;
  const std::int64_t max_passes_;
  std::int64_t passes_ = 0;          // that were begun, of all loops
  std::vector<double> static_;       // by loop: passes of a static loop and of static ones in it; 0: nothing to execute
  std::vector<Frame> frames_;        // the program's body, then the open loops from the outside in
  std::vector<std::int64_t> value_;  // of each loop's variable
};

template <class Left>
const isa::Node* LoopStack::next(Left&& left) {
  while (!frames_.empty()) {
    Frame& frame = frames_.back();
    const isa::Block& block = *frame.block;
    const isa::LoopId loop = frame.loop;
    if (frame.next == block.size()) {
      if (loop != isa::kNone && repeat(frame)) continue;
      frames_.pop_back();
      if (!block.empty()) left(loop, block.size() - 1);
      continue;
    }
    if (frame.next > 0) left(loop, frame.next - 1);
    const isa::Node& node = block[frame.next++];
    if (node.kind != isa::Node::Kind::loop) return &node;
    enter(node.index);
  }
  return nullptr;
}

}  // namespace kiln::sim
