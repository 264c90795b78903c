// Excerpt: a stretch of a long program as a program of its own, to try something on it in less time.
#pragma once

#include <span>
#include <vector>

#include "kiln/isa/program.h"

namespace kiln::rewrite {

struct Excerpt {
  isa::Program program;
  std::vector<isa::InstructionId> instructions;  // by the excerpt's ids: those of the whole program
  std::vector<isa::TensorId> tensors;            // likewise
  double executed = 0;                           // instructions

  // Ids of the whole program as ids of the excerpt; those that it does not have are dropped. `ids` ascend.
  static std::vector<std::uint32_t> translate(std::span<const std::uint32_t> ids,
                                              std::span<const std::uint32_t> originals);
};

// Statements of the body from `first` on that execute about `budget` instructions; static loops that are too
// long run only as often as fits. `trips`: by loop.
Excerpt excerpt_of(const isa::Program& program, std::span<const std::int64_t> trips, std::size_t first, double budget);

}  // namespace kiln::rewrite
