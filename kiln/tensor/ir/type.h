// Types of tensor values: a dtype of the chip and a static shape. Promotion is that of NumPy 2, where what would be a
// 64-bit float is float32, since the chip has none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kiln/base/dtype.h"

namespace kiln::tensor {

using Shape = std::vector<std::int64_t>;

struct Type {
  DType dtype = DType::float32;
  Shape shape;
  bool operator==(const Type&) const = default;
  int rank() const { return static_cast<int>(shape.size()); }
  std::int64_t size() const;  // elements; 1 of a scalar, 0 when an extent is 0
};

// What is more than 2^63 - 1 is that; extents are not negative.
std::int64_t product(const Shape& shape);
std::int64_t product(const Shape& shape, std::size_t first, std::size_t end);
std::string to_string(const Shape& shape);  // [2, 3]
std::string to_string(const Type& type);    // float32[2, 3]

// The shape that both broadcast to; nothing when they do not.
std::optional<Shape> broadcast(const Shape& a, const Shape& b);

// The dtype in which two operands meet; nothing when there is none: uint32 with a signed integer, two fp8 formats.
std::optional<DType> promote(DType a, DType b);
// The dtype of a Python number beside a tensor: weak, so that it takes the tensor's kind where it can.
DType weak_dtype(DType tensor, bool is_real);
// The floating dtype in which functions such as exp take values of a dtype.
DType real_dtype(DType dtype);

// What an element of the dtype holds after `value` was stored: rounded, or for integers wrapped as NumPy does.
double stored(DType dtype, double value);
double wrapped(DType dtype, std::int64_t value);  // the low bits of an integer
// Smallest and largest value; the infinities of a float.
double lowest(DType dtype);
double highest(DType dtype);

// What a core of a pair has of an extent that is split; of an odd one both have the middle.
constexpr std::int64_t half_extent(std::int64_t n) { return (n + 1) / 2; }

}  // namespace kiln::tensor
