// The kernels of collectives on parts of any size: all_to_all_v and all_gather_v. Tensors are taken as flat.
#pragma once

#include <memory>
#include <optional>

#include "kiln/isa/program.h"
#include "kiln/tensor/ir/collective.h"

namespace kiln::tensor {

struct SizedExchange {
  OpCode moving;
  RankGroups groups;
  DType dtype, counted;  // of src and dst, of counts and places
  Shape src, dst;
  bool has_places = false;
};

// Arguments: src, dst, counts, displs and places; results: dst and the counts of what came. Of a pair, `core`: the
// first one brings src and its counts, the second one dst and its displacements.
std::shared_ptr<const isa::Program> sized_kernel(const SizedExchange& exchange, Target target,
                                                 std::optional<int> core = {});

// Whether a program is such a kernel, or an op calls one, of one core, and what it exchanges.
bool is_sized_program(const isa::Program& kernel);
inline bool is_sized_kernel(const Op& op) { return op.kernel && is_sized_program(*op.kernel); }
SizedExchange sized_exchange_of(const isa::Program& kernel);

}  // namespace kiln::tensor
