// softmax(f(scores)) v, where f is computed element by element of a score and of what else has a place for its query,
// for its key, or for both: biases, masks, caps. With keys on partitions f is a small program of its own.
#include "kiln/tensor/lower/score_function.h"

#include <algorithm>

#include "kiln/tensor/ir/weak.h"
#include "kiln/tensor/passes/band.h"
#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {

using isa::Index;
using isa::View;

namespace {

constexpr std::int64_t kRowsOfATurn = 16;    // rows that a DMA turns
constexpr std::int64_t kRowsOfBytes = 8192;  // elements per partition that are turned together

bool keeps_last(const Graph& graph, const Op& op) {
  return op.code == OpCode::reshape && op.type.rank() >= 1 && graph.type(op.operands[0]).rank() >= 1 &&
         graph.type(op.operands[0]).shape.back() == op.type.shape.back();
}

}  // namespace

// Whether v is computed element by element from one product, `scores`, and from operands that have its columns, or one
// value for all of them. Values that a row has one of are gathered as `columns`.
bool RegionEmitter::gather_function(Value v, Attention& a) const {
  if (fusion_.region_of[v] != region_ || splat_of(graph_, v) || a.function.contains(v) || v == a.scores) return true;
  const Op& op = graph_.op(v);
  const Shape free = free_of(v).dims;
  if (product(free) == 1) {
    a.columns.insert(v);
    return true;
  }
  if (free.back() != product(free)) return false;
  if (is_product(op.code)) {
    if (a.scores != kScalar || op.code != OpCode::matmul) return false;
    a.scores = v;
    return true;
  }
  if (!is_elementwise(op.code) && op.code != OpCode::where && op.code != OpCode::cast && !keeps_last(graph_, op))
    return false;
  a.function.insert(v);
  return std::all_of(op.operands.begin(), op.operands.end(), [&](Value x) { return gather_function(x, a); });
}

// What a function is made of is read for it alone.
bool RegionEmitter::is_function_alone(const Attention& a) const {
  const auto alone = [&](Value v) {
    return uses_[v] == static_cast<int>(users_[v].size()) &&
           std::all_of(users_[v].begin(), users_[v].end(), [&](Value u) { return a.function.contains(u); });
  };
  const auto is_fine = [&](Value v) { return v == a.inner || alone(v); };
  return alone(a.scores) && std::all_of(a.function.begin(), a.function.end(), is_fine);
}

// With queries on partitions: the function of a piece of scores, and the largest of each row.
void RegionEmitter::score_by_function(const Attention& a, const Chunk& chunk, const Index& at, const View& sum,
                                      const View& largest) {
  const std::int64_t n = sum.dim(1);
  columns_ = Columns{graph_.type(a.scores).shape.back(), n, chunk.at + at};
  Scope& scope = scopes_.emplace_back();
  scope.values[a.scores] = {sum, 0, {0, 1}, Strided::contiguous(free_of(a.scores).dims).dims, rows_};
  Tile into = chunk.seen;
  into.offset += at;
  into.dims = Strided::contiguous(free_of(a.inner).dims).dims;
  value(a.inner, &into);
  scopes_.pop_back();
  columns_.reset();
  const View seen = view_of(chunk.seen, {{1, n}}, at);
  if (a.ahead && chunk.at.is_constant() && at.is_constant()) {
    over_hidden(chunk.at.constant() + at.constant(), n, [&](std::int64_t column, std::int64_t m, const View& mask) {
      const View edge = view_of(chunk.seen, {{1, m}}, at + column);
      k_.tensor_tensor({.dst = edge, .data1 = edge, .data2 = mask.slice(0, 0, rows_), .op = AluOp::add});
    });
  }
  k_.tensor_reduce({.dst = largest, .op = AluOp::maximum, .data = seen, .axis = {1}});
}

// The operands of the function that lie in HBM.
std::vector<RegionEmitter::FunctionLeaf> RegionEmitter::leaves_of_function(const Attention& a) const {
  std::vector<FunctionLeaf> out;
  for (Value v : a.function) {
    for (std::size_t i = 0; i < graph_.op(v).operands.size(); ++i) {
      const auto load = layout_.load_of.find({v, static_cast<int>(i)});
      if (load == layout_.load_of.end()) continue;
      const auto is_it = [&](const FunctionLeaf& l) { return l.load == load->second; };
      if (std::any_of(out.begin(), out.end(), is_it)) continue;
      const Leaf& leaf = layout_.loads[load->second];
      const isa::Dim key = leaf.free.empty() ? isa::Dim{0, 1} : leaf.free.back();
      FunctionLeaf l{.load = load->second, .query = leaf.partition, .key = key.count == 1 ? 0 : key.stride};
      for (std::size_t d = 0; d < leaf.loops.size(); ++d) {
        if (leaf.loops[d] != 0) l.level = static_cast<int>(d) + 1;
      }
      out.push_back(l);
    }
  }
  return out;
}

// Whether the scalar engine needs another table for the function than for exp, which it takes its time to load.
bool RegionEmitter::loads_tables(const Attention& a) const {
  return std::any_of(a.function.begin(), a.function.end(), [&](Value v) {
    const Op& op = graph_.op(v);
    if (!is_elementwise(op.code) || info(op.code).lowering.kind != Lowering::Kind::act) return false;
    const ActFn fn = info(op.code).lowering.act;
    return fn != ActFn::exp && fn != ActFn::square && fn != ActFn::relu && fn != ActFn::abs && fn != ActFn::sign &&
           fn != ActFn::copy;
  });
}

// Whether nothing but the function reads a load.
bool RegionEmitter::is_of_function(int load) const {
  return std::all_of(layout_.load_of.begin(), layout_.load_of.end(), [&](const auto& read) {
    return read.second != load || attention_->function.contains(read.first.first);
  });
}

// Whether the function can be computed with keys on partitions.
bool RegionEmitter::is_turnable(const Attention& a) const {
  if (!a.columns.empty()) return false;
  const std::vector<FunctionLeaf> leaves = leaves_of_function(a);
  return std::all_of(leaves.begin(), leaves.end(), [&](const FunctionLeaf& l) {
    const Leaf& leaf = layout_.loads[l.load];
    const DType t = graph_.type(leaf.value).dtype;
    const bool direct = l.key == 0 || l.query <= 1;
    return !kept(leaf) && l.key >= 0 && l.query >= 0 &&
           (direct || (l.key == 1 && (Turner::takes(t) || t == DType::bool_)));
  });
}

// The function as a program of (keys, queries), whose rows are keys; `blocks` of them follow each other on a partition.
std::shared_ptr<RegionEmitter::TurnedFunction> RegionEmitter::turned_function(const Attention& a, std::int64_t blocks) {
  auto& known = functions_[blocks];
  if (known) return known;
  known = std::make_shared<TurnedFunction>();
  TurnedFunction& f = *known;
  Graph& g = f.graph;
  g.at(graph_.loc(graph_.op(a.inner)));
  const std::int64_t queries = layout_.partitions;
  const bool raw = a.few || loads_tables(a);  // what exp is taken of, later
  const std::int64_t keys = a.few ? key_blocks(a).rows : unshifted_->keys;
  std::int64_t rows = blocks * keys;
  f.layout.loops = layout_.loops, f.layout.partitions = keys, f.layout.packed = blocks;
  for (std::int64_t n : layout_.loops) rows *= n;
  const std::vector<FunctionLeaf> leaves = leaves_of_function(a);
  const DType weights = graph_.type(graph_.op(a.result).operands[0]).dtype;
  f.scores = g.input("scores", {DType::float32, {rows, queries}});

  std::map<int, Value> inputs;
  const auto input = [&](int load, DType dtype) {
    const FunctionLeaf& l = *std::find_if(leaves.begin(), leaves.end(), [&](const auto& x) { return x.load == load; });
    // Of the full shape, so that what is made of it has all rows; one value for all queries or keys has no stride.
    const Value v = g.input("operand" + std::to_string(load), {dtype, {rows, queries}});
    f.leaves.push_back(l);
    f.has_keys = f.has_keys || l.query == 0;
    f.layout.loads.push_back({.value = v,
                              .base = layout_.loads[load].base,
                              .loops = layout_.loads[load].loops,
                              .packed = 1,  // another one for each key, as far as anybody knows
                              .free = {{0, 1}, {l.query == 0 ? 0 : 1, queries}}});
    return v;
  };
  std::map<Value, Value> made{{a.scores, f.scores}};
  const std::function<Value(Value)> build = [&](Value v) {
    if (const auto it = made.find(v); it != made.end()) return it->second;
    const Op& op = graph_.op(v);
    const bool wider =
        op.code == OpCode::cast && is_float(op.type.dtype) && is_float(graph_.type(op.operands[0]).dtype);
    if (a.function.contains(op.operands[0]) || op.operands[0] == a.scores) {
      if (wider || keeps_last(graph_, op)) return made[v] = build(op.operands[0]);
    }
    std::vector<Value> operands;
    std::vector<std::pair<int, int>> read;  // operand, load
    for (std::size_t i = 0; i < op.operands.size(); ++i) {
      const Value x = op.operands[i];
      const auto load = layout_.load_of.find({v, static_cast<int>(i)});
      if (const auto number = splat_of(graph_, x)) {
        const DType t = graph_.type(x).dtype;
        operands.push_back(g.constant({is_float(t) ? DType::float32 : t, {}}, {*number}));
      } else if (load != layout_.load_of.end()) {
        if (!inputs.contains(load->second)) inputs[load->second] = input(load->second, graph_.type(x).dtype);
        operands.push_back(inputs[load->second]);
        read.emplace_back(static_cast<int>(i), load->second);
      } else {
        operands.push_back(build(x));
      }
    }
    if (keeps_last(graph_, op)) return made[v] = operands[0];
    if (op.code == OpCode::multiply && read.empty()) {  // numbers one after the other are one
      const int at = splat_of(g, operands[1]) ? 0 : 1;
      const auto by = splat_of(g, operands[1 - at]);
      const Op inner = g.op(operands[at]);
      const auto before = inner.code == OpCode::multiply ? splat_of(g, inner.operands[1]) : std::nullopt;
      if (by && before && is_float(inner.type.dtype))
        operands = {inner.operands[0], g.constant({DType::float32, {}}, {*by * *before})};
      else if (by && at == 1)
        std::swap(operands[0], operands[1]);
    }
    const Value out = g.copy(graph_, op, operands);
    f.ops.push_back(out);
    for (const auto& [i, load] : read) {
      const auto is_it = [load = load](const FunctionLeaf& l) { return l.load == load; };
      f.layout.load_of[{out, i}] =
          static_cast<int>(std::find_if(f.leaves.begin(), f.leaves.end(), is_it) - f.leaves.begin());
    }
    return made[v] = out;
  };
  const auto add = [&](OpCode code, std::vector<Value> operands, Attrs attrs = {}) {
    const Value out = g.add(code, std::move(operands), std::move(attrs));
    f.ops.push_back(out);
    return out;
  };
  // What a mask in HBM hides has a weight of 0: a factor of 0 or 1.
  std::vector<int> factors;
  Value inner = a.inner;
  while (!raw) {
    const Op& op = graph_.op(inner);
    if (op.code != OpCode::where || inner == a.scores) break;
    const auto fill = splat_of(graph_, op.operands[2]);
    const auto load = layout_.load_of.find({inner, 0});
    if (!fill || *fill > kHiddenFill || load == layout_.load_of.end()) break;
    if (!a.function.contains(op.operands[1]) && op.operands[1] != a.scores) break;
    factors.push_back(load->second);
    inner = op.operands[1];
  }
  Value out = build(inner);
  if (a.factor != 1 && !raw) out = add(OpCode::multiply, {out, g.constant({DType::float32, {}}, {a.factor})});
  if (!raw) out = add(OpCode::exp, {out});
  if (!factors.empty() && weights != DType::float32) out = add(OpCode::cast, {out}, {weights});
  for (int load : factors) {
    const Value m = input(load, weights);
    out = add(OpCode::multiply, {out, m});
    f.layout.load_of[{out, 1}] = static_cast<int>(f.leaves.size()) - 1;
  }
  f.out = out;
  g.output("weights", out);
  f.fusion.region_of.assign(g.size(), -1);
  f.fusion.is_stored.assign(g.size(), true);
  f.fusion.regions.push_back({.ops = f.ops, .candidates = {rows}, .rows = rows});
  f.fusion.region_of[f.scores] = 0;
  for (Value v : f.ops) f.fusion.region_of[v] = 0;
  f.emitter = std::make_unique<RegionEmitter>(k_, f.graph, f.fusion, 0, f.layout, storage_, arch_, options_);
  f.emitter->scopes_.emplace_back();
  return known;
}

// Rows of bytes as columns: elements of 16 bits on the way, which the DMA makes. dst is (keys, blocks of them,
// queries). With `hides` what is no truth becomes what hides a key, and truth nothing.
void RegionEmitter::turn_bytes(const Tile& dst, const View& hbm, const Index& at, std::int64_t keys,
                               std::int64_t blocks, std::int64_t stride, std::int64_t queries, bool hides) {
  const std::int64_t whole = queries / kBlock, row = dst.storage.dim(1);
  const auto together = std::max<std::int64_t>(1, kRowsOfBytes / (keys * ((queries + kBlock - 1) / kBlock)));
  k_.tiles(blocks, together, [&](const Index& first, std::int64_t m) {
    const std::int64_t wide = m * keys;
    const View rows = k_.sbuf({kBlock, (queries + kBlock - 1) / kBlock * wide}, DType::bfloat16);
    const Index from = at + first * keys;
    const auto load = [&](const View& to, const View& bytes_at) {
      k_.dma_copy({.dst = to, .src = bytes_at});
      if (!hides) return;
      k_.tensor_scalar({.dst = to,
                        .data = to,
                        .op0 = AluOp::multiply,
                        .operand0 = -kHiddenTerm,
                        .op1 = AluOp::add,
                        .operand1 = kHiddenTerm});
    };
    if (whole)
      load(rows.ap({{rows.dim(1), kBlock}, {wide, whole}, {1, wide}}),
           hbm.ap({{stride, kBlock}, {stride * kBlock, whole}, {1, wide}}, from));
    if (const std::int64_t rest = queries % kBlock)
      load(rows.ap({{rows.dim(1), rest}, {1, wide}}, whole * wide),
           hbm.ap({{stride, rest}, {1, wide}}, from + whole * kBlock * stride));
    const auto turn = [&](const Index& b) {
      const View turned = k_.psum({keys, queries}, DType::bfloat16);
      for (std::int64_t q = 0; q < queries; q += kBlock) {
        const std::int64_t n = std::min(queries - q, kBlock);
        k_.nc_transpose({.dst = turned.ap({{queries, keys}, {1, n}}, q),
                         .data = rows.ap({{rows.dim(1), n}, {1, keys}}, q / kBlock * wide + b * keys)});
      }
      k_.tensor_copy({.dst = dst.storage.ap({{row, keys}, {1, queries}}, dst.offset + (first + b) * queries),
                      .src = turned,
                      .engine = evacuator()});
    };
    if (m == 1)
      turn(0);
    else
      k_.loop(m, turn);
  });
}

// Loads an operand for the queries from `start` on and blocks of `count` keys from block `first` on: dst is (keys,
// blocks, queries), block after block.
void RegionEmitter::load_operand(const FunctionLeaf& l, const Tile& dst, const Index& first, std::int64_t count,
                                 std::int64_t blocks, const Index& start, std::int64_t n, bool hides) {
  const Leaf& leaf = layout_.loads[l.load];
  const View& hbm = storage_.of.at(leaf.base);
  const std::int64_t keys = unshifted_->keys, columns = l.query == 0 ? 1 : n, row = dst.storage.dim(1);
  Index at = storage_.begin(leaf.base) + leaf.offset + first * (keys * l.key) + start * l.query;
  for (std::size_t i = 0; i < at_.size(); ++i) at += at_[i] * leaf.loops[i];
  const bool bytes = graph_.type(leaf.value).dtype == DType::bool_;
  if (l.key == 0 || l.query <= 1) {
    const bool converts = bytes && dst.dtype() != DType::uint8;
    const View raw = converts ? k_.sbuf({count, blocks * columns}, DType::uint8) : dst.storage;
    const Index place = converts ? Index(0) : dst.offset;
    k_.dma_copy({.dst = raw.ap({{raw.dim(1), count}, {columns, blocks}, {1, columns}}, place),
                 .src = hbm.ap({{l.key, count}, {l.key * keys, blocks}, {l.query, columns}}, at)});
    if (converts)
      k_.tensor_copy({.dst = dst.storage.ap({{row, count}, {1, blocks * columns}}, dst.offset), .src = raw});
    return;
  }
  const bool by_dma = options_.loads_turned && size_bytes(dst.dtype()) == 2 && !bytes && columns % kRowsOfATurn == 0;
  if (by_dma && count == kBlock && keys == kBlock) return load_turned(dst, hbm, at, blocks * kBlock, l.query, columns);
  if (bytes) return turn_bytes(dst, hbm, at, count, blocks, l.query, columns, hides);
  const auto one = [&](const Index& b) {
    Tile part = dst;
    part.offset += b * columns;
    part.dims = {{1, columns}};
    const Index place = at + b * (keys * l.key);
    if (by_dma)
      load_turned(part, hbm, place, count, l.query, columns);
    else
      turner().from_hbm(part, hbm, place, count, l.query, columns);
  };
  if (blocks == 1)
    one(0);
  else
    k_.loop(blocks, one);
}

// Operands of the function that move with a loop, or with none, and fit: for all keys, and for all queries, one group
// of them after the other, where they have some.
void RegionEmitter::hold_operands(int level) {
  if (unshifted_->term) {
    if (level == 0) hold_score_term();
    return;
  }
  const Attention& a = *attention_;
  const TurnedFunction& f = *turned_function(a, 1);
  const std::int64_t N = graph_.type(a.scores).shape.back(), keys = unshifted_->keys, blocks = (N + keys - 1) / keys;
  for (std::size_t i = 0; i < f.leaves.size(); ++i) {
    const FunctionLeaf& l = f.leaves[i];
    if (l.level != level || (l.key == 0 && l.query != 0)) continue;
    if (l.key == 0) {  // one number
      const Tile one = function_operands_[i] = new_tile(k_, Memory::sbuf, keys, {1, {1}}, f.dtype(i));
      load_operand(l, one, 0, keys, 1, 0, 1);
      continue;
    }
    const std::int64_t columns = l.query == 0 ? 1 : layout_.partitions;
    if (l.query != 0 && (level != 0 || blocks * columns * size_bytes(f.dtype(i)) > kHeldOperand)) continue;
    Tile all = new_tile(k_, Memory::sbuf, std::min(N, keys), {1, {blocks * columns}}, f.dtype(i));
    function_operands_[i] = all;
    const std::int64_t whole = N / keys;
    for (const auto& [start, n] :
         l.query == 0 ? std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 1}} : query_groups(a)) {
      all.offset = start * blocks;
      if (whole) load_operand(l, all, 0, keys, whole, start, n);
      all.offset = start * blocks + whole * n;
      if (N % keys) load_operand(l, all, whole, N % keys, 1, start, n);
    }
  }
}

// Operand i of the function for some keys and the queries of a group from `keys.from` on.
Tile RegionEmitter::operand_of_function(const TurnedFunction& f, std::size_t i, const Keys& keys, const Index& start,
                                        std::int64_t n) {
  const FunctionLeaf& l = f.leaves[i];
  const std::int64_t seen = (keys.to < 0 ? n : keys.to) - keys.from, N = graph_.type(attention_->scores).shape.back();
  const std::int64_t all_blocks = (N + unshifted_->keys - 1) / unshifted_->keys;
  const auto packed = [&](std::int64_t stride) {
    return keys.blocks == 1 ? isa::Dim{0, 1} : isa::Dim{stride, keys.blocks};
  };
  const auto held = function_operands_.find(i);
  if (l.query == 0 && l.key == 0) return {held->second.storage, 0, {0, 1}, {{0, 1}, {1, 1}}, keys.count};
  if (l.query == 0) return {held->second.storage, keys.block, packed(1), {{0, 1}, {1, 1}}, keys.count};
  const Dims columns{{0, 1}, {1, seen}};
  if (l.key == 0) {
    Tile& row = group_operands_[i];
    if (!row.rows) {
      row = new_tile(k_, Memory::sbuf, unshifted_->keys, {1, {n}}, f.dtype(i));
      load_operand(l, row, 0, unshifted_->keys, 1, start, n);
    }
    return {row.storage, keys.from, {0, 1}, columns, keys.count};
  }
  if (held != function_operands_.end())
    return {held->second.storage, start * all_blocks + keys.block * n + keys.from, packed(n), columns, keys.count};
  const Tile out = new_tile(k_, Memory::sbuf, keys.count, {1, {keys.blocks * seen}}, f.dtype(i));
  load_operand(l, out, keys.block, keys.count, keys.blocks, start + keys.from, seen);
  return {out.storage, 0, packed(seen), columns, keys.count};
}

// Weights of scores: (keys, blocks of them, queries), blocks of scores `apart` columns from each other.
void RegionEmitter::weigh_by_function(const Attention& a, const Keys& keys, const Index& start, const View& scores,
                                      std::int64_t apart, const Tile& weights) {
  const std::int64_t n = weights.storage.dim(1) / keys.blocks;
  const std::int64_t seen = (keys.to < 0 ? n : keys.to) - keys.from;
  // One value per key is one per partition when blocks go one by one: instructions take it along.
  const bool alone = turned_function(a, 1)->has_keys;
  const std::int64_t together = alone ? 1 : keys.blocks;
  TurnedFunction& f = *turned_function(a, together);
  RegionEmitter& e = *f.emitter;
  for (std::int64_t b = 0; b < keys.blocks; b += together) {
    Keys some = keys;
    some.block += b, some.blocks = together;
    const auto tile = [&](const View& t, std::int64_t stride) {
      return Tile{t,
                  b * stride + keys.from,
                  together == 1 ? isa::Dim{0, 1} : isa::Dim{stride, together},
                  {{0, 1}, {1, seen}},
                  keys.count};
    };
    e.at_ = at_, e.rows_ = keys.count, e.columns_ = Columns{layout_.partitions, seen, start + keys.from};
    Scope& operands = e.scopes_.emplace_back();  // a scope below: nothing is computed in their places
    for (std::size_t i = 0; i < f.leaves.size(); ++i)
      operands.leaves[static_cast<int>(i)] = operand_of_function(f, i, some, start, n);
    e.scopes_.emplace_back().values[f.scores] = tile(scores, apart);
    const Tile into = tile(weights.storage, n);
    e.value(f.out, &into);
    e.scopes_.resize(e.scopes_.size() - 2);
  }
}

}  // namespace kiln::tensor
