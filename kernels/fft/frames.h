// frames_product: each frame of a signal times a matrix that has its window and its transform in it; frames overlap in
// memory, where they are read. The signal's ends are made here, and so is the division that ends an inverse.
//
//   input  x       [rows, samples]        float32
//   input  matrix  [size, width]          float32
//   input  weight  [1, kept]              float32; only where something is weighed
//   output y       [rows, frames, width]  float32; frame f begins at sample f hop of the signal with its ends
//   or     y       [rows, kept]           float32; numbers of all products of a row from `first` on, times the weights
#pragma once

#include "kiln/isa/program.h"

namespace kiln::kernels {

// What stands before and behind a signal.
enum class Border : std::uint8_t {
  zeros,
  reflect,    // c b | a b c d | c b
  replicate,  // a a | a b c d | d d
  circular,   // c d | a b c d | a b
};

struct FramesConfig {
  std::int64_t rows = 1, samples = 1, size = 1, hop = 1, width = 1;
  Border border = Border::zeros;
  std::int64_t pad = 0;    // numbers at each end
  std::int64_t unit = 1;   // numbers of a sample, which stay together: 2 where they are complex
  std::int64_t kept = 0;   // 0: all, and nothing is weighed
  std::int64_t first = 0;  // of what is kept

  std::int64_t padded() const { return samples + 2 * pad; }
  std::int64_t frames() const { return (padded() - size) / hop + 1; }
};

isa::Program frames_product(const FramesConfig& config, Target target);

}  // namespace kiln::kernels
