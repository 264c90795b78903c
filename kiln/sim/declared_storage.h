// Declared storage: which tensors come to life where they are declared, and whether a run gives their bytes back.
#pragma once

#include "kiln/isa/program.h"

namespace kiln::sim {

// Whether a tensor gets its storage when it is declared. Others live as long as the run: those that the
// caller or other cores see, and those with an address.
bool is_declared_storage(const isa::Tensor& tensor);

// A long unrolled program declares far more tensors than are alive at a time. False for programs whose tensors fit into
// memory together anyway.
bool gives_storages_back(const isa::Program& program);

}  // namespace kiln::sim
