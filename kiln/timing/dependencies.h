// Dependencies: what an instruction has to wait for: who used the bytes that it touches, who held the memory of its
// tensors before, registers, hidden state, what the kernel states.
#pragma once

#include <memory>
#include <vector>

#include "kiln/base/copied.h"
#include "kiln/timing/access_boxes.h"
#include "kiln/timing/by_tensor.h"
#include "kiln/timing/loop_writers.h"
#include "kiln/timing/progress.h"
#include "kiln/timing/regions.h"
#include "kiln/timing/state_order.h"
#include "kiln/timing/tensor_memory.h"
#include "kiln/timing/turns.h"

namespace kiln::timing {

// For those who come after a loop: its left-out iterations, one every `period`.
struct LoopRamp {
  isa::LoopId loop;
  std::int64_t stride;  // of the loop variable between two of them
  std::int64_t count;
  Time period;
  const std::vector<bool>* outside;  // by tensor: used outside the loop
};

class Dependencies {
 public:
  Dependencies(const isa::Program& program, const Plan& plan, const ProgramChange& change, bool reorder);

  void set_loop(isa::LoopId loop, std::int64_t value) { boxes_.set_loop(loop, value); }
  void begin_outermost_loop() { loop_writers_.begin_loop(); }
  void declare(isa::TensorId id);           // a new tensor, which nobody used
  void release_for_good(isa::TensorId id);  // it is not declared again

  // Fills the lists of `issue`, and becomes part of what later instructions wait for.
  void find(Issue& issue, const Op& op, const Progress& progress, TensorMemory& memory);

  OpId first_user(isa::TensorId id) const { return tensors_.at(id).first; }
  const Users& users(isa::TensorId id) const { return tensors_.at(id).users; }
  void forget_users(isa::TensorId id) { tensors_.erase(id); }
  OpId writer(isa::RegisterId id) const { return state_.writer(id); }

  // Until its ramps end, what touches a tensor that is used outside the loop stands for left-out iterations as well.
  // Those of an inner loop begin and end between those of an outer one.
  void begin_ramps(const LoopRamp& ramp) { ramps_.push_back(ramp); }
  void end_ramps() { ramps_.pop_back(); }

 private:
  struct TensorUse {
    Users users = kNoUsers;
    OpId first = kNoOp;
    Copied<Regions> regions = {};  // of a tensor without an address
  };
  // Of tensors that are gone, to be used again; a copy has none.
  struct Spare : std::vector<Copied<Regions>> {
    Spare() = default;
    Spare(const Spare&) : Spare() {}
  };
  isa::TensorId tensor_of(const Use& use) const { return program_.accesses[use.access].tensor; }
  Regions& regions(TensorUse& of, const isa::Tensor& tensor);
  void touch(Issue& issue, const Op& op, const Use& use, const Progress& progress, TensorMemory& memory);
  void touch_bytes(Issue& issue, const Op& op, const Use& use, const Box& box, Regions& regions, Waits& out);
  bool updates(const Issue& issue, const Op& op, const Use& use) const;
  void add_ramp(const Use& use, const Box& box, OpId op, Regions& regions);

  const isa::Program& program_;
  const Plan& plan_;
  bool reorder_;
  AccessBoxes boxes_;
  Copied<Regions> placed_[2];  // of tensors with an address, in SBUF and in PSUM
  ByTensor<TensorUse> tensors_;
  Spare spare_;
  std::vector<Turns> turns_;
  std::vector<std::uint32_t> turns_of_;  // by tensor, into turns_; empty: no tensor has any
  LoopWriters loop_writers_;             // list scheduler
  StateOrder state_;
  std::vector<LoopRamp> ramps_;  // from the outside in
};

}  // namespace kiln::timing
