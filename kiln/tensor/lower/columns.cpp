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
  if (is_running(op.code)) {
    if (!can_go_on(v)) return false;
    cone.running.push_back(v);
  } else if (!is_elementwise(op.code) && op.code != OpCode::where && op.code != OpCode::cast) {
    return false;
  }
  return std::all_of(op.operands.begin(), op.operands.end(), [&](Value x) { return gather_cone(x, columns, cone); });
}

bool RegionEmitter::goes_in_pieces(Value v, std::int64_t columns) const {
  if (layout_.packed != 1 || columns <= options_.psum_columns) return false;
  Cone cone;
  return gather_cone(v, columns, cone) && !cone.products.empty() && cone.running.empty();
}

void RegionEmitter::prepare(const Cone& cone) {
  for (Value v : cone.columns) value(v);
  for (Value v : cone.products) turned_rows(v);
  for (Value v : cone.running) carried_[v] = nothing_before(v);
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
  if (layout_.parts != 1) return false;
  if (!fusion_.regions[region_].sums.empty()) return false;
  bool runs = false, reduces_some = false;
  for (Value v : fusion_.regions[region_].ops) {
    const Op& op = graph_.op(v);
    const Free free = free_of(v);
    const std::int64_t n = product(free.dims);
    if (n != 1 && (n != widest_ || free.dims.back() != widest_)) return false;
    const bool reduces = (op.code >= OpCode::sum && op.code <= OpCode::min) || is_search(op.code);
    if (n == 1 && (op.code == OpCode::gather_rows || is_view(op.code)))
      continue;  // one value per row: before the pieces
    runs = runs || is_running(op.code);
    reduces_some = reduces_some || reduces;
    const bool fits = is_elementwise(op.code) || op.code == OpCode::where || op.code == OpCode::cast || can_go_on(v);
    if (!fits && !reduces) return false;
    if (reduces && n != 1) return false;
  }
  return !runs || !reduces_some;  // which would go through the pieces several times
}

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

namespace {

// Of a tile with a result of each piece.
isa::View results_of(const Tile& t) { return view_of(t, {{1, t.storage.dim(1)}}); }

AluOp joining(OpCode code) {
  switch (code) {
    case OpCode::sum:
      return AluOp::add;
    case OpCode::prod:
      return AluOp::multiply;
    case OpCode::max:
      return AluOp::maximum;
    default:
      return AluOp::minimum;
  }
}

// The dtype in which pieces of a reduction are put together: 32-bit integers, and sums of integers, exactly.
DType joined_dtype(const Graph& g, const Op& op) {
  const DType from = g.type(op.operands[0]).dtype;
  const bool grows = op.code == OpCode::sum || op.code == OpCode::prod;
  if (!is_integer(from) || (size_bytes(from) <= 2 && !grows)) return DType::float32;
  return from == DType::uint32 || op.type.dtype == DType::uint32 ? DType::uint32 : DType::int32;
}

// One value of all pieces, into `dst`: of integers halves are combined until one is left.
void join_pieces(isa::Kernel& k, const Tile& dst, const Tile& each, AluOp op) {
  if (is_float(each.dtype())) {
    k.tensor_reduce({.dst = column_of(dst), .op = op, .data = results_of(each), .axis = {1}});
    return;
  }
  for (std::int64_t n = each.storage.dim(1); n > 1; n -= n / 2) {
    const isa::View front = view_of(each, {{1, n / 2}});
    k.tensor_tensor({.dst = front, .data1 = front, .data2 = view_of(each, {{1, n / 2}}, n - n / 2), .op = op});
  }
  k.tensor_copy({.dst = column_of(dst), .src = view_of(each, {{1, 1}})});
}

constexpr double kLeast = -static_cast<double>(std::numeric_limits<float>::max());

}  // namespace

// sum(exp(x - m)) of whole rows, of pieces whose sums are each less the largest of the piece. The largest is never less
// than the least number, so that what is no more than that has no weight.
void RegionEmitter::join_shifted(Value v, Value m, const Tile& sums) {
  const std::int64_t pieces = sums.storage.dim(1);
  const auto tile = [&](std::int64_t n) { return new_tile(k_, Memory::sbuf, rows_, {1, {n}}, DType::float32); };
  const Tile largest = scopes_.back().values.at(m), less = tile(1), factors = tile(pieces), total = tile(1);
  k_.tensor_scalar({.dst = column_of(less),
                    .data = column_of(largest),
                    .op0 = AluOp::maximum,
                    .operand0 = kLeast,
                    .op1 = AluOp::multiply,
                    .operand1 = -1.0});
  k_.activation({.dst = results_of(factors),
                 .op = ActFn::exp,
                 .data = results_of(piece_results_.at(m)),
                 .bias = column_of(less),
                 .scale = 1.0});
  k_.tensor_tensor(
      {.dst = results_of(factors), .data1 = results_of(factors), .data2 = results_of(sums), .op = AluOp::multiply});
  k_.tensor_reduce({.dst = column_of(total), .op = AluOp::add, .data = results_of(factors), .axis = {1}});
  k_.scalar_tensor_tensor({.dst = column_of(total),  // no number when m is none, as x - m would be
                           .data = column_of(largest),
                           .op0 = AluOp::multiply,
                           .operand0 = 0.0,
                           .op1 = AluOp::add,
                           .operand1 = column_of(total)});
  Tile out = total;
  out.dims = Strided::contiguous(Shape(graph_.type(v).shape.size(), 1)).dims;
  scopes_.back().values[v] = out;
}

// Reductions of wide rows: each piece leaves one value per row in a column of its own, and those are reduced at the
// end, so that no piece waits for the one before. They share what they read.
void RegionEmitter::reduce_pieces(const std::vector<Value>& reductions) {
  Cone cone;
  std::map<Value, Value> shifts;  // sums of exp(x - m) where m is not known yet, and m
  std::map<Value, Found> found;
  const std::int64_t pieces = (widest_ + stream_tile_ - 1) / stream_tile_;
  std::map<Value, Tile> results;
  for (Value v : reductions) {
    if (is_search(graph_.op(v).code)) {
      found[v] = nothing_found(v);
      gather_cone(graph_.op(v).operands[0], widest_, cone);
      continue;
    }
    results[v] = new_tile(k_, Memory::sbuf, rows_, {1, {pieces}}, joined_dtype(graph_, graph_.op(v)));
    const auto m = shift_of(v);
    if (m && results.contains(*m))
      shifts[v] = *m;
    else
      gather_cone(graph_.op(v).operands[0], widest_, cone);
  }
  std::map<Value, Tile> clamped;  // maxima, as sums are less them
  for (const auto& [v, m] : shifts) clamped[m] = new_tile(k_, Memory::sbuf, rows_, {1, {pieces}}, DType::float32);
  prepare(cone);
  const auto piece = [&](const Index& i, std::int64_t n) {
    columns_ = Columns{widest_, n, i * stream_tile_};
    scopes_.emplace_back();
    const auto column = [&](const Tile& t, Value v) {
      return Tile{t.storage, i, {0, 1}, Strided::contiguous(free_of(v).dims).dims, rows_};
    };
    for (const auto& [v, each] : results) piece_results_[v] = column(each, v);
    for (Value v : reductions) {
      if (const auto f = found.find(v); f != found.end()) {
        find_in_piece(v, f->second);
        continue;
      }
      const Tile made = reduce(v, nullptr);
      if (const auto c = clamped.find(v); c != clamped.end()) {
        const Tile least = column(c->second, v);
        k_.tensor_scalar({.dst = column_of(least), .data = column_of(made), .op0 = AluOp::maximum, .operand0 = kLeast});
        scopes_.back().values[v] = least;
      }
    }
    piece_results_.clear();
    scopes_.pop_back();
    columns_.reset();
  };
  const std::int64_t full = widest_ / stream_tile_;
  if (full == 1)
    piece(0, stream_tile_);
  else if (full > 1)
    k_.loop(full, [&](const Index& i) { piece(i, stream_tile_); });
  if (widest_ % stream_tile_) piece(full, widest_ % stream_tile_);
  for (const auto& [v, each] : results) {
    if (shifts.contains(v)) continue;
    const Tile total = new_tile(k_, Memory::sbuf, rows_, free_of(v), each.dtype());
    join_pieces(k_, total, each, joining(graph_.op(v).code));
    scopes_.back().values[v] = total;
  }
  for (const auto& [v, m] : shifts) {
    piece_results_[m] = clamped.at(m);
    join_shifted(v, m, results.at(v));
  }
  piece_results_.clear();
  for (const auto& [v, f] : found) {
    const Tile at = target(v, nullptr);
    copy(at, f.at, free_of(v));
    scopes_.back().values[v] = at;
  }
}

// Whether v is made of one of these values of the region.
bool RegionEmitter::depends(Value v, const std::set<Value>& on) const {
  if (on.contains(v)) return true;
  if (fusion_.region_of[v] != region_ || find(v)) return false;
  const auto& operands = graph_.op(v).operands;
  return std::any_of(operands.begin(), operands.end(), [&](Value x) { return depends(x, on); });
}

// Those of the reductions that wait for no other, or follow the maximum of their operand.
std::vector<Value> RegionEmitter::ready_of(const std::set<Value>& left) const {
  std::vector<Value> next;
  for (Value v : left) {
    if (!depends(graph_.op(v).operands[0], left)) next.push_back(v);
  }
  for (Value v : left) {  // behind the maximum that they follow
    const auto m = shift_of(v);
    if (m && std::find(next.begin(), next.end(), *m) != next.end()) next.push_back(v);
  }
  return next;
}

// How many times wide rows are gone through.
std::size_t RegionEmitter::passes_over(std::set<Value> left) const {
  const auto is_wide = [&](const Leaf& leaf) { return product(free_of(leaf.value).dims) != 1; };
  std::size_t passes = std::any_of(layout_.stores.begin(), layout_.stores.end(), is_wide) ? 1 : 0;
  for (; !left.empty(); ++passes) {
    for (Value v : ready_of(left)) left.erase(v);
  }
  return passes;
}

void RegionEmitter::stream() {
  std::set<Value> left;
  for (Value v : fusion_.regions[region_].ops) {
    const OpCode code = graph_.op(v).code;
    const bool reduces = (code >= OpCode::sum && code <= OpCode::min) || is_search(code);
    if (reduces && !splat_of(graph_, graph_.op(v).operands[0]) &&
        graph_.type(graph_.op(v).operands[0]).shape.back() == widest_ && !find(v))
      left.insert(v);
  }
  make_resident(passes_over(left));
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
    const std::vector<Value> next = ready_of(left);
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
  constexpr std::int64_t kPieceColumns = 2048, kTilesAtATime = 8, kPieces = 8;
  stream_tile_ = options_.column_tile;
  if (passes < 2) {  // the first piece is what the second engine waits for
    const std::int64_t even = (widest_ + kPieces - 1) / kPieces;
    stream_tile_ = std::min(stream_tile_, std::max(kPieceColumns, (even + 255) / 256 * 256));
    return;
  }
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
  if (left < 0) return;
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
