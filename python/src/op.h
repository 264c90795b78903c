// Op: the object behind nl.add, nl.exp and so on. It is a token that instructions take as an argument, and a
// function that kernels call; both at once, because kernels pass one and the same object around.
#pragma once

#include <string>

#include "kiln/num/op.h"
#include "python/src/bindings.h"

namespace kiln::python {

struct Op {
  std::string name;
  int alu = -1;         // AluOp, or -1
  int act = -1;         // ActFn, or -1
  nb::object function;  // what a call does; None for tokens that cannot be called
};

}  // namespace kiln::python
