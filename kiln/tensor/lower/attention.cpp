// softmax(scores) v without all scores at once: keys in chunks with a running maximum and sum, what a causal mask hides
// is not computed.
#include <algorithm>
#include <limits>

#include "kiln/tensor/ir/weak.h"
#include "kiln/tensor/lower/region.h"
#include "kiln/tensor/passes/band.h"
#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {

using isa::Index;
using isa::View;

namespace {

constexpr std::int64_t kFewest = 512;       // keys: fewer stay in PSUM as they are
constexpr std::int64_t kBank = 512;         // columns of float32 in a bank of PSUM
constexpr std::int64_t kPiece = 2 * kBank;  // of scores that leave PSUM together
constexpr std::int64_t kGroups = 16;        // of queries at most, each with the keys that it sees
constexpr double kMask = -1e30;             // what is added to a score that nobody sees

// Rows that are counted in another way.
bool keeps_columns(const Graph& graph, const Op& op) {
  return op.code == OpCode::reshape && op.type.rank() >= 2 && graph.type(op.operands[0]).rank() >= 2 &&
         graph.type(op.operands[0]).shape.back() == op.type.shape.back();
}

// The value behind casts between floats, and behind rows that are counted in another way.
Value behind(const Graph& graph, Value v, bool casts) {
  for (;;) {
    const Op& op = graph.op(v);
    const bool cast = casts && op.code == OpCode::cast && is_float(graph.type(op.operands[0]).dtype);
    if (!cast && !keeps_columns(graph, op)) return v;
    v = op.operands[0];
  }
}

// x and the number that it is multiplied with, 1 when v is no such product.
std::pair<Value, double> without_factor(const Graph& graph, Value v) {
  const Op& op = graph.op(v);
  if (op.code != OpCode::multiply) return {v, 1.0};
  for (int i : {0, 1}) {
    if (const auto c = splat_of(graph, op.operands[i])) return {op.operands[1 - i], *c};
  }
  return {v, 1.0};
}

}  // namespace

// The ops of softmax(x y) z, when this product is the second one.
std::optional<RegionEmitter::Attention> RegionEmitter::softmax_of(Value result) const {
  const auto here = [&](Value v) { return fusion_.region_of[v] == region_; };
  const Op& second = graph_.op(result);
  if (second.code != OpCode::matmul || !here(result) || layout_.packed != 1) return {};
  Attention a{.result = result};
  a.weights = behind(graph_, second.operands[0], true);
  if (!here(a.weights) || graph_.op(a.weights).code != OpCode::exp) return {};
  const Op& shifted = graph_.op(graph_.op(a.weights).operands[0]);
  if (shifted.code != OpCode::subtract || !here(graph_.op(a.weights).operands[0])) return {};
  const auto [x, factor] = without_factor(graph_, shifted.operands[0]);
  const auto [m, other] = without_factor(graph_, shifted.operands[1]);
  if (factor != other || !(factor > 0) || graph_.op(m).code != OpCode::max || !here(m) || !here(x)) return {};
  if (graph_.op(m).operands[0] != x || !reduces_all(m)) return {};
  a.factor = factor, a.largest = m, a.seen = a.between = a.scores = x;
  if (graph_.op(x).code == OpCode::where) {
    const auto fill = splat_of(graph_, graph_.op(x).operands[2]);
    const auto ahead = band_of(graph_, graph_.op(x).operands[0]);
    const bool hides = fill && *fill <= kHiddenFill && ahead && *ahead >= 0 && uses_[graph_.op(x).operands[1]] == 1;
    if (hides && counts_rows(graph_.op(x).operands[0], a.unloaded))
      a.scores = graph_.op(x).operands[1], a.ahead = ahead;
    else
      a.unloaded.clear();
  }
  if (a.ahead) find_floor(a);
  a.inner = a.scores;
  a.scores = behind(graph_, a.scores, false);
  if (!here(a.scores)) return {};
  if (graph_.op(a.scores).code != OpCode::matmul) {
    a.scores = kScalar;
    if (!gather_function(a.inner, a) || a.scores == kScalar) return {};
  }
  const auto total = row_sum_of(a.weights);
  if (!total) return {};
  a.total = *total;
  return a;
}

// The same, when nobody else wants what is between and there are so many keys that they go in chunks, or few queries.
std::optional<RegionEmitter::Attention> RegionEmitter::attention_of(Value result) const {
  const std::optional<Attention> a = softmax_of(result);
  if (!a) return {};
  if (Attention few = *a; has_few_queries(few)) return few;
  return has_only_these_users(*a) && fits_chunks(*a) ? a : std::nullopt;
}

// The other end of a window, where what a mask chooses from is chosen once more. Every query sees something.
void RegionEmitter::find_floor(Attention& a) const {
  const Op& op = graph_.op(a.scores);
  if (op.code != OpCode::where || fusion_.region_of[a.scores] != region_) return;
  const auto fill = splat_of(graph_, op.operands[2]);
  const auto back = floor_of(graph_, op.operands[0]);
  std::set<int> unloaded = a.unloaded;
  if (!fill || *fill > kHiddenFill || !back || *back + *a.ahead < 0 || uses_[op.operands[1]] != 1) return;
  if (layout_.partitions - 1 - *back >= op.type.shape.back() || !counts_rows(op.operands[0], unloaded)) return;
  a.back = back, a.between = a.scores, a.scores = op.operands[1], a.unloaded = std::move(unloaded);
}

// Whether partitions are the rows that a condition counts; the operands from HBM that it alone has.
bool RegionEmitter::counts_rows(Value condition, std::set<int>& leaves) const {
  if (fusion_.region_of[condition] != region_ || uses_[condition] != 1) return false;
  const Op& op = graph_.op(condition);
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    const Value x = op.operands[i];
    if (splat_of(graph_, x)) continue;
    const auto it = layout_.load_of.find({condition, static_cast<int>(i)});
    if (it == layout_.load_of.end()) {
      if (!counts_rows(x, leaves)) return false;
      continue;
    }
    const Leaf& leaf = layout_.loads[it->second];
    const auto moves = [](std::int64_t n) { return n != 0; };
    if (std::any_of(leaf.loops.begin(), leaf.loops.end(), moves) || leaf.offset != 0) return false;
    const bool is_row = graph_.op(leaf.base).integer("axis") + 2 == graph_.type(leaf.base).rank();
    if (leaf.partition != (is_row ? 1 : 0)) return false;
    leaves.insert(it->second);
  }
  return true;
}

// What is not there afterwards is read by nothing else.
bool RegionEmitter::has_only_these_users(const Attention& a) const {
  if (uses_[a.seen] != 2 || (a.function.empty() ? a.seen != a.scores && uses_[a.scores] != 1 : !is_function_alone(a)))
    return false;
  for (Value v = graph_.op(a.result).operands[0]; v != a.weights; v = graph_.op(v).operands[0]) {
    if (uses_[v] > 1) return false;
  }
  int sums = 0, products = 0;
  for (Value u : users_[a.weights]) {
    while (u != a.total && u != a.result && users_[u].size() == 1 &&
           (graph_.op(u).code == OpCode::cast || keeps_columns(graph_, graph_.op(u))))
      u = users_[u][0];
    sums += u == a.total, products += u == a.result;
  }
  return uses_[a.weights] == 2 && sums == 1 && products == 1;
}

bool RegionEmitter::fits_chunks(const Attention& a) const {
  const Shape &s = graph_.type(a.scores).shape, &r = graph_.type(a.result).shape;
  if (s.back() < kFewest || r.back() > kBank) return false;
  const Leaf& values = layout_.loads[layout_.load_of.at({a.result, 1})];
  return values.free[1].stride == 1 && graph_.type(graph_.op(a.scores).operands[0]).shape.back() <= 1024;
}

// The tiles that a causal mask needs: the identity, and what is added to scores, once for all rows.
void RegionEmitter::make_band(std::int64_t blocks) {
  const std::int64_t width = (2 * blocks - 1) * kBlock;
  const View zeros = k_.sbuf({kBlock, width}, DType::bfloat16), ones = k_.sbuf({kBlock, kBlock}, DType::bfloat16);
  const View mask = k_.sbuf({kBlock, width}, DType::bfloat16), identity = k_.sbuf({kBlock, kBlock}, DType::bfloat16);
  k_.memset({.dst = zeros, .value = 0.0});
  k_.memset({.dst = ones, .value = 1.0});
  k_.affine_select({.dst = identity,
                    .pattern = {{-1, kBlock}},
                    .channel_multiplier = 1,
                    .on_true_tile = ones,
                    .on_false_value = 0.0,
                    .cmp_op = AluOp::equal});
  k_.affine_select({.dst = mask,
                    .pattern = {{-1, width}},
                    .channel_multiplier = 1,
                    .on_true_tile = zeros,
                    .on_false_value = kMask,
                    .cmp_op = AluOp::greater_equal,
                    .offset = (blocks - 1) * kBlock});
  band_ = Band{.mask = mask, .identity = identity, .blocks = blocks};
  if (!attention_->back) return;
  const std::int64_t rows = blocks * kBlock, wide = 2 * rows + kBlock;
  const View nothing = k_.sbuf({kBlock, wide}, DType::bfloat16);
  band_->floor = k_.sbuf({kBlock, wide}, DType::bfloat16);
  k_.memset({.dst = nothing, .value = 0.0});
  k_.affine_select({.dst = band_->floor,
                    .pattern = {{1, wide}},
                    .channel_multiplier = -1,
                    .on_true_tile = nothing,
                    .on_false_value = kMask,
                    .cmp_op = AluOp::greater_equal,
                    .offset = -rows});
}

// Queries in groups: each meets only the keys that one of them sees.
void RegionEmitter::over_causal_groups(const Attention& a) {
  const std::int64_t N = graph_.type(a.scores).shape.back();
  const std::int64_t blocks = (layout_.partitions + kBlock - 1) / kBlock;
  const std::int64_t together = (blocks + kGroups - 1) / kGroups, rows = together * kBlock;
  if (!band_) make_band(together);
  for (std::int64_t first = 0; first < layout_.partitions; first += rows) {
    const std::int64_t count = std::min(rows, layout_.partitions - first);
    band_->first = std::min(N, first + *a.ahead);
    band_->keys = std::min(N, first + count + *a.ahead);
    if (a.back) band_->low = std::clamp<std::int64_t>((first - *a.back) / kBlock * kBlock, 0, N);
    k_.tiles(count, kBlock, [&](Index start, std::int64_t n) {
      band_->skip = rows - kBlock - start;
      if (a.back) band_->floor_skip = rows - start - (first - *a.back);
      body(first + start, n);
    });
  }
}

// Calls body(column, columns, mask) for the parts of a piece of scores that some query does not see.
void RegionEmitter::over_hidden(std::int64_t at, std::int64_t n,
                                const std::function<void(std::int64_t, std::int64_t, const View&)>& body) const {
  const auto over = [&](std::int64_t from, std::int64_t to, const View& mask, const Index& skip) {
    for (std::int64_t c = from; c < to;) {
      const std::int64_t end = std::min(to, at + ((c - at) / kBank + 1) * kBank);
      body(c - at, end - c, mask.slice(1, skip + c, end - c));
      c = end;
    }
  };
  over(std::max(at, band_->first), std::min(at + n, band_->keys), band_->mask, band_->skip - band_->first);
  if (!attention_->back) return;
  const std::int64_t end = band_->first - *attention_->ahead + band_->blocks * kBlock - *attention_->back;
  over(std::max(at, band_->low), std::min(at + n, end), band_->floor, band_->floor_skip);
}

// Adds the mask to the part of a piece of scores that some query does not see.
void RegionEmitter::hide(const View& sum, std::int64_t at, std::int64_t n) {
  over_hidden(at, n, [&](std::int64_t column, std::int64_t columns, const View& mask) {
    k_.nc_matmul(
        {.dst = sum.slice(1, column, columns), .stationary = band_->identity.slice(1, 0, rows_), .moving = mask});
  });
}

// Scores of columns [at, at + n) of a chunk that begins at `chunk`, into the chunk's tile with the largest of each row.
void RegionEmitter::score(const Attention& a, const Chunk& chunk, Index at, std::int64_t n, const View& largest) {
  const Tile x = turned_rows(a.scores);
  const std::int64_t K = graph_.type(graph_.op(a.scores).operands[0]).shape.back();
  const std::int64_t width = chunk.keys_width;
  const View sum = k_.psum({rows_, n}, DType::float32);
  const auto bank = [&](Index b0, std::int64_t m) {
    over_blocks(k_, K, [&](Index b, std::int64_t k) {
      k_.nc_matmul({.dst = sum.slice(1, b0, m),
                    .stationary = block(x, b, 0, k, rows_, rows_),
                    .moving = block(chunk.keys, b, chunk.keys_at + at + b0, k, m, width)});
    });
  };
  k_.tiles(n, kBank, bank);
  if (!a.function.empty()) return score_by_function(a, chunk, at, sum, largest);
  if (a.ahead && chunk.at.is_constant() && at.is_constant()) hide(sum, chunk.at.constant() + at.constant(), n);
  k_.tensor_scalar_reduce({.dst = view_of(chunk.seen, {{1, n}}, at),
                           .data = sum,
                           .op0 = AluOp::multiply,
                           .operand0 = 1.0,
                           .reduce_op = AluOp::maximum,
                           .reduce_res = largest});
}

// All scores of a chunk; the largest of each row.
Tile RegionEmitter::score_all(const Attention& a, const Chunk& chunk) {
  const std::int64_t n = chunk.size;
  std::int64_t plain = n;  // columns that every query sees
  if (a.back)
    plain = 0;
  else if (a.ahead && chunk.at.is_constant())
    plain = std::clamp<std::int64_t>((band_->first - chunk.at.constant()) / kPiece * kPiece, 0, n);
  const std::int64_t pieces = plain / kPiece + (n - plain / kPiece * kPiece + kPiece - 1) / kPiece;
  const Tile maxima = new_tile(k_, Memory::sbuf, rows_, {1, {pieces}}, DType::float32);
  const auto maximum = [&](Index p) { return view_of(maxima, {{1, 1}}, p); };
  const std::int64_t whole = plain / kPiece;
  if (whole == 1)
    score(a, chunk, 0, kPiece, maximum(0));
  else if (whole > 1)
    k_.loop(whole, [&](Index p) { score(a, chunk, p * kPiece, kPiece, maximum(p)); });
  for (std::int64_t at = whole * kPiece, p = whole; at < n; at += kPiece, ++p)
    score(a, chunk, at, std::min(kPiece, n - at), maximum(p));
  if (pieces == 1) return {maxima.storage, 0, {0, 1}, {}, rows_};
  const Tile largest = new_tile(k_, Memory::sbuf, rows_, {1, {1}}, DType::float32);
  k_.tensor_reduce(
      {.dst = column_of(largest), .op = AluOp::maximum, .data = view_of(maxima, {{1, pieces}}), .axis = {1}});
  return largest;
}

// exp(scores - m), summed up per row and multiplied with the values: into PSUM.
Tile RegionEmitter::weigh(const Attention& a, const Chunk& chunk, const Tile& bias, const Tile& total) {
  const std::int64_t n = chunk.size, D = graph_.type(a.result).shape.back();
  const DType t = graph_.type(graph_.op(a.result).operands[0]).dtype;
  const Tile weights = new_tile(k_, Memory::sbuf, rows_, {1, {n}}, t);
  k_.activation({.dst = view_of(weights, {{1, n}}),
                 .op = ActFn::exp,
                 .data = view_of(chunk.seen, {{1, n}}),
                 .bias = column_of(bias),
                 .scale = a.factor,
                 .reduce_op = AluOp::add,
                 .reduce_res = column_of(total),
                 .reduce_cmd = isa::ReduceCmd::reset_reduce});
  const Tile turned = new_tile(k_, Memory::sbuf, std::min(n, kBlock), {1, {(n + kBlock - 1) / kBlock * rows_}}, t);
  turner().tile(turned, weights, n);
  const Tile out = new_tile(k_, Memory::psum, rows_, free_of(a.result), DType::float32);
  over_blocks(k_, n, [&](Index b, std::int64_t k) {
    k_.nc_matmul({.dst = view_of(out, {{1, D}}),
                  .stationary = block(turned, b, 0, k, rows_, rows_),
                  .moving = block(chunk.values, chunk.values_at + b, 0, k, D, D)});
  });
  return out;
}

// Keys and values of a chunk: from tiles that hold all of them, or loaded now.
RegionEmitter::Chunk RegionEmitter::chunk_of(const Attention& a, Index at, std::int64_t n, Index first_block) {
  const int keys = layout_.load_of.at({a.scores, 1}), values = layout_.load_of.at({a.result, 1});
  Chunk c{.at = at, .size = n, .keys_at = at, .values_at = std::move(first_block)};
  c.keys_width = graph_.type(a.scores).shape.back();
  const auto held = [&](int leaf) -> const Tile* {
    for (const Scope& s : scopes_) {
      const auto it = s.matrices.find(leaf);
      if (it != s.matrices.end()) return &it->second;
    }
    return nullptr;
  };
  if (const Tile* all = held(keys)) {
    c.keys = *all;
  } else {
    c.keys = load_matrix(keys, at, n);
    c.keys_at = 0, c.keys_width = n;
  }
  if (a.few && key_blocks(a).follows) {
    c.values = load_following(values, key_blocks(a)), c.values_at = 0;
  } else if (const Tile* all = held(values)) {
    c.values = *all;
  } else {
    const Leaf& leaf = layout_.loads[values];
    const std::int64_t D = leaf.free[1].count, stride = leaf.free[0].stride;
    c.values = new_tile(k_, Memory::sbuf, std::min(n, kBlock), {1, {(n + kBlock - 1) / kBlock * D}},
                        graph_.type(leaf.value).dtype);
    Index place = storage_.begin(leaf.base) + leaf.offset + at * stride;
    for (std::size_t i = 0; i < at_.size(); ++i) place += at_[i] * leaf.loops[i];
    load_block(c.values, storage_.of.at(leaf.base), place, n, stride, D, leaf.free[1].stride);
    c.values_at = 0;
  }
  if (!a.few) c.seen = new_tile(k_, Memory::sbuf, rows_, {1, {n}}, graph_.type(a.seen).dtype);
  return c;
}

// The block's result, sums and maxima; the ops behind find them as values.
void RegionEmitter::attend(const Attention& a) {
  if (a.few) return attend_few(a);
  const std::int64_t N = a.ahead ? band_->keys : graph_.type(a.scores).shape.back();
  turned_rows(a.scores);
  for (Value v : a.columns) value(v);
  const auto column = [&] { return new_tile(k_, Memory::sbuf, rows_, {1, {1}}, DType::float32); };
  const auto negative = [&](const Tile& m) {
    const Tile out = column();
    k_.tensor_scalar({.dst = column_of(out), .data = column_of(m), .op0 = AluOp::multiply, .operand0 = -a.factor});
    return out;
  };
  const Free one = free_of(a.total);
  const auto as_column = [&](Tile t) {
    t.dims = Strided::contiguous(one.dims).dims;
    return t;
  };
  const auto leave = [&](const Tile& out, const Tile& total, const Tile& m) {
    auto& values = scopes_.back().values;
    values[a.result] = out, values[a.total] = as_column(total), values[a.largest] = as_column(m);
  };
  const std::int64_t low = a.back ? band_->low : 0;
  if (N - low <= options_.chunk) {
    const Chunk chunk = chunk_of(a, low, N - low, low / kBlock);
    const Tile m = score_all(a, chunk), total = column();
    const Tile out = weigh(a, chunk, negative(m), total);
    leave(out, total, m);
  } else {
    const Tile m = column(), total = column();
    const Tile sums = new_tile(k_, Memory::sbuf, rows_, free_of(a.result), DType::float32);
    k_.memset({.dst = column_of(m), .value = -std::numeric_limits<float>::max()});
    k_.memset({.dst = column_of(total), .value = 0.0});
    fill(sums, free_of(a.result), 0);
    const auto add = [&](Index at, std::int64_t n, Index first_block) {
      scopes_.emplace_back();
      const Chunk chunk = chunk_of(a, std::move(at), n, std::move(first_block));
      const Tile largest = score_all(a, chunk), now = column(), before = column();
      k_.tensor_copy({.dst = column_of(before), .src = column_of(m)});
      k_.tensor_tensor({.dst = column_of(m), .data1 = column_of(m), .data2 = column_of(largest), .op = AluOp::maximum});
      const Tile bias = negative(m), factor = column();
      k_.activation({.dst = column_of(factor),
                     .op = ActFn::exp,
                     .data = column_of(before),
                     .bias = column_of(bias),
                     .scale = a.factor});
      const Tile more = weigh(a, chunk, bias, now);
      k_.scalar_tensor_tensor({.dst = column_of(total),
                               .data = column_of(total),
                               .op0 = AluOp::multiply,
                               .operand0 = column_of(factor),
                               .op1 = AluOp::add,
                               .operand1 = column_of(now)});
      over(k_, {sums, sums, more}, free_of(a.result), [&](const std::vector<View>& t) {
        k_.scalar_tensor_tensor({.dst = t[0],
                                 .data = t[1],
                                 .op0 = AluOp::multiply,
                                 .operand0 = column_of(factor),
                                 .op1 = AluOp::add,
                                 .operand1 = t[2]});
      });
      scopes_.pop_back();
    };
    const std::int64_t blocks = options_.chunk / kBlock;
    // Chunks that every query of the block sees go in a loop, the others one by one.
    const std::int64_t plain = a.back ? 0 : (a.ahead ? std::min(N, band_->first) : N) / options_.chunk;
    if (plain > 0) k_.loop(plain, [&](Index i) { add(i * options_.chunk, options_.chunk, i * blocks); });
    for (std::int64_t at = a.back ? low : plain * options_.chunk; at < N; at += options_.chunk)
      add(at, std::min<std::int64_t>(options_.chunk, N - at), at / kBlock);
    leave(sums, total, m);
  }
  for (Value v : {a.scores, a.seen, a.between, a.weights}) scopes_.back().consumed.insert(v);
  scopes_.back().consumed.insert(a.function.begin(), a.function.end());
}

}  // namespace kiln::tensor
