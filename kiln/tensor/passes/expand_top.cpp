// The largest few along the last axis, as float32, have instructions. Long lines are searched part by part, and so are
// few of them, whose parts lie on partitions of their own; what has no instructions is the first of a sort.
#include <cmath>
#include <limits>

#include "kiln/tensor/ir/more.h"
#include "kiln/tensor/lower/lines.h"
#include "kiln/tensor/passes/expand.h"

namespace kiln::tensor {
namespace {

constexpr std::int64_t kPartitions = 128;
constexpr std::int64_t kShortLine = 2048;  // below which parts gain nothing

// Into how many parts to cut each of `rows` lines of n elements.
std::int64_t parts_of(std::int64_t rows, std::int64_t n, std::int64_t k, std::int64_t longest) {
  const std::int64_t needed = (n + longest - 1) / longest;
  const auto balanced = static_cast<std::int64_t>(std::sqrt(static_cast<double>(n) / static_cast<double>(k)));
  const std::int64_t useful = std::min({kPartitions / rows, balanced, n / std::max<std::int64_t>(16 * k, 512)});
  std::int64_t parts = n < kShortLine ? needed : std::max(needed, useful);
  for (std::int64_t p = parts; p >= std::max(needed, parts / 2) && p > 1; --p) {
    if (n % p == 0) return p;  // nothing to fill up
  }
  return parts;
}

// What comes last in a search.
double worst(DType t, bool largest) {
  if (is_float(t)) return std::numeric_limits<double>::quiet_NaN();
  return largest ? lowest(t) : highest(t);
}

struct Found {
  Expr values, places;
};

// The best of each part, and of these the best. The first of equal ones stays ahead.
Found best_of_parts(const Expr& x, std::int64_t k, bool largest, std::int64_t parts) {
  const std::int64_t n = x.shape().back(), rows = x.type().size() / n, width = (n + parts - 1) / parts;
  Expr flat = reshape(x, {rows, n});
  if (parts * width > n) flat = pad(flat, {0, 0}, {0, parts * width - n}, worst(x.dtype(), largest));
  const Expr cut = reshape(flat, {rows * parts, width});  // a partition each
  const std::int64_t few = std::min(k, width);
  const Expr at = top_k_indices(cut, few, -1, largest);
  std::vector<double> starts;  // one for each part of each row, so that all of them are rows at one stride
  for (std::int64_t i = 0; i < rows * parts; ++i) starts.push_back(static_cast<double>(i % parts * width));
  const Expr start(x.graph(), x.graph().constant({at.dtype(), {rows * parts, 1}}, starts));
  const Expr places = reshape(add(at, start), {rows, parts * few});
  const Expr values = reshape(take_along_axis(cut, cast(at, DType::uint32), -1), {rows, parts * few});
  const Expr best = cast(top_k_indices(values, k, -1, largest), DType::uint32);
  Shape shape = x.shape();
  shape.back() = k;
  return {reshape(take_along_axis(values, best, -1), shape), reshape(take_along_axis(places, best, -1), shape)};
}

}  // namespace

bool is_sort_key(DType dtype) { return is_float(dtype) || size_bytes(dtype) <= 2; }

std::optional<Value> expanded_top(const Rewriting& r) {
  const Expr x = r.operand(0);
  const std::int64_t axis = r.op.integer("axis"), k = r.op.integer("k"), last = x.rank() - 1, n = x.shape()[axis];
  const bool largest = r.op.flag("largest"), values = r.op.code == OpCode::top_k;
  if (k == 0) return {};
  if (finds_few(n, k)) {
    const Expr line = axis == last ? x : with_axis_last(x, axis);
    const bool has_search = is_sort_key(x.dtype());
    const std::int64_t parts = parts_of(x.type().size() / n, n, k, has_search ? kLongestSearch : kLongestSort);
    if (parts > 1) {
      const Found found = best_of_parts(line, k, largest, parts);
      const Expr& out = values ? found.values : found.places;
      return (axis == last ? out : with_axis_back(out, axis)).value();
    }
    if (!values && has_search) {
      if (axis == last && largest && x.dtype() == DType::float32) return {};
      const Expr key = cast(line, DType::float32);
      const Expr places = top_k_indices(largest ? key : key * -1.0, k, -1, true);
      return (axis == last ? places : with_axis_back(places, axis)).value();
    }
  }
  if (values) return take_along_axis(x, cast(top_k_indices(x, k, axis, largest), DType::uint32), axis).value();
  return slice(argsort(x, axis, largest), axis, 0, k).value();
}

}  // namespace kiln::tensor
