// LoopWriters: who wrote a tensor in HBM, by outermost loop. The compiler that reorders knows of a loop's results in
// HBM as a whole: the loops after it wait for all of them, while iterations of one loop do not wait for each other.
#pragma once

#include <vector>

#include "kiln/timing/op.h"
#include "kiln/timing/progress.h"

namespace kiln::timing {

class LoopWriters {
 public:
  // `unrolled`: the program is a trace, which does not tell where its loops end. There, writes in a row without a read
  // of the same tensor are one.
  LoopWriters(std::size_t tensors, bool unrolled) : unrolled_(unrolled), tensors_(tensors) {}

  void begin_loop() { ++loop_; }  // a loop outside all others
  void forget(isa::TensorId id);  // it is declared anew
  // Adds what the access has to wait for, and becomes part of what later ones wait for.
  void touch(isa::TensorId id, const Use& use, OpId op, const Progress& progress, Waits& out);

 private:
  struct Writers {
    std::vector<OpId> now, earlier;  // in the loop of now, and in loops before
    std::uint32_t loop = 0;
  };
  bool unrolled_;
  std::uint32_t loop_ = 0;
  std::vector<Writers> tensors_;
};

}  // namespace kiln::timing
