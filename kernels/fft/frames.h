// frames_product: each frame of a signal times a matrix that has its window and its transform in it; frames overlap in
// memory, where they are read.
//
//   input  x       [rows, samples]        float32
//   input  matrix  [size, width]          float32
//   output y       [rows, frames, width]  float32; frame f begins at sample f hop
#pragma once

#include "kiln/isa/program.h"

namespace kiln::kernels {

struct FramesConfig {
  std::int64_t rows = 1, samples = 1, size = 1, hop = 1, width = 1;
  std::int64_t frames() const { return (samples - size) / hop + 1; }
};

isa::Program frames_product(const FramesConfig& config, Target target);

}  // namespace kiln::kernels
