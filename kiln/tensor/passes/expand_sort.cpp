// Sorts of lines that are too long for a partition, or too few to fill the partitions.
//
// Orders: blocks that are sorted by themselves, merged in a network whose steps compare whole blocks. Each step leaves
// in a block what belongs there; then blocks are sorted again.
//
// Values: columnsort (F. T. Leighton, Tight bounds on the complexity of parallel sorting, 1985). Columns are sorted by
// themselves four times; in between their elements are dealt out to all columns, collected again, and shifted by half a
// column.
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "kiln/tensor/ir/more.h"
#include "kiln/tensor/lower/lines.h"
#include "kiln/tensor/passes/expand.h"

namespace kiln::tensor {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// Keys and where they come from, (rows, blocks, width). Equal keys are told apart by their places.
struct Pairs {
  Expr key, place;
};

Pairs sorted_blocks(const Pairs& p) {
  Graph& g = p.key.graph();
  const std::int64_t last = static_cast<std::int64_t>(p.key.rank()) - 1;
  const auto along = [&](const Expr& x, const Expr& at) {
    return Expr(g, g.add(OpCode::take_along_axis, {x.value(), at.value()}, {last}));
  };
  const auto order = [&](const Expr& x) {
    return cast(Expr(g, g.add(OpCode::argsort, {x.value()}, {last, false})), DType::uint32);
  };
  // By place first: a sort keeps the order of what is equal.
  const Expr by_place = order(p.place);
  const Pairs placed{along(p.key, by_place), along(p.place, by_place)};
  const Expr by_key = order(placed.key);
  return {along(placed.key, by_key), along(placed.place, by_key)};
}

// The smaller of each pair into a, the larger into b.
void exchange(Pairs& a, Pairs& b) {
  const Expr swaps = logical_or(greater(a.key, b.key), logical_and(equal(a.key, b.key), greater(a.place, b.place)));
  const Pairs low{where(swaps, b.key, a.key), where(swaps, b.place, a.place)};
  const Pairs high{where(swaps, a.key, b.key), where(swaps, a.place, b.place)};
  a = low;
  b = high;
}

// One step over groups of 2 * half blocks: the first half with the second, which is mirrored when they are two sorted
// sequences.
Pairs stepped(const Pairs& p, std::int64_t half, bool mirrored) {
  const Shape shape = p.key.shape();
  const std::int64_t groups = shape[1] / (2 * half);
  const Shape apart{shape[0], groups, 2, half, shape[2]};
  const auto part = [&](const Expr& x, std::int64_t i) {
    const Expr one = slice(reshape(x, apart), 2, i, i + 1);
    if (i == 0 || !mirrored) return one;
    return slice(slice(one, 3, {}, {}, -1), 4, {}, {}, -1);
  };
  Pairs a{part(p.key, 0), part(p.place, 0)}, b{part(p.key, 1), part(p.place, 1)};
  exchange(a, b);
  return {reshape(concat({a.key, b.key}, 2), shape), reshape(concat({a.place, b.place}, 2), shape)};
}

// What the network of lower/lines.cpp takes on trn2, and what it takes to deal elements out.
constexpr double kStepNs = 170, kPairNs = 1.1, kDealtNs = 6000, kDealtElementNs = 0.05;

// Lines of a given number of rows and elements: how they are cut, and the time of it.
struct Cut {
  double ns = kInf;
  std::int64_t columns = 1, length = 0;
};

double network_ns(std::int64_t rows, std::int64_t n) {
  const double width = static_cast<double>(std::bit_ceil(static_cast<std::uint64_t>(n))), rounds = std::log2(width);
  return std::ceil(static_cast<double>(rows) / 128) * rounds * (rounds + 1) / 2 * (kStepNs + kPairNs * width / 2);
}

// Columns have to be long for their number: at least 2 (columns - 1)^2, a multiple of it, and even.
Cut best_cut(std::int64_t rows, std::int64_t n) {
  constexpr std::int64_t kMostColumns = 64, kLongestColumn = 1 << 14;
  Cut best;
  if (n <= kLongestSortedLine) best = {network_ns(rows, n), 1, n};
  for (std::int64_t s = 2; s <= kMostColumns; ++s) {
    const std::int64_t unit = std::lcm(s, std::int64_t{2}), least = std::max((n + s - 1) / s, 2 * (s - 1) * (s - 1));
    const std::int64_t length = (least + unit - 1) / unit * unit;
    if (length > kLongestColumn || length >= n) continue;
    const double moved = kDealtNs + kDealtElementNs * static_cast<double>(rows * s * length);
    const double ns = 4 * (length <= kLongestSortedLine ? network_ns(rows * s, length) : best_cut(rows * s, length).ns);
    if (ns + 3 * moved < best.ns) best = {ns + 3 * moved, s, length};
  }
  return best;
}

}  // namespace

std::optional<Expr> sorted_in_columns(const Expr& x) {
  const std::int64_t n = x.shape().back(), rows = x.type().size() / std::max<std::int64_t>(1, n);
  if (rows == 0) return {};
  const auto [ns, s, r] = best_cut(rows, n);
  if (s == 1) return {};
  const std::int64_t half = r / 2;
  const auto ordered = [](const Expr& y) { return sort(y, -1); };
  Expr y = reshape(x, {rows, n});
  // NaN stands behind all numbers, so what fills up is the last, or like the last.
  const double last = is_float(x.dtype()) ? std::numeric_limits<double>::quiet_NaN() : highest(x.dtype());
  if (s * r > n) y = pad(y, {0, 0}, {0, s * r - n}, last);
  // The order within a column does not matter in front of a sort, so runs of r / s elements change places.
  const auto exchanged = [&](const Expr& e) {
    return reshape(transpose(reshape(e, {rows, s, s, r / s}), {0, 2, 1, 3}), {rows, s, r});
  };
  y = ordered(reshape(y, {rows, s, r}));
  y = ordered(exchanged(deal(y, s)));
  y = reshape(ordered(exchanged(y)), {rows, s * r});
  // What is still in the wrong place is less than half a column away from it.
  const Expr middle = ordered(reshape(slice(y, 1, half, s * r - half), {rows, s - 1, r}));
  y = concat({slice(y, 1, 0, half), reshape(middle, {rows, (s - 1) * r}), slice(y, 1, s * r - half, s * r)}, 1);
  return reshape(slice(y, 1, 0, n), x.shape());
}

Expr order_of_blocks(const Expr& x) {
  Graph& g = x.graph();
  const std::int64_t n = x.shape().back(), rows = x.type().size() / n, width = kLongestSort;
  const auto blocks = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>((n + width - 1) / width)));
  const std::int64_t all = blocks * width;
  // NaN stands behind infinity, and what fills up behind both.
  Expr key = reshape(x, {rows, n});
  const Expr is_nan = not_equal(key, key), at(g, g.iota({DType::float32, {1, all}}, 1));
  Expr place = cast(is_nan, DType::float32) * static_cast<double>(all);
  key = where(is_nan, kInf, key);
  if (all > n) {
    key = pad(key, {0, 0}, {0, all - n}, kInf);
    place = pad(place, {0, 0}, {0, all - n}, static_cast<double>(2 * all));
  }
  Pairs p{reshape(key, {rows, blocks, width}), reshape(place + at, {rows, blocks, width})};
  p = sorted_blocks(p);
  for (std::int64_t half = 1; half < blocks; half *= 2) {
    p = stepped(p, half, true);
    for (std::int64_t step = half / 2; step >= 1; step /= 2) p = stepped(p, step, false);
    p = sorted_blocks(p);
  }
  const Expr flat = slice(reshape(p.place, {rows, all}), 1, 0, n);
  const Expr own =
      flat - cast(greater_equal(flat, static_cast<double>(all)), DType::float32) * static_cast<double>(all);
  return reshape(cast(own, DType::int32), x.shape());
}

}  // namespace kiln::tensor
