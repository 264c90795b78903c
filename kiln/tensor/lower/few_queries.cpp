// softmax(f(scores)) v for few queries and many keys, as when one token is added to those of a cache. With queries on
// partitions most of them would be idle: keys lie there, all scores are in PSUM at once, and the tensor engine holds
// blocks of weights, which meet the values.
#include <algorithm>
#include <bit>
#include <limits>

#include "kiln/tensor/ir/weak.h"
#include "kiln/tensor/lower/interleave.h"
#include "kiln/tensor/lower/score_function.h"
#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {

using isa::Index;
using isa::View;

namespace {

constexpr std::int64_t kMostQueries = 32;
constexpr std::int64_t kMostScores = 2048;  // columns of float32, half of PSUM
constexpr std::int64_t kBankOfFew = 512;    // of float32 in a bank of PSUM

std::int64_t stride_of(std::int64_t queries) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(queries)));  // a bank is not crossed
}

}  // namespace

// How keys lie on partitions: each has some that follow each other, as they do in HBM, so that values move in long
// runs; where no number of partitions divides them, block after block.
RegionEmitter::Depth RegionEmitter::key_blocks(const Attention& a) const {
  const std::int64_t N = graph_.type(a.scores).shape.back();
  const Leaf& values = layout_.loads[layout_.load_of.at({a.result, 1})];
  std::int64_t rows = kBlock;
  while (N % rows != 0) --rows;
  const bool follows = 4 * rows >= 3 * kBlock && values.free[0].stride == values.free[1].count;
  if (!follows) return {kBlock, N / kBlock, false};
  return {rows, N / rows, true};
}

// Whether attention goes that way; all of its mask is a function of the scores then.
bool RegionEmitter::has_few_queries(Attention& a) const {
  if (layout_.partitions > kMostQueries || !options_.few_queries || !is_quotient(a)) return false;
  const std::int64_t N = graph_.type(a.scores).shape.back(), blocks = (N + kBlock - 1) / kBlock;
  if (blocks * stride_of(layout_.partitions) > kMostScores) return false;
  a.few = true, a.inner = a.seen, a.ahead.reset(), a.back.reset(), a.unloaded.clear(), a.function.clear();
  a.columns.clear();
  const Value scores = a.scores;
  if (a.seen != scores) {
    a.scores = kScalar;
    if (!gather_function(a.seen, a) || a.scores != scores || !a.columns.empty()) return false;
  }
  for (const FunctionLeaf& l : leaves_of_function(a)) {
    const Leaf& leaf = layout_.loads[l.load];
    const DType t = graph_.type(leaf.value).dtype;
    if (l.key < 0 || l.query < 0) return false;
    // Without a mode for it the tensor engine turns by products, which an infinite bias would spoil.
    if (l.key != 0 && l.query != 0 && t != DType::bool_ && !arch_.features.tensor_transpose_mode) return false;
    if (l.key != 0 && l.query != 0 ? !(Turner::takes(t) || t == DType::bool_) : kept(leaf) != nullptr) return false;
  }
  return has_only_these_users(a) && fits_chunks(a);
}

// An operand of the function for all keys: (keys of a block, blocks, queries).
Tile RegionEmitter::operand_of_few(const FunctionLeaf& l, DType dtype) {
  const Leaf& leaf = layout_.loads[l.load];
  const Depth d = key_blocks(*attention_);
  const std::int64_t N = graph_.type(attention_->scores).shape.back(), whole = d.blocks, rest = N - d.rows * whole;
  const std::int64_t blocks = l.key == 0 ? 1 : whole + (rest ? 1 : 0), columns = l.query == 0 ? 1 : rows_;
  const std::int64_t in_block = d.follows ? whole : 1, to_next = d.follows ? 1 : kBlock;  // keys apart
  const Tile out = new_tile(k_, Memory::sbuf, d.rows, {1, {blocks * columns}}, dtype);
  if (l.key != 0 && l.query != 0) {
    Tile rows = load(l.load);
    rows.dims = {rows.dims.back()};
    const bool bytes = rows.dtype() == DType::uint8;
    rows = in_dtype(rows, {1, {N}}, bytes ? DType::bfloat16 : rows.dtype());
    const Tile turned = bytes ? new_tile(k_, Memory::sbuf, d.rows, {1, {blocks * columns}}, DType::bfloat16) : out;
    if (d.follows)
      turner().strided(turned, rows, blocks);
    else
      turner().tile(turned, rows, N);
    if (!bytes) return out;
    const std::int64_t full = whole * columns;
    k_.tensor_copy({.dst = out.storage.slice(1, 0, full), .src = turned.storage.slice(1, 0, full)});
    if (rest)
      k_.tensor_copy({.dst = out.storage.slice(0, 0, rest).slice(1, full, columns),
                      .src = turned.storage.slice(0, 0, rest).slice(1, full, columns)});
    return out;
  }
  if (graph_.op(leaf.base).code == OpCode::iota && l.key == 1 && leaf.offset == 0) {
    k_.iota({.dst = out.storage, .pattern = {{to_next, blocks}}, .channel_multiplier = in_block});
    return out;
  }
  const View& hbm = storage_.of.at(leaf.base);
  Index at = storage_.begin(leaf.base) + leaf.offset;
  for (std::size_t i = 0; i < at_.size(); ++i) at += at_[i] * leaf.loops[i];
  const std::int64_t row = out.storage.dim(1), full = l.key == 0 ? 1 : whole;
  k_.dma_copy({.dst = out.storage.ap({{row, d.rows}, {columns, full}, {1, columns}}),
               .src = hbm.ap({{l.key * in_block, d.rows}, {l.key * to_next, full}, {l.query, columns}}, at)});
  if (l.key != 0 && rest)
    k_.dma_copy({.dst = out.storage.ap({{row, rest}, {1, 1}}, whole),
                 .src = hbm.ap({{l.key, rest}, {1, 1}}, at + whole * kBlock * l.key)});
  return out;
}

// The largest over all partitions of each column, on all partitions.
View RegionEmitter::spread_largest(const View& each) {
  const std::int64_t rows = each.dim(0), n = each.dim(1);
  const View turned = k_.psum({n, rows}, DType::float32), most = k_.sbuf({n, 1}, DType::float32);
  // The tensor engine multiplies all of them with 0 or 1: an infinite one, of hidden keys, would spoil the others.
  constexpr double kFinite = std::numeric_limits<float>::max();
  k_.tensor_scalar({.dst = each,
                    .data = each,
                    .op0 = AluOp::maximum,
                    .operand0 = -kFinite,
                    .op1 = AluOp::minimum,
                    .operand1 = kFinite});
  k_.nc_transpose({.dst = turned, .data = each});
  k_.tensor_reduce({.dst = most, .op = AluOp::maximum, .data = turned, .axis = {1}});
  const View apart = k_.sbuf({n, n}, DType::float32), ones = k_.sbuf({n, rows}, DType::float32);
  k_.memset({.dst = ones, .value = 1.0});
  k_.affine_select({.dst = apart,
                    .pattern = {{-1, n}},
                    .channel_multiplier = 1,
                    .on_true_tile = most.ap({{1, n}, {0, n}}),
                    .on_false_value = 0.0,
                    .cmp_op = AluOp::equal});
  const View all = k_.psum({rows, n}, DType::float32), out = k_.sbuf({rows, n}, DType::float32);
  k_.nc_matmul({.dst = all, .stationary = ones, .moving = apart});
  k_.tensor_copy({.dst = out, .src = all});
  return out;
}

// Blocks of keys whose weights the tensor engine holds at a time, of one query.
std::int64_t RegionEmitter::values_together() const {
  const std::int64_t D = graph_.type(attention_->result).shape.back(), whole = key_blocks(*attention_).blocks;
  std::int64_t most = heads_beside_ && rows_ == 1 ? kBankOfFew / D : 1;
  while (most > 1 && whole % most != 0) --most;
  return std::max<std::int64_t>(1, most);
}

// The weights of several blocks of keys are held at once, and meet the values of all of these. What blocks have of
// their own values is taken out and added up; others may be infinite.
Tile RegionEmitter::multiply_values_together(const Attention& a, const Chunk& chunk, const View& weights,
                                             std::int64_t together) {
  const std::int64_t D = graph_.type(a.result).shape.back(), columns = together * D;
  const Depth lie = key_blocks(a);
  const Tile& v = chunk.values;
  const View sum = k_.psum({together, columns}, DType::float32), all = k_.sbuf({together, columns}, DType::float32);
  k_.loop(lie.blocks / together, [&](Index b) {
    k_.nc_matmul({.dst = sum,
                  .stationary = weights.ap({{weights.dim(1), lie.rows}, {1, together}}, b * together),
                  .moving = v.storage.ap({{v.storage.dim(1), lie.rows}, {1, columns}},
                                         v.offset + chunk.values_at * D + b * columns)});
  });
  const View own = k_.sbuf({together, columns}, DType::float32), of_blocks = k_.sbuf({together, D}, DType::float32);
  const View ones = k_.sbuf({together, 1}, DType::float32);
  k_.tensor_copy({.dst = all, .src = sum});
  k_.affine_select({.dst = own,
                    .pattern = {{-1, together}, {0, D}},
                    .channel_multiplier = 1,
                    .on_true_tile = all,
                    .on_false_value = 0.0,
                    .cmp_op = AluOp::equal});
  k_.tensor_reduce(
      {.dst = of_blocks, .op = AluOp::add, .data = own.ap({{columns, together}, {1, D}, {D, together}}), .axis = {2}});
  k_.memset({.dst = ones, .value = 1.0});
  const Tile out = new_tile(k_, Memory::psum, 1, free_of(a.result), DType::float32);
  k_.nc_matmul({.dst = view_of(out, {{1, D}}), .stationary = ones, .moving = of_blocks});
  return out;
}

// Two heads in one order: the tensor engine, which would wait for the exponentials of one, goes on with the other.
void RegionEmitter::over_few_beside(std::size_t loop, const std::function<void(const Index&)>& pass) {
  heads_beside_ = true;
  k_.loop(layout_.loops[loop] / 2, [&](Index i) {
    std::vector<std::size_t> begins;
    for (std::int64_t head = 0; head < 2; ++head) {
      begins.push_back(k_.block().size());
      pass(2 * i + head);
    }
    interleave(k_.program(), k_.block(), begins, arch_);
  });
  heads_beside_ = false;
}

void RegionEmitter::attend_few(const Attention& a) {
  const std::int64_t N = graph_.type(a.scores).shape.back(), D = graph_.type(a.result).shape.back(), n = rows_;
  const std::int64_t K = graph_.type(graph_.op(a.scores).operands[0]).shape.back(), stride = stride_of(n);
  const Depth lie = key_blocks(a);
  const std::int64_t R = lie.rows, whole = lie.blocks, rest = N - R * whole, blocks = whole + (rest ? 1 : 0);
  const Tile x = turned_rows(a.scores);
  const Chunk chunk = chunk_of(a, 0, N, 0);
  const View scores = k_.psum({R, blocks * stride}, DType::float32);
  const auto multiply_keys = [&](const Index& b, std::int64_t count) {
    over_blocks(k_, K, [&](Index d, std::int64_t depth) {
      k_.nc_matmul({.dst = scores.ap({{blocks * stride, count}, {1, n}}, b * stride),
                    .stationary = chunk.keys.storage.ap(
                        {{chunk.keys.storage.dim(1), depth}, {lie.follows ? whole : 1, count}},
                        chunk.keys.offset + chunk.keys_at + d * chunk.keys_width + b * (lie.follows ? 1 : kBlock)),
                    .moving = block(x, d, 0, depth, n, n)});
    });
  };
  k_.loop(whole, [&](Index b) { multiply_keys(b, R); });
  if (rest) multiply_keys(whole, rest);

  // Whole blocks, then the last one, which has fewer keys.
  struct Part {
    std::int64_t block, count, blocks;
  };
  std::vector<Part> parts{{0, R, whole}};
  if (rest) parts.push_back({whole, rest, 1});
  const auto of = [&](const View& t, const Part& p, std::int64_t apart) {
    return t.ap({{t.dim(1), p.count}, {apart, p.blocks}, {1, n}}, p.block * apart);
  };
  View seen = scores;
  std::int64_t apart = stride;
  if (!a.function.empty()) {
    seen = k_.sbuf({R, blocks * n}, DType::float32), apart = n;
    functions_.clear();
    std::vector<Tile> operands;
    for (const Part& p : parts) {
      TurnedFunction& f = *turned_function(a, p.blocks);
      RegionEmitter& e = *f.emitter;
      for (std::size_t i = operands.size(); i < f.leaves.size(); ++i)
        operands.push_back(operand_of_few(f.leaves[i], f.dtype(i)));
      const auto tile = [&](const View& t, std::int64_t step, std::int64_t columns, bool keys) {
        const std::int64_t many = keys ? p.blocks : 1;
        return Tile{t,
                    keys ? p.block * step : 0,
                    many == 1 ? isa::Dim{0, 1} : isa::Dim{step, many},
                    {{0, 1}, {1, columns}},
                    p.count};
      };
      e.at_ = at_, e.rows_ = p.count;
      Scope& scope = e.scopes_.emplace_back();  // a scope below: nothing is computed in their places
      for (std::size_t i = 0; i < f.leaves.size(); ++i) {
        const std::int64_t columns = f.leaves[i].query == 0 ? 1 : n;
        scope.leaves[static_cast<int>(i)] = tile(operands[i].storage, columns, columns, f.leaves[i].key != 0);
      }
      e.scopes_.emplace_back().values[f.scores] = tile(scores, stride, n, true);
      const Tile into = tile(seen, n, n, true);
      e.value(f.out, &into);
      e.scopes_.resize(e.scopes_.size() - 2);
    }
  }
  const View each = k_.sbuf({R, n}, DType::float32);
  const auto reduce = [&](AluOp op, const View& t, std::int64_t step, const View& out) {
    for (const Part& p : parts) {
      const View columns = t.ap({{t.dim(1), p.count}, {1, n}, {step, p.blocks}}, p.block * step);
      if (p.block == 0) {
        k_.tensor_reduce({.dst = out, .op = op, .data = columns, .axis = {2}});
        continue;
      }
      const View some = out.ap({{n, p.count}, {1, n}});
      k_.tensor_tensor(
          {.dst = some, .data1 = some, .data2 = t.ap({{t.dim(1), p.count}, {1, n}}, p.block * step), .op = op});
    }
  };
  reduce(AluOp::maximum, seen, apart, each);
  const View most = spread_largest(each);
  const DType t = graph_.type(graph_.op(a.result).operands[0]).dtype;
  const View shifted = k_.sbuf({R, blocks * n}, DType::float32), weights = k_.sbuf({R, blocks * n}, t);
  for (const Part& p : parts) {
    k_.tensor_tensor({.dst = of(shifted, p, n),
                      .data1 = of(seen, p, apart),
                      .data2 = most.ap({{n, p.count}, {0, p.blocks}, {1, n}}),
                      .op = AluOp::subtract});
    k_.activation({.dst = of(weights, p, n), .op = ActFn::exp, .data = of(shifted, p, n), .scale = a.factor});
  }
  const View sums = k_.sbuf({R, n}, DType::float32), ones = k_.sbuf({R, 1}, DType::float32);
  k_.memset({.dst = ones, .value = 1.0});
  reduce(AluOp::add, weights, n, sums);
  const View total = k_.psum({n, 1}, DType::float32);
  k_.nc_matmul({.dst = total, .stationary = sums, .moving = ones});
  const std::int64_t together = values_together();
  const Tile out = together > 1 ? multiply_values_together(a, chunk, weights, together)
                                : new_tile(k_, Memory::psum, n, free_of(a.result), DType::float32);
  const auto multiply_values = [&](const Index& b, std::int64_t count) {
    k_.nc_matmul({.dst = view_of(out, {{1, D}}),
                  .stationary = weights.ap({{blocks * n, count}, {1, n}}, b * n),
                  .moving = block(chunk.values, chunk.values_at + b, 0, count, D, D)});
  };
  if (together == 1) k_.loop(whole, [&](Index b) { multiply_values(b, R); });
  if (rest) multiply_values(whole, rest);
  Scope& scope = scopes_.back();
  scope.values[a.result] = out;
  scope.values[a.total] = {total, 0, {0, 1}, Strided::contiguous(free_of(a.total).dims).dims, n};
  for (Value v : {a.scores, a.seen, a.weights, a.largest}) scope.consumed.insert(v);
  scope.consumed.insert(a.function.begin(), a.function.end());
}

}  // namespace kiln::tensor
