// Strided: an affine access function. Where each element of a value lies in the storage of another one: an offset, and
// a stride and a count for each dimension. Slices, transposes, broadcasts and most reshapes are maps on these, so they
// cost nothing where they are composed into a load, a store or an operand.
#pragma once

#include <optional>
#include <vector>

#include "kiln/isa/program.h"
#include "kiln/tensor/ir/graph.h"

namespace kiln::tensor {

using Dims = std::vector<isa::Dim>;

struct Strided {
  std::int64_t offset = 0;
  Dims dims;

  static Strided contiguous(const Shape& shape);
  Shape shape() const;
  std::int64_t size() const;
  bool is_contiguous() const;  // in C order, without gaps; extents of 1 do not matter
};

Strided permuted(const Strided& s, const Ints& perm);
Strided sliced(const Strided& s, const Ints& starts, const Shape& sizes, const Ints& steps);
// Right-aligned, as NumPy broadcasts.
Strided spread(const Strided& s, const Shape& shape);
// Nothing when the elements in the new shape are at no fixed strides.
std::optional<Strided> reshaped(const Strided& s, const Shape& shape);

// What the op, one of reshape, transpose, broadcast_to and slice, makes of its operand's access.
std::optional<Strided> viewed(const Strided& s, const Op& op);
bool is_view(OpCode code);

// An output that is a transposed or reshaped value: where the elements of that value, which `base` then is, lie in it,
// given where its own do. Nothing for other views, and where these are at no fixed strides.
std::optional<Strided> written_back(const Graph& graph, Value output, Strided access, Value& base);

// Dimensions without extents of 1, neighbours joined where every list allows it. All lists have equal counts.
void join_together(std::vector<Dims>& lists);

}  // namespace kiln::tensor
