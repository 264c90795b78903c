// The oracle: what a tensor program means, in double and exact integers. Values of floating dtypes are not rounded
// between ops; only inputs, constants and casts are. Slow and plain on purpose.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kiln/tensor/ir/graph.h"

namespace kiln::tensor {

struct Array {
  Type type;
  std::vector<double> data;  // C order; every integer of at most 32 bits is a double
};
using Arrays = std::map<std::string, Array, std::less<>>;

// The outputs by name. Throws Error (tensor.R13) when an input is missing or has another type.
Arrays evaluate(const Graph& graph, const Arrays& inputs);

// The same on several ranks, which meet in collectives: inputs and outputs of each.
std::vector<Arrays> evaluate(const Graph& graph, const std::vector<Arrays>& inputs);

// Elements of an array as bytes of its dtype, and back.
std::vector<std::byte> to_bytes(const Array& array);
Array from_bytes(const Type& type, const std::byte* bytes);

// One op on arrays that are there: what constants are folded with.
Array evaluate(const Op& op, const std::vector<const Array*>& operands, DType working);

}  // namespace kiln::tensor
