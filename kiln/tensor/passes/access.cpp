#include "kiln/tensor/passes/access.h"

#include <algorithm>

#include "kiln/tensor/passes/rewrite.h"
#include "kiln/tensor/passes/strided.h"

namespace kiln::tensor {
namespace {

constexpr std::size_t kMostDims = 7;  // of a pattern that an access may have

Strided storage_of(const Op& op) {
  Strided s = Strided::contiguous(op.type.shape);
  if (op.code != OpCode::iota) return s;
  for (isa::Dim& d : s.dims) d.stride = 0;
  s.dims[op.integer("axis")].stride = 1;
  return s;
}

bool is_backwards(const Strided& s) {
  for (const isa::Dim& d : s.dims) {
    if (d.stride < 0 && d.count > 1) return true;
  }
  return false;
}

constexpr std::int64_t kMany = 1024;  // elements, that cost something one by one

// Whether a slice takes elements that follow each other, but lie on different rows of it, in the other order.
bool turns_columns(const Op& op, const Strided& from) {
  if (op.code != OpCode::slice || op.type.size() <= kMany) return false;
  for (std::size_t d = 0; d + 1 < from.dims.size(); ++d) {
    if (from.dims[d].stride == 1 && op.ints("steps")[d] < 0 && op.type.shape[d] > 1) return true;
  }
  return false;
}

// A slice that reads elements which lie close in the other order.
bool runs_backwards(const Op& op, const Strided& from) {
  constexpr std::int64_t kLong = 16, kClose = 4;
  if (op.code != OpCode::slice || from.dims.empty()) return false;
  const std::int64_t n = op.type.shape.back();
  const std::int64_t stride = from.dims.back().stride;
  return op.ints("steps").back() < 0 && stride > 0 && stride <= kClose &&
         (n >= kLong || (n > 1 && op.type.size() > kMany));
}

// Such a slice in two steps: DMAs take other rows as they are wanted, and an engine turns each of them round.
Value turned_rows(Graph& to, Value x, Ints starts, Ints sizes, Ints steps) {
  const DType t = to.type(x).dtype;
  const Ints result = sizes;
  Ints begin(starts.size(), 0), every(starts.size(), 1);
  const std::int64_t reach = (sizes.back() - 1) * -steps.back();
  begin.back() = reach, every.back() = steps.back();
  starts.back() -= reach, sizes.back() = reach + 1, steps.back() = 1;
  const Value rows = to.add(OpCode::cast, {to.add(OpCode::slice, {x}, {starts, sizes, steps})}, {t});
  return to.add(OpCode::cast, {to.add(OpCode::slice, {rows}, {begin, result, every})}, {t});
}

// The length of the pieces that rows are turned round in, so that a piece fits a partition and there are enough of them
// for all; 0: rows stay whole.
std::int64_t piece_of_row(const Type& t) {
  constexpr std::int64_t kLongRow = 49152, kPiece = 16384, kShortPiece = 2048, kLanes = 128;  // bytes, but the last
  const std::int64_t size = size_bytes(t.dtype), n = t.shape.back(), rows = t.size() / n;
  const std::int64_t fewest = (kLanes + rows - 1) / rows;  // pieces
  if (n * size <= kLongRow && (fewest == 1 || n * size < 2 * kShortPiece)) return 0;
  const std::int64_t longest = std::min(kPiece / size, std::max(n / fewest, kShortPiece / size));
  for (std::int64_t piece = longest; piece > longest / 2; --piece) {
    if (n % piece == 0) return piece;
  }
  return longest;
}

// The same of rows that are long, or long and few: DMAs take the pieces of a row from its end on, and an engine turns
// each of them round.
Value turned_round(const Rewriting& r, Value x) {
  const Ints &starts = r.op.ints("starts"), &sizes = r.op.type.shape, &steps = r.op.ints("steps");
  const std::int64_t piece = steps.back() == -1 ? piece_of_row(r.op.type) : 0, n = sizes.back();
  if (piece == 0) return turned_rows(r.to, x, starts, sizes, steps);
  const std::int64_t even = n / piece * piece;
  Ints begin = starts, whole = sizes, forwards = steps;
  begin.back() -= even - 1, whole.back() = even, forwards.back() = 1;
  Shape seen = whole;
  seen.back() /= piece, seen.push_back(piece);
  const Expr in_order(r.to, r.to.add(OpCode::slice, {x}, {begin, whole, forwards}));
  const Value pieces = reshape(in_order, seen).value();
  Ints ends(seen.size(), 0), back(seen.size(), 1);
  for (std::size_t d = seen.size() - 2; d < seen.size(); ++d) ends[d] = seen[d] - 1, back[d] = -1;
  const Expr turned = reshape(Expr(r.to, turned_rows(r.to, pieces, ends, seen, back)), whole);
  if (even == n) return turned.value();
  Ints left = starts, rest = sizes;
  left.back() -= even, rest.back() = n - even;
  const Expr last(r.to, turned_rows(r.to, x, left, rest, steps));
  return concat({turned, last}, static_cast<std::int64_t>(sizes.size()) - 1).value();
}

// Whether rows of a table are whole steps through its storage, as places that are known at run time are counted.
bool steps_by_rows(const Graph& graph, Value table) {
  const Shape& shape = graph.type(table).shape;
  const std::int64_t row = product(shape, 1, shape.size());
  while (is_view(graph.op(table).code)) table = graph.op(table).operands[0];
  return row == 0 || graph.type(table).size() % row == 0;
}

// Outputs that are views, and nothing else, of what is computed: it is written where it belongs in them, though from
// what it lies like they may be at no fixed strides.
class WrittenViews {
 public:
  explicit WrittenViews(const Graph& graph) : graph_(graph), users_(graph.size()), is_output_(graph.size()) {
    for (Value v = 0; v < graph.size(); ++v) {
      for (Value x : graph.op(v).operands) users_[x].push_back(v);
    }
    for (const Output& o : graph.outputs()) is_output_[o.value] = true;
  }

  bool contains(Value v) const {
    if (!is_view(graph_.op(v).code)) return false;
    if (is_output_[v]) {
      Value base = v;
      const Strided whole = Strided::contiguous(graph_.type(v).shape);
      if (!written_back(graph_, v, whole, base) || is_given(graph_.op(base).code)) return false;
    }
    return (is_output_[v] || !users_[v].empty()) &&
           std::all_of(users_[v].begin(), users_[v].end(), [&](Value u) { return contains(u); });
  }

 private:
  static bool is_given(OpCode code) {
    return code == OpCode::input || code == OpCode::constant || code == OpCode::iota;
  }

  const Graph& graph_;
  std::vector<std::vector<Value>> users_;
  std::vector<bool> is_output_;
};

}  // namespace

Graph split_views(const Graph& graph) {
  const WrittenViews written(graph);
  Value next = 0;               // of the old graph
  std::vector<Strided> access;  // by value of the new graph
  const auto grow = [&](const Graph& g) {
    while (access.size() < g.size()) access.push_back(storage_of(g.op(static_cast<Value>(access.size()))));
  };
  return rebuilt(graph, [&](const Rewriting& r) -> std::optional<Value> {
    const Value now = next++;
    grow(r.to);
    if (r.op.code == OpCode::gather_rows || r.op.code == OpCode::conv ||
        r.op.code == OpCode::mx_matmul) {  // these read storage in order
      std::vector<Value> operands = r.operands;
      const bool gathers = r.op.code == OpCode::gather_rows;
      for (std::size_t i = 0; i < (gathers ? 1U : 2U); ++i) {
        grow(r.to);
        if (!access[operands[i]].is_contiguous() || (gathers && !steps_by_rows(r.to, operands[i])))
          operands[i] = r.to.add(OpCode::cast, {operands[i]}, {r.to.type(operands[i]).dtype});
      }
      return r.to.copy(r.from, r.op, operands);
    }
    if (!is_view(r.op.code)) return {};
    std::vector<Value> operands = r.operands;
    auto s = viewed(access[operands[0]], r.op);
    if (!s && written.contains(now)) {
      access.push_back(storage_of(r.op));  // which nobody asks for
      return r.to.copy(r.from, r.op, operands);
    }
    if (!s || s->dims.size() > kMostDims + 1 || is_backwards(access[operands[0]]) ||
        turns_columns(r.op, access[operands[0]])) {
      operands[0] = r.to.add(OpCode::cast, {operands[0]}, {r.to.type(operands[0]).dtype});
      grow(r.to);
      s = viewed(access[operands[0]], r.op);
      KILN_ASSERT(s.has_value());
    }
    if (runs_backwards(r.op, access[operands[0]])) {  // turned round on the chip, where single elements cost nothing
      const Value v = turned_round(r, operands[0]);
      grow(r.to);
      return v;
    }
    const Value v = r.to.copy(r.from, r.op, operands);
    access.push_back(*s);
    return v;
  });
}

}  // namespace kiln::tensor
