// Types of what moves elements: borders, flips, repetitions, diagonals.
#include <algorithm>
#include <array>

#include "kiln/tensor/ir/infer_op.h"

namespace kiln::tensor {

std::int64_t asked_axis(const Ask& a, std::string_view attribute) {
  const std::int64_t axis = a.op.integer(attribute);
  const Type& x = a.operand(0);
  a.require(axis >= 0 && axis < x.rank(), rules::kAxis, fmt::format("axis {} of {}", axis, to_string(x)));
  return axis;
}

namespace {

void require_axes(const Ask& a, const Ints& axes) {
  const Type& x = a.operand(0);
  for (std::int64_t axis : axes)
    a.require(axis >= 0 && axis < x.rank(), rules::kAxis, fmt::format("axis {} of {}", axis, to_string(x)));
}

}  // namespace

Type infer_flip(const Ask& a) {
  require_axes(a, a.op.ints("axes"));
  return a.operand(0);
}

Type infer_roll(const Ask& a) {
  require_axes(a, a.op.ints("axes"));
  a.require(a.op.ints("axes").size() == a.op.ints("shifts").size(), rules::kAxis,
            fmt::format("{} shifts along {} axes", a.op.ints("shifts").size(), a.op.ints("axes").size()));
  return a.operand(0);
}

Type infer_tile(const Ask& a) {
  Type out = a.operand(0);
  const Ints& counts = a.op.ints("counts");
  while (out.shape.size() < counts.size()) out.shape.insert(out.shape.begin(), 1);
  const std::size_t skip = out.shape.size() - counts.size();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    a.require(counts[i] >= 0, rules::kShape, to_string(counts));
    out.shape[skip + i] *= counts[i];
  }
  return out;
}

Type infer_repeat(const Ask& a) {
  Type out = a.operand(0);
  const std::int64_t axis = asked_axis(a);
  const Ints& counts = a.op.ints("counts");
  const bool one = counts.size() == 1, each = static_cast<std::int64_t>(counts.size()) == out.shape[axis];
  const bool negative = std::any_of(counts.begin(), counts.end(), [](auto n) { return n < 0; });
  a.require((one || each) && !negative, rules::kShape,
            fmt::format("counts {} of {}", to_string(counts), to_string(out)));
  std::int64_t n = one ? counts[0] * out.shape[axis] : 0;
  for (std::size_t i = 0; !one && i < counts.size(); ++i) n += counts[i];
  out.shape[axis] = n;
  return out;
}

Type infer_border(const Ask& a) {
  constexpr std::array<std::string_view, 8> kModes{"edge",    "reflect", "symmetric", "wrap",
                                                   "maximum", "minimum", "mean",      "linear_ramp"};
  Type out = a.operand(0);
  const std::string& mode = a.op.text("mode");
  a.require(std::find(kModes.begin(), kModes.end(), mode) != kModes.end(), rules::kOperands,
            fmt::format("mode `{}`; there are {}", mode, fmt::join(kModes, ", ")));
  const Ints &low = a.op.ints("low"), &high = a.op.ints("high");
  const auto rank = static_cast<std::size_t>(out.rank());
  bool ok = low.size() == rank && high.size() == rank;
  for (std::size_t i = 0; ok && i < rank; ++i) {
    ok = low[i] >= 0 && high[i] >= 0 && (out.shape[i] > 0 || low[i] + high[i] == 0);
    out.shape[i] += low[i] + high[i];
  }
  a.require(ok, rules::kShape,
            fmt::format("borders {} and {} of {}", to_string(low), to_string(high), to_string(a.operand(0))));
  return out;
}

Type infer_diagonal(const Ask& a) {
  const Type& x = a.operand(0);
  const std::int64_t i = asked_axis(a, "axis1"), j = asked_axis(a, "axis2"), k = a.op.integer("offset");
  a.require(i != j, rules::kAxis, fmt::format("axis {} twice", i));
  Type out{x.dtype, {}};
  for (int d = 0; d < x.rank(); ++d) {
    if (d != i && d != j) out.shape.push_back(x.shape[d]);
  }
  const std::int64_t rows = x.shape[i] - std::max<std::int64_t>(0, -k);
  const std::int64_t columns = x.shape[j] - std::max<std::int64_t>(0, k);
  out.shape.push_back(std::max<std::int64_t>(0, std::min(rows, columns)));
  return out;
}

Type infer_diag_matrix(const Ask& a) {
  Type out = a.operand(0);
  a.require(out.rank() >= 1, rules::kShape, to_string(out));
  out.shape.back() += std::abs(a.op.integer("offset"));
  out.shape.push_back(out.shape.back());
  return out;
}

Type infer_trace(const Ask& a) {
  Type out = infer_diagonal(a);
  out.shape.pop_back();
  const bool is_unsigned = info(out.dtype).cls == DTypeClass::unsigned_int;
  if (!is_float(out.dtype)) out.dtype = is_unsigned ? DType::uint32 : DType::int32;
  return out;
}

}  // namespace kiln::tensor
