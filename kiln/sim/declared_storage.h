// Declared storage: which tensors come to life where they are declared, and whether a run gives their bytes back.
#pragma once

#include "kiln/isa/program.h"

namespace kiln::sim {

// Whether a tensor gets its storage when it is declared. Others live as long as the run: those that the
// caller or other cores see, and those with an address.
bool is_declared_storage(const isa::Tensor& tensor);

// A program declares more tensors than are alive at a time, and bytes that were used before cost less than new ones,
// which the system clears page by page. False for programs whose tensors are small together.
bool gives_storages_back(const isa::Program& program);

}  // namespace kiln::sim
