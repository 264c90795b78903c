// Wide rows in pieces: results of wide products are finished and stored while the next columns are computed; rows that
// do not fit a partition are read once for each reduction and once for the result.
#include <algorithm>
#include <limits>

#include "kiln/tensor/lower/region.h"
#include "kiln/tensor/passes/long_sums.h"
#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {

using isa::Index;

namespace {
constexpr std::int64_t kWholeRow = 16384;  // bytes
constexpr std::int64_t kFewPieces = 8;     // of a product, beyond which the last one counts little
}  // namespace

// Whether v can be computed for some columns alone; what it needs before goes into the cone.
bool RegionEmitter::gather_cone(Value v, std::int64_t columns, Cone& cone) const {
  if (fusion_.region_of[v] != region_ || find(v)) return true;
  const Op& op = graph_.op(v);
  const Free free = free_of(v);
  if (product(free.dims) == 1) {
    cone.columns.push_back(v);
    return true;
  }
  if (free.dims.back() != columns || product(free.dims) != columns) return false;
  if (is_product(op.code)) {
    const Type& x = graph_.type(op.operands[0]);
    if (x.shape.back() > longest_sum(x.dtype)) return false;
    cone.products.push_back(v);
    return true;
  }
  if (!is_elementwise(op.code) && op.code != OpCode::where && op.code != OpCode::cast) return false;
  return std::all_of(op.operands.begin(), op.operands.end(), [&](Value x) { return gather_cone(x, columns, cone); });
}

bool RegionEmitter::goes_in_pieces(Value v, std::int64_t columns) const {
  if (layout_.packed != 1 || columns <= options_.psum_columns) return false;
  Cone cone;
  return gather_cone(v, columns, cone) && !cone.products.empty();
}

void RegionEmitter::prepare(const Cone& cone) {
  for (Value v : cone.columns) value(v);
  for (Value v : cone.products) turned_rows(v);
}

// How many columns of products go together: fewer when all rows of a matrix that is turned first lie beside them.
std::int64_t RegionEmitter::piece_of(std::int64_t columns, std::int64_t most,
                                     const std::vector<const Leaf*>& leaves) const {
  constexpr std::int64_t kTurnedBytes = 64 << 10;
  Cone cone;
  for (const Leaf* leaf : leaves) gather_cone(leaf->value, columns, cone);
  for (Value v : cone.products) {
    const Leaf& y = layout_.loads[layout_.load_of.at({v, 1})];
    if (y.free[0].stride != 1 || y.free[1].stride == 1) continue;
    const std::int64_t bytes = (y.free[0].count + 127) / 128 * size_bytes(graph_.type(y.value).dtype);
    while (most > 128 && bytes * most > kTurnedBytes) most /= 2;
  }
  const std::int64_t pieces =
      (columns + most - 1) / most;  // of one size: a narrow last one costs as much as a wide one
  return pieces > kFewPieces ? most : (columns + pieces - 1) / pieces;
}

void RegionEmitter::store_pieces(std::int64_t columns, std::int64_t piece, const std::vector<const Leaf*>& leaves) {
  Cone cone;
  for (const Leaf* leaf : leaves) gather_cone(leaf->value, columns, cone);
  prepare(cone);
  std::map<const Leaf*, Tile> rows;  // that are stored when all of their pieces are there: a DMA costs its start
  for (const Leaf* leaf : leaves) {
    const DType t = graph_.type(leaf->value).dtype;
    if (options_.whole_rows && columns * size_bytes(t) <= kWholeRow && !kept_result(*leaf) && t != DType::bool_)
      rows[leaf] = new_tile(k_, Memory::sbuf, rows_, free_of(leaf->value), t);
  }
  k_.tiles(columns, piece, [&](Index start, std::int64_t n) {
    columns_ = Columns{columns, n, start};
    scopes_.emplace_back();
    for (const Leaf* leaf : leaves) {
      const auto row = rows.find(leaf);
      if (row == rows.end()) {
        store(*leaf, value(leaf->value));
        continue;
      }
      Tile part = row->second;
      part.offset += start * part.dims.back().stride;
      part.dims.back().count = n;
      value(leaf->value, &part);
    }
    scopes_.pop_back();
    columns_.reset();
  });
  for (const auto& [leaf, row] : rows) store(*leaf, row);
}

// Rows that are too wide, and nothing but elementwise values and reductions of whole rows.
bool RegionEmitter::streams() const {
  if (options_.column_tile == 0 || widest_ <= options_.column_tile || layout_.packed != 1) return false;
  for (Value v : fusion_.regions[region_].ops) {
    const Op& op = graph_.op(v);
    const Free free = free_of(v);
    const std::int64_t n = product(free.dims);
    if (n != 1 && (n != widest_ || free.dims.back() != widest_)) return false;
    const bool reduces = op.code >= OpCode::sum && op.code <= OpCode::min;
    if (op.code == OpCode::gather_rows && n == 1) continue;  // one value per row, there before the pieces
    if (op.code == OpCode::reshape && n == 1) continue;      // the same in another shape
    if (!is_elementwise(op.code) && op.code != OpCode::where && op.code != OpCode::cast && !reduces) return false;
    if (reduces && n != 1) return false;
  }
  return true;
}

namespace {

double neutral(OpCode code) {
  switch (code) {
    case OpCode::sum:
      return 0;
    case OpCode::prod:
      return 1;
    case OpCode::max:
      return -std::numeric_limits<double>::infinity();
    default:
      return std::numeric_limits<double>::infinity();
  }
}

}  // namespace

// The maximum m of x when v is sum(exp(x - m)): then the sum so far is corrected where m grows.
std::optional<Value> RegionEmitter::shift_of(Value v) const {
  const auto here = [&](Value x, OpCode code) { return fusion_.region_of[x] == region_ && graph_.op(x).code == code; };
  if (graph_.op(v).code != OpCode::sum || !here(graph_.op(v).operands[0], OpCode::exp)) return {};
  const Value difference = graph_.op(graph_.op(v).operands[0]).operands[0];
  if (!here(difference, OpCode::subtract)) return {};
  const Value x = graph_.op(difference).operands[0], m = graph_.op(difference).operands[1];
  if (!here(m, OpCode::max) || graph_.op(m).operands[0] != x || !is_float(graph_.type(x).dtype)) return {};
  return m;
}

// A larger maximum of the rows so far, for sums of exp(x - m): m is never less than the least number, so that m - m is
// 0. The factor for the sums so far.
Tile RegionEmitter::grow(Value m, const Tile& total, const Tile& piece) {
  const auto column = [&] { return new_tile(k_, Memory::sbuf, rows_, free_of(m), DType::float32); };
  const Tile before = column(), now = column(), less = column(), factor = column();
  const auto least = [&](const Tile& dst, double times) {
    k_.tensor_scalar({.dst = column_of(dst),
                      .data = column_of(total),
                      .op0 = AluOp::maximum,
                      .operand0 = -static_cast<double>(std::numeric_limits<float>::max()),
                      .op1 = AluOp::multiply,
                      .operand1 = times});
  };
  least(before, 1);
  k_.tensor_tensor(
      {.dst = column_of(total), .data1 = column_of(total), .data2 = column_of(piece), .op = AluOp::maximum});
  least(now, 1);
  least(less, -1);
  k_.activation({.dst = column_of(factor), .op = ActFn::exp, .data = column_of(before), .bias = column_of(less)});
  scopes_.back().values[m] = now;
  return factor;
}

// Reductions of wide rows, piece by piece into one value per row each. They share what they read.
void RegionEmitter::reduce_pieces(const std::vector<Value>& reductions) {
  std::map<Value, Tile> totals;
  Cone cone;
  std::map<Value, Value> shifts;  // sums of exp(x - m) where m is not known yet, and m
  for (Value v : reductions) {
    const Free one = free_of(v);
    totals[v] = new_tile(k_, Memory::sbuf, rows_, one, DType::float32);
    fill(totals[v], one, neutral(graph_.op(v).code));
    const auto m = shift_of(v);
    if (m && totals.contains(*m))
      shifts[v] = *m;
    else
      gather_cone(graph_.op(v).operands[0], widest_, cone);
  }
  prepare(cone);
  const auto is_shift = [&](Value m) {
    return std::any_of(shifts.begin(), shifts.end(), [&](const auto& s) { return s.second == m; });
  };
  k_.tiles(widest_, stream_tile_, [&](Index start, std::int64_t n) {
    columns_ = Columns{widest_, n, start};
    scopes_.emplace_back();
    std::map<Value, Tile> factors;  // by maximum
    for (Value v : reductions) {
      if (is_shift(v)) {
        factors[v] = grow(v, totals[v], reduce(v, nullptr));
        continue;
      }
      if (const auto m = shifts.find(v); m != shifts.end()) {
        k_.scalar_tensor_tensor({.dst = column_of(totals[v]),
                                 .data = column_of(totals[v]),
                                 .op0 = AluOp::multiply,
                                 .operand0 = column_of(factors.at(m->second)),
                                 .op1 = AluOp::add,
                                 .operand1 = column_of(reduce(v, nullptr))});
        continue;
      }
      const OpCode code = graph_.op(v).code;
      const Tile piece = reduce(v, nullptr);
      const AluOp with = code == OpCode::sum    ? AluOp::add
                         : code == OpCode::prod ? AluOp::multiply
                         : code == OpCode::max  ? AluOp::maximum
                                                : AluOp::minimum;
      const isa::View total = column_of(totals[v]);
      k_.tensor_tensor({.dst = total, .data1 = total, .data2 = column_of(piece), .op = with});
    }
    scopes_.pop_back();
    columns_.reset();
  });
  for (const auto& [v, m] : shifts)  // no number when m is none, as x - m would be
    k_.scalar_tensor_tensor({.dst = column_of(totals[v]),
                             .data = column_of(totals[m]),
                             .op0 = AluOp::multiply,
                             .operand0 = 0.0,
                             .op1 = AluOp::add,
                             .operand1 = column_of(totals[v])});
  for (Value v : reductions) scopes_.back().values[v] = totals[v];
}

// Whether v is made of one of these values of the region.
bool RegionEmitter::depends(Value v, const std::set<Value>& on) const {
  if (on.contains(v)) return true;
  if (fusion_.region_of[v] != region_ || find(v)) return false;
  const auto& operands = graph_.op(v).operands;
  return std::any_of(operands.begin(), operands.end(), [&](Value x) { return depends(x, on); });
}

// Whether rows are read after the first reductions of them: by reductions that wait for those, or for a result.
bool RegionEmitter::reads_again(const std::set<Value>& reductions) const {
  const auto is_wide = [&](const Leaf& leaf) { return product(free_of(leaf.value).dims) != 1; };
  const auto waits = [&](Value v) { return !shift_of(v) && depends(graph_.op(v).operands[0], reductions); };
  return !reductions.empty() && (std::any_of(layout_.stores.begin(), layout_.stores.end(), is_wide) ||
                                 std::any_of(reductions.begin(), reductions.end(), waits));
}

void RegionEmitter::stream() {
  std::set<Value> left;
  for (Value v : fusion_.regions[region_].ops) {
    const OpCode code = graph_.op(v).code;
    const bool reduces = code >= OpCode::sum && code <= OpCode::min;
    if (reduces && !splat_of(graph_, graph_.op(v).operands[0]) &&
        graph_.type(graph_.op(v).operands[0]).shape.back() == widest_ && !find(v))
      left.insert(v);
  }
  make_resident(reads_again(left) ? 2 : 1);
  const auto is_ready = [&](const Moments& m) {
    return left.contains(m.sum) && left.contains(m.squares) && !depends(graph_.op(m.reader).operands[0], left);
  };
  for (const Moments& m : moments_) {
    if (!is_ready(m)) continue;
    stream_moments(m);
    keep_resident();
    left.erase(m.sum);
    left.erase(m.squares);
  }
  while (!left.empty()) {
    std::vector<Value> next;
    for (Value v : left) {
      if (!depends(graph_.op(v).operands[0], left)) next.push_back(v);
    }
    for (Value v : left) {  // behind the maximum that they follow
      const auto m = shift_of(v);
      if (m && std::find(next.begin(), next.end(), *m) != next.end()) next.push_back(v);
    }
    reduce_pieces(next);
    keep_resident();
    for (Value v : next) left.erase(v);
  }
  std::vector<const Leaf*> wide;
  for (const Leaf& leaf : layout_.stores) {
    if (product(free_of(leaf.value).dims) == 1)
      store(leaf, value(leaf.value));
    else
      wide.push_back(&leaf);
  }
  if (!wide.empty()) store_pieces(widest_, stream_tile_, wide);
  resident_.clear();
}

// Rows that are read several times stay in SBUF where there is room for them beside the pieces.
void RegionEmitter::make_resident(std::size_t passes) {
  constexpr std::int64_t kPieceColumns = 2048, kTilesAtATime = 8;
  stream_tile_ = options_.column_tile;
  const std::int64_t piece = std::min(stream_tile_, kPieceColumns);
  std::int64_t left = (arch_.sbuf_partition_bytes - arch_.sbuf_reserved_bytes) * 15 / 16 - kTilesAtATime * piece * 4;
  std::vector<int> wide;
  for (std::size_t i = 0; i < layout_.loads.size(); ++i) {
    const Leaf& leaf = layout_.loads[i];
    const int index = static_cast<int>(i);
    if (leaf.is_matrix || kept(leaf) || is_turned(leaf) || layout_.footprint(index) || leaf.free.empty()) continue;
    if (leaf.free.back().count != widest_ || leaf.free.back().stride != 1) continue;
    if (std::any_of(scopes_.begin(), scopes_.end(), [&](const Scope& s) { return s.leaves.contains(index); })) continue;
    left -= widest_ * size_bytes(tile_dtype(leaf.value));
    wide.push_back(index);
  }
  if (passes < 2 || left < 0) return;
  stream_tile_ = piece;
  for (int index : wide) {
    const DType t = tile_dtype(layout_.loads[index].value);
    resident_[index] = {new_tile(k_, Memory::sbuf, rows_, {1, {widest_}}, t)};
  }
}

// What a pass has loaded is there for the others.
void RegionEmitter::keep_resident() {
  for (auto& [index, r] : resident_) r.is_there = r.is_there || r.is_loaded;
}

}  // namespace kiln::tensor
