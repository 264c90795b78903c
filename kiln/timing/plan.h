// Plan: what the model needs to know about each instruction of a program, worked out once.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "kiln/analysis/box.h"
#include "kiln/timing/op.h"
#include "kiln/timing/program_change.h"

namespace kiln::timing {

using analysis::Box;
using analysis::BoxShape;

// Ops by InstructionId. Programs have many instructions of few kinds: what is equal is kept once.
class Ops {
 public:
  void reserve(std::size_t count) { kind_.reserve(count); }
  void push_back(const Op& op);
  const Op& operator[](isa::InstructionId id) const { return kinds_[kind_[id]]; }
  std::vector<Op>& kinds() { return kinds_; }
  const std::vector<Op>& kinds() const { return kinds_; }

 private:
  std::vector<std::uint32_t> kind_;  // by instruction: index into kinds_
  std::vector<Op> kinds_;
  std::unordered_multimap<std::size_t, std::uint32_t> known_;  // by hash
};

struct Plan {
  Ops ops;
  std::vector<Use> uses;                      // of all instructions, one after the other
  std::vector<isa::RegisterId> registers;     // that they read, the same way
  std::vector<std::uint32_t> first_use;       // by instruction, and one past the last
  std::vector<std::uint32_t> first_register;  // the same; empty: the program has no registers
  std::vector<BoxShape> shapes;
  std::vector<bool> tracked;                  // by tensor: accesses can depend on each other
  std::vector<bool> spread;                   // by tensor: a spread row, in PSUM; empty: none is
  std::vector<isa::LoopId> loop_of_register;  // of induction registers; isa::kNone
  bool uses_stream[kStreamCount] = {};
  Time semaphore[kStreamCount];  // end of a producer to the start of an instruction of this stream
  Time dma_done;                 // last byte to the start of an instruction that waits for it

  std::span<const Use> uses_of(isa::InstructionId id) const {
    return {uses.data() + first_use[id], first_use[id + 1] - first_use[id]};
  }
  std::span<const isa::RegisterId> registers_of(isa::InstructionId id) const {
    if (first_register.empty()) return {};
    return {registers.data() + first_register[id], first_register[id + 1] - first_register[id]};
  }
};

Plan make_plan(const isa::Program& program, const Arch& arch, const ProgramChange& change = {});

}  // namespace kiln::timing
