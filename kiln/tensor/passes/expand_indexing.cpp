// Indexing as rows by index from HBM, and lines by index on the chip.
#include <algorithm>
#include <limits>

#include "kiln/tensor/ir/more.h"
#include "kiln/tensor/lower/lines.h"
#include "kiln/tensor/passes/expand.h"

namespace kiln::tensor {
namespace {

Expr iota_of(Graph& g, const Shape& shape, std::int64_t axis, DType t) { return {g, g.iota({t, shape}, axis)}; }

// Indices into n elements as int32, counted from the front.
Expr counted(const Expr& index, std::int64_t n) {
  const Expr at = cast(index, DType::int32);
  if (kiln::info(index.dtype()).cls != DTypeClass::signed_int) return at;
  return where(at < 0, at + n, at);
}

Expr by_mode(const Expr& index, const std::string& mode, std::int64_t n) {
  if (mode == "clip") return clip(cast(index, DType::int32), 0, static_cast<double>(n - 1));
  if (mode == "wrap") return remainder(cast(index, DType::int32), n);
  return counted(index, n);
}

// Many short rows of a small table, such as the elements of a lookup table: the table lies on every partition, and its
// elements are taken there. As rows from HBM, each would be a transfer.
constexpr std::int64_t kIndexLanes = 128;

bool is_small_table(const Expr& table, const Expr& at) {
  constexpr std::int64_t kLargest = 8192, kLongestRow = 16;
  constexpr double kTransferNs = 8, kElementNs = 1.5, kBeforeNs = 4000;
  const std::int64_t n = table.shape()[0], inner = table.shape()[1], m = at.shape()[0];
  if (n * inner > kLargest || inner > kLongestRow || size_bytes(table.dtype()) > 4) return false;
  const auto taken = static_cast<double>(m * inner) / kIndexLanes;
  const double here = kBeforeNs + kElementNs * (static_cast<double>(n * inner) + taken);
  return kTransferNs * static_cast<double>(m) > 2 * here;
}

// m indices in lines of about 2048 elements of a result with `inner` for each: a multiple of the partitions, filled up
// where no number of lines divides them.
Expr in_lines(const Expr& at, std::int64_t inner) {
  constexpr std::int64_t kLine = 2048, kMore = 4;
  const std::int64_t m = at.shape()[0];
  const std::int64_t least = kIndexLanes * std::max<std::int64_t>(1, m * inner / (kIndexLanes * kLine));
  std::int64_t lines = least;
  while (lines < kMore * least && m % lines != 0) lines += kIndexLanes;
  if (m % lines != 0) lines = least;
  const std::int64_t each = (m + lines - 1) / lines;
  return reshape(lines * each == m ? at : pad(at, {0}, {lines * each - m}, 0), {lines, each});
}

Expr without_filling(const Expr& rows, std::int64_t m) { return rows.shape()[0] == m ? rows : slice(rows, 0, 0, m); }

Expr rows_of_small_table(const Expr& table, const Expr& at) {
  const std::int64_t n = table.shape()[0], inner = table.shape()[1], m = at.shape()[0];
  Expr places = in_lines(at, inner);
  const std::int64_t lines = places.shape()[0], each = places.shape()[1];
  if (inner > 1)
    places = reshape(reshape(places, {lines, each, 1}) * inner + iota_of(at.graph(), {1, 1, inner}, 2, DType::int32),
                     {lines, each * inner});
  const Expr everywhere = broadcast_to(reshape(table, {1, n * inner}), {lines, n * inner});
  const Expr taken = take_along_axis(everywhere, cast(places, DType::uint32), 1);
  return without_filling(reshape(taken, {lines * each, inner}), m);
}

// The same with one column of the table after the other, (inner, m).
Expr columns_of_small_table(const Expr& table, const Expr& at) {
  const std::int64_t n = table.shape()[0], inner = table.shape()[1], m = at.shape()[0];
  const Expr places = in_lines(at, 1);
  const std::int64_t lines = places.shape()[0], each = places.shape()[1];
  const Expr columns = broadcast_to(reshape(transpose(table), {inner, 1, n}), {inner, lines, n});
  const Expr taken = take_along_axis(
      columns, broadcast_to(reshape(cast(places, DType::uint32), {1, lines, each}), {inner, lines, each}), 2);
  const Expr out = reshape(taken, {inner, lines * each});
  return lines * each == m ? out : slice(out, 1, 0, m);
}

// Whether all who read a result want its last dimension first.
bool is_read_last_first(const Rewriting& r) {
  const auto self = static_cast<Value>(&r.op - r.from.ops().data());
  for (const Output& o : r.from.outputs()) {
    if (o.value == self) return false;
  }
  const std::int64_t last = r.op.type.rank() - 1;
  return std::ranges::all_of(r.from.ops(), [&](const Op& op) {
    const bool reads = std::ranges::find(op.operands, self) != op.operands.end();
    return !reads || (op.code == OpCode::transpose && op.ints("perm")[0] == last);
  });
}

// Rows by index from HBM. Long ones are rows of several pieces, so that a few of them fit a partition; one row, and
// rows that cannot be cut into equal pieces, are ranges that begin where the index says.
Expr rows_by_index(const Expr& table, const Expr& at) {
  constexpr std::int64_t kLongBytes = 32768, kShortBytes = 512, kMost = 256;
  const std::int64_t inner = table.shape()[1], bytes = size_bytes(table.dtype()), m = at.shape()[0];
  if (is_small_table(table, at)) return rows_of_small_table(table, at);
  if (inner * bytes <= kLongBytes) return gather_rows(table, at);
  std::int64_t pieces = (inner * bytes + kLongBytes - 1) / kLongBytes;
  while (inner % pieces != 0) ++pieces;
  if (m == 1 || (inner / pieces * bytes < kShortBytes && m <= kMost)) {
    std::vector<Expr> rows;
    for (std::int64_t i = 0; i < m; ++i)
      rows.push_back(dynamic_slice(table, reshape(slice(at, 0, i, i + 1), {}), 0, 1));
    return m == 1 ? rows[0] : concat(rows, 0);
  }
  const Expr places = reshape(at, {m, 1}) * pieces + iota_of(at.graph(), {1, pieces}, 1, DType::int32);
  const Expr parts = reshape(table, {table.shape()[0] * pieces, inner / pieces});
  return reshape(gather_rows(parts, reshape(places, {m * pieces})), {m, inner});
}

// (outer, n, inner): rows of `inner` elements, or lines on the chip where rows are short.
Expr taken(const Rewriting& r) {
  const Expr x = r.operand(0);
  const std::int64_t axis = r.op.integer("axis"), n = x.shape()[axis];
  const std::int64_t outer = product(x.shape(), 0, static_cast<std::size_t>(axis));
  const std::int64_t inner = product(x.shape(), static_cast<std::size_t>(axis) + 1, x.shape().size());
  const std::int64_t m = r.operand(1).type().size();
  const Expr at = reshape(by_mode(r.operand(1), r.op.text("mode"), n), {m});
  constexpr std::int64_t kShortRow = 64;
  Expr out = x;
  if (outer == 1) {
    const Expr table = reshape(x, {n, inner});
    if (inner > 1 && x.rank() == 2 && is_small_table(table, at) && is_read_last_first(r)) {
      Shape front = r.op.type.shape;
      front.insert(front.begin(), front.back());
      front.pop_back();
      Ints back;
      for (std::size_t d = 1; d < front.size(); ++d) back.push_back(static_cast<std::int64_t>(d));
      back.push_back(0);
      return transpose(reshape(columns_of_small_table(table, at), front), back);
    }
    out = rows_by_index(table, at);
  } else if (inner >= kShortRow || !fits_line(n * inner, m * inner)) {
    const Expr rows = reshape(iota_of(r.to, {outer, 1}, 0, DType::int32) * n + reshape(at, {1, m}), {outer * m});
    out = rows_by_index(reshape(x, {outer * n, inner}), rows);
  } else {
    Expr places = at;
    if (inner > 1)
      places = reshape(reshape(at, {m, 1}) * inner + iota_of(r.to, {1, inner}, 1, DType::int32), {m * inner});
    const Expr line = cast(broadcast_to(reshape(places, {1, m * inner}), {outer, m * inner}), DType::uint32);
    out = Expr(r.to, r.to.add(OpCode::take_along_axis, {reshape(x, {outer, n * inner}).value(), line.value()},
                              {std::int64_t{1}}));
  }
  return reshape(out, r.op.type.shape);
}

// Operands with the axis last, indices as uint32: so they stay when lines fit a partition.
struct LineOperands {
  Expr x, index;
  std::int64_t rows, n, m;
};

LineOperands lines_of(const Rewriting& r) {
  const std::int64_t axis = r.op.integer("axis");
  const Expr x = with_axis_last(r.operand(0), axis), at = with_axis_last(r.operand(1), axis);
  const std::int64_t n = x.shape().back(), m = at.shape().back();
  return {x, at.dtype() == DType::uint32 ? at : counted(at, n), x.type().size() / n, n, m};
}

// Few elements of what elementwise ops make of x and of one value per line: taken of x, and made of these. Nothing when
// x is not made in this way.
std::optional<Value> taken_before(Graph& g, Value x, Value index, int depth) {
  const Op op = g.op(x);  // a copy: adding ops moves them
  const Shape shape = op.type.shape, at = g.type(index).shape;
  const bool computed = is_elementwise(op.code) || op.code == OpCode::cast;
  if (!computed || depth == 0) return {};
  std::vector<Value> operands;
  for (Value v : op.operands) {
    const Shape& own = g.type(v).shape;
    const bool one_per_line = own.empty() || own.back() == 1;
    if (splat_of(g, v) || (one_per_line && own.size() <= shape.size())) {
      operands.push_back(splat_of(g, v) ? g.constant({g.type(v).dtype, {}}, {*splat_of(g, v)}) : v);
      continue;
    }
    if (own != shape) return {};
    const auto before = taken_before(g, v, index, depth - 1);
    operands.push_back(before ? *before
                              : g.add(OpCode::take_along_axis, {v, index}, {static_cast<std::int64_t>(at.size()) - 1}));
  }
  const Value out = g.add(op.code, std::move(operands), op.attrs);
  return g.type(out).shape == at ? std::optional(out) : std::nullopt;
}

std::optional<Value> taken_along(const Rewriting& r) {
  constexpr std::int64_t kFewElements = 8, kLongLine = 512;  // a line has so many times as many; it is worth it
  constexpr int kOpsBefore = 6;
  const std::int64_t axis = r.op.integer("axis"), last = r.operand(0).rank() - 1;
  const bool ready = axis == last && r.operand(1).dtype() == DType::uint32;
  const std::int64_t line = r.operand(0).shape().empty() ? 1 : r.operand(0).shape().back();
  if (axis == last && line >= kLongLine && r.operand(1).shape().back() * kFewElements <= line) {
    if (const auto v = taken_before(r.to, r.operands[0], r.operands[1], kOpsBefore)) return v;
  }
  const LineOperands o = lines_of(r);
  if (fits_line(o.n, o.m)) {
    if (ready) return {};
    const Value v = r.to.add(OpCode::take_along_axis, {o.x.value(), cast(o.index, DType::uint32).value()}, {last});
    return with_axis_back(Expr(r.to, v), axis).value();
  }
  const Expr places =
      reshape(cast(o.index, DType::int32), {o.rows, o.m}) + iota_of(r.to, {o.rows, 1}, 0, DType::int32) * o.n;
  const Expr flat = gather_rows(reshape(o.x, {o.rows * o.n, 1}), reshape(places, {o.rows * o.m}));
  return with_axis_back(reshape(flat, o.index.shape()), axis).value();
}

std::optional<Value> put_along(const Rewriting& r) {
  const std::int64_t axis = r.op.integer("axis"), last = r.operand(0).rank() - 1;
  const LineOperands o = lines_of(r);
  const Expr values = with_axis_last(r.operand(2), axis);
  if (fits_line(o.n, o.m)) {
    if (axis == last && r.operand(1).dtype() == DType::uint32) return {};
    const Value v =
        r.to.add(OpCode::put_along_axis, {o.x.value(), cast(o.index, DType::uint32).value(), values.value()},
                 {last, r.op.text("mode")});
    return with_axis_back(Expr(r.to, v), axis).value();
  }
  const Expr places =
      reshape(cast(o.index, DType::int32), {o.rows, o.m}) + iota_of(r.to, {o.rows, 1}, 0, DType::int32) * o.n;
  const Expr table = reshape(o.x, {o.rows * o.n, 1});
  const Value v =
      r.to.add(OpCode::scatter,
               {table.value(), reshape(places, {o.rows * o.m}).value(), reshape(values, {o.rows * o.m, 1}).value()},
               {std::int64_t{0}, r.op.text("mode")});
  return with_axis_back(reshape(Expr(r.to, v), o.x.shape()), axis).value();
}

// Whether v counts 0, 1, 2, ... along the first of its dimensions, the others being 1.
bool counts_up(const Graph& g, Value v, std::int64_t n) {
  while (g.op(v).code == OpCode::reshape || g.op(v).code == OpCode::cast) v = g.op(v).operands[0];
  const Op& op = g.op(v);
  if (op.type.size() != n) return false;
  if (op.code == OpCode::iota) return op.type.shape[static_cast<std::size_t>(op.integer("axis"))] == n;
  if (op.code != OpCode::constant || !op.numbers || static_cast<std::int64_t>(op.numbers->size()) != n) return false;
  for (std::int64_t i = 0; i < n; ++i) {
    if ((*op.numbers)[static_cast<std::size_t>(i)] != static_cast<double>(i)) return false;
  }
  return true;
}

// x[arange(n), index] and what np.take_along_axis is in NumPy: an element of each row, or some of them.
std::optional<Value> taken_of_rows(const Rewriting& r) {
  if (r.operands.size() != 3 || r.operand(0).rank() != 2) return {};
  const Expr x = r.operand(0), rows = r.operand(1), at = r.operand(2);
  const std::int64_t n = x.shape()[0], count = r.op.type.size();
  const auto leads = [&](const Expr& e) {
    return !e.shape().empty() && e.shape()[0] == n && e.rank() == r.op.type.rank();
  };
  if (!leads(rows) || !leads(at) || n == 0 || count % n != 0 || at.type().size() != count) return {};
  if (!counts_up(r.to, rows.value(), n)) return {};
  const Value v =
      r.to.add(OpCode::take_along_axis, {x.value(), reshape(at, {n, count / n}).value()}, {std::int64_t{1}});
  return reshape(Expr(r.to, v), r.op.type.shape).value();
}

// Rows of a table, in order: the axis first, indices as uint32.
std::optional<Value> scattered(const Rewriting& r) {
  const Expr x = r.operand(0);
  const std::int64_t axis = r.op.integer("axis"), n = x.shape()[axis];
  if (axis == 0 && x.rank() == 2 && r.operand(1).dtype() == DType::uint32) return {};
  Ints front{axis}, back;
  for (std::int64_t d = 0; d < x.rank(); ++d) {
    if (d != axis) front.push_back(d);
  }
  for (std::int64_t d = 1; d < x.rank(); ++d) back.push_back(d);
  back.insert(back.begin() + axis, 0);
  const Expr table = transpose(x, front), rows = transpose(r.operand(2), front);
  const std::int64_t inner = x.type().size() / n, m = rows.shape()[0];
  const Expr at = cast(counted(r.operand(1), n), DType::uint32);
  const Value v =
      r.to.add(OpCode::scatter, {reshape(table, {n, inner}).value(), at.value(), reshape(rows, {m, inner}).value()},
               {std::int64_t{0}, r.op.text("mode")});
  return transpose(reshape(Expr(r.to, v), table.shape()), back).value();
}

// The place of each tuple of indices among rows of x.
Expr places(const Rewriting& r, std::size_t first) {
  const Shape x = r.operand(0).shape();  // a copy: adding ops moves them
  Shape shape;
  for (std::size_t i = first; i < r.operands.size(); ++i) shape = *broadcast(shape, r.operand(i).shape());
  std::optional<Expr> out;
  for (std::size_t i = first; i < r.operands.size(); ++i) {
    const std::int64_t n = x[i - first];
    const Expr at = counted(r.operand(i), n);
    out = out ? *out * n + at : at;
  }
  return reshape(broadcast_to(*out, shape), {product(shape)});
}

Expr rows_by_tuples(const Rewriting& r) {
  const Expr x = r.operand(0);
  const std::int64_t lead = product(x.shape(), 0, r.operands.size() - 1), row = x.type().size() / lead;
  return reshape(rows_by_index(reshape(x, {lead, row}), places(r, 1)), r.op.type.shape);
}

Expr scattered_by_tuples(const Rewriting& r) {
  const Expr x = r.operand(0), at = places(r, 2);
  const std::int64_t lead = product(x.shape(), 0, r.operands.size() - 2), row = x.type().size() / lead;
  const Expr rows = reshape(r.operand(1), {at.shape()[0], row});
  const Value v = r.to.add(OpCode::scatter, {reshape(x, {lead, row}).value(), at.value(), rows.value()},
                           {std::int64_t{0}, r.op.text("mode")});
  return reshape(Expr(r.to, v), x.shape());
}

// How many elements of a sorted one, a (n), each of many numbers is above, bit by bit of the result: the elements that
// are asked for are taken on the chip.
Expr count_by_halves(const Expr& a, const Expr& numbers, bool or_equal) {
  Graph& g = a.graph();
  const std::int64_t n = a.shape()[0], m = numbers.shape()[0];
  std::int64_t size = 1;
  while (size <= n) size *= 2;
  const DType t = a.dtype();
  const double last = is_float(t) ? std::numeric_limits<double>::quiet_NaN() : highest(t);  // NaN is above nothing
  const Expr table = pad(a, {0}, {size - 1 - n}, last);
  const Expr x = in_lines(numbers, 1);
  const std::int64_t lines = x.shape()[0], each = x.shape()[1];
  const Expr everywhere = broadcast_to(reshape(table, {1, size - 1}), {lines, size - 1});
  Expr below(g, g.constant({DType::float32, {lines, each}}, {0.0}));
  for (std::int64_t step = size / 2; step > 0; step /= 2) {
    const Expr asked = take_along_axis(everywhere, cast(below + static_cast<double>(step - 1), DType::uint32), 1);
    const Expr above = or_equal ? less_equal(asked, x) : less(asked, x);
    below = below + cast(above, DType::float32) * static_cast<double>(step);
  }
  const Expr found = is_float(t) ? below : minimum(below, static_cast<double>(n));
  return without_filling(reshape(found, {lines * each}), m);
}

// The same, of all numbers with all elements.
Expr count_by_pairs(const Expr& a, const Expr& numbers, bool or_equal) {
  const Expr row = reshape(a, {1, a.shape()[0]}), column = reshape(numbers, {numbers.shape()[0], 1});
  return sum(cast(or_equal ? less_equal(row, column) : less(row, column), DType::float32), {{1}, false});
}

// How many elements of a (n) each of the numbers (m) is above.
Expr count_below(const Expr& a, const Expr& numbers, bool or_equal) {
  constexpr std::int64_t kLong = 4096, kManyPairs = 1 << 22;
  const std::int64_t n = a.shape()[0], m = numbers.shape()[0];
  const bool by_halves = n <= kLong && n * m >= kManyPairs && a.dtype() == numbers.dtype();
  Expr below = by_halves ? count_by_halves(a, numbers, or_equal) : count_by_pairs(a, numbers, or_equal);
  if (is_float(numbers.dtype())) {  // NaN stands last
    const bool above_all = or_equal || !is_float(a.dtype());
    const Expr all(a.graph(), a.graph().constant({DType::float32, {}}, {static_cast<double>(n)}));
    const Expr most = above_all ? all : sum(cast(equal(a, a), DType::float32), {{0}, false});
    below = where(not_equal(numbers, numbers), most, below);
  }
  return cast(below, DType::int32);
}

// The j-th nonzero element is where the count of them first is above j.
Expr nonzero_places(const Expr& x, std::int64_t count) {
  const Expr truth =
      not_equal(reshape(x, {x.type().size()}), Expr(x.graph(), x.graph().constant({x.dtype(), {}}, {0})));
  const Expr seen = cumsum(cast(truth, DType::float32), 0);
  return count_below(seen, iota_of(x.graph(), {count}, 0, DType::float32), true);
}

Expr compressed(const Rewriting& r) {
  const Value v = r.to.add(OpCode::take, {r.operands[0], nonzero_places(r.operand(1), r.op.integer("count")).value()},
                           {r.op.integer("axis"), std::string("raise")});
  return {r.to, v};
}

Expr hot(const Rewriting& r) {
  const Expr index = r.operand(0);
  Shape line(index.rank() + 1, 1);
  line.back() = r.op.integer("depth");
  const Expr at = cast(expand_dims(index, -1), DType::float32);
  return cast(equal(at, iota_of(r.to, line, static_cast<std::int64_t>(line.size()) - 1, DType::float32)),
              r.op.type.dtype);
}

// The counts of 0, 1, 2, ..., length - 1 as a matrix: how often each pair of upper and lower bits is there.
Expr counts_of_bits(const Expr& x, std::int64_t length) {
  constexpr std::int64_t kBlocksOfRows = 2048;
  std::int64_t shift = 1;
  while ((std::int64_t{1} << (2 * shift)) < length) ++shift;
  const std::int64_t low = std::int64_t{1} << shift, high = (length + low - 1) / low;
  const std::int64_t n = x.type().size(), over = (kBlocksOfRows - n % kBlocksOfRows) % kBlocksOfRows;
  const Expr all = reshape(cast(x, DType::int32), {n});
  const Expr column = reshape(over == 0 ? all : pad(all, {0}, {over}, -1), {n + over, 1});
  const auto hot = [&](const Expr& bits, std::int64_t n) {
    return cast(equal(bits, iota_of(x.graph(), {1, n}, 1, DType::int32)), DType::bfloat16);
  };
  const auto number = [&](std::int64_t i) {
    return Expr(x.graph(), x.graph().constant({DType::int32, {}}, {static_cast<double>(i)}));
  };
  const Expr upper = hot(right_shift(column, number(shift)), high);
  const Expr lower = hot(bitwise_and(column, number(low - 1)), low);
  return slice(reshape(matmul_f32(transpose(upper), lower), {high * low}), 0, 0, length);
}

Expr counts(const Rewriting& r) {
  constexpr std::int64_t kFewValues = 64, kFewElements = 4096;
  const std::int64_t n = r.operand(0).type().size(), length = r.op.integer("length");
  if (r.operands.size() == 1 && length > kFewValues && n >= kFewElements)
    return cast(counts_of_bits(r.operand(0), length), r.op.type.dtype);
  const Expr row = cast(reshape(r.operand(0), {1, n}), DType::float32);
  const Expr hit = equal(row, iota_of(r.to, {length, 1}, 0, DType::float32));
  if (r.operands.size() == 1) return cast(sum(cast(hit, DType::float32), {{1}, false}), r.op.type.dtype);
  const Expr weights = reshape(cast(r.operand(1), DType::float32), {1, n});
  return cast(sum(where(hit, weights, 0.0), {{1}, false}), r.op.type.dtype);
}

}  // namespace

std::optional<Value> expanded_indexing(const Rewriting& r) {
  switch (r.op.code) {
    case OpCode::take:
      return taken(r).value();
    case OpCode::take_along_axis:
      return taken_along(r);
    case OpCode::put_along_axis:
      return put_along(r);
    case OpCode::scatter:
      return scattered(r);
    case OpCode::gather_nd:
      if (const auto v = taken_of_rows(r)) return v;
      return rows_by_tuples(r).value();
    case OpCode::scatter_nd:
      return scattered_by_tuples(r).value();
    case OpCode::compress:
      return compressed(r).value();
    case OpCode::nonzero:
      return nonzero_places(r.operand(0), r.op.integer("count")).value();
    case OpCode::one_hot:
      return hot(r).value();
    case OpCode::searchsorted:
      return reshape(count_below(r.operand(0), reshape(r.operand(1), {r.operand(1).type().size()}), r.op.flag("right")),
                     r.op.type.shape)
          .value();
    case OpCode::bincount:
      return counts(r).value();
    default:
      return {};
  }
}

}  // namespace kiln::tensor
