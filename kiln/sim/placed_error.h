// PlacedError: an error with the pass of the loops that it happened in.
#pragma once

#include "kiln/base/error.h"
#include "kiln/isa/semantics/pass.h"

namespace kiln::sim {

class PlacedError : public Error {
 public:
  // `inst` is null when the error is one of a loop itself.
  PlacedError(const Error& error, const isa::Program& program, const isa::Instruction* inst, isa::Pass pass,
              std::int64_t rank)
      : Error(error), program(&program), inst(inst), pass(std::move(pass)), rank(rank) {}

  const isa::Program* program;
  const isa::Instruction* inst;
  isa::Pass pass;
  std::int64_t rank;
};

}  // namespace kiln::sim
