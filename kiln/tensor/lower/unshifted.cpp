// softmax(scores) v with exp(scores) as they are, not shifted by the largest of each row. Keys lie on partitions, so
// the weights need no turning, only the result does. That is exact while the sums of all rows are numbers of a moderate
// size; where one is not, everything is computed again with the largest scores (attention.cpp).
#include <algorithm>
#include <deque>

#include "kiln/tensor/lower/running_sum.h"
#include "kiln/tensor/lower/score_function.h"
#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {

using isa::Index;
using isa::View;

using WeightSums = RegionOptions::WeightSums;

namespace {

constexpr std::int64_t kBank = 512;       // columns of float32 in a bank of PSUM
constexpr std::int64_t kFewest = 256;     // queries: below, whole rows are as quick
constexpr std::int64_t kTogether = 8;     // pairs of blocks of keys in a pass of a loop
constexpr std::int64_t kGroups = 16;      // of queries at most, under a causal mask
constexpr std::int64_t kHeld = 80 << 10;  // bytes per partition of keys, and of values
constexpr int kMostOnGpsimd = 6;          // pairs of blocks of weights of which gpsimd adds up all but one
constexpr std::size_t kAhead = 2;         // keys whose weights are made before the values of others are added
constexpr std::size_t kUnweighed = 8;     // keys whose weights are made together where the scalar engine changes tables
constexpr double kMask = -1e30;           // what is added to a score that nobody sees
// Sums of weights between these are exact: the largest score of the row is between -30 and 60, and what is less than
// its weight by a factor of 2^24 is a normal number of float32.
constexpr double kSmallest = 1e-9, kLargest = 1e26;

View part(const View& t, std::int64_t rows, const Index& at, std::int64_t columns) {
  return t.ap({{t.dim(1), rows}, {1, columns}}, at);
}

}  // namespace

// Whether the sums divide the result and nothing else reads them or the largest scores: then a factor per row cancels.
bool RegionEmitter::is_quotient(const Attention& a) const {
  const auto next = [&](Value v) { return uses_[v] == 1 && users_[v].size() == 1 ? users_[v][0] : v; };
  const auto behind_casts = [&](Value v) {  // the first reader that computes
    for (Value u = next(v); u != v; u = next(v)) {
      const OpCode code = graph_.op(u).code;
      if (code != OpCode::cast && !is_view(code)) return u;
      v = u;
    }
    return v;
  };
  Value shift = behind_casts(a.largest);
  if (graph_.op(shift).code == OpCode::multiply) shift = behind_casts(shift);
  const Value inverse = behind_casts(a.total);
  if (graph_.op(shift).code != OpCode::subtract || graph_.op(inverse).code != OpCode::reciprocal) return false;
  const Value quotient = behind_casts(inverse);
  return graph_.op(quotient).code == OpCode::multiply && behind_casts(a.result) == quotient;
}

bool RegionEmitter::goes_unshifted(const Attention& a) const {
  if (layout_.packed != 1 || layout_.partitions < kFewest || !options_.unshifted || storage_.is_alike ||
      !is_quotient(a))
    return false;
  const DType t = graph_.type(graph_.op(a.result).operands[0]).dtype;
  if (t != DType::bfloat16 && t != DType::float32) return false;  // float16 ends at 65504
  const std::int64_t N = graph_.type(a.scores).shape.back(), D = graph_.type(a.result).shape.back();
  const std::int64_t K = graph_.type(graph_.op(a.scores).operands[0]).shape.back();
  const std::int64_t blocks = (N + kBlock - 1) / kBlock, wide = D < kBlock ? D + 1 : D;
  const std::int64_t keys = N * size_bytes(graph_.type(graph_.op(a.scores).operands[1]).dtype);
  const std::int64_t values = blocks * wide * size_bytes(graph_.type(graph_.op(a.result).operands[1]).dtype);
  if (K > kBlock || D > kBlock || keys > kHeld || values > kHeld) return false;
  if (!a.function.empty() && !is_turnable(a)) return false;
  return !a.ahead || a.back || layout_.partitions <= kGroups * kQueries;
}

// The values, with a column of ones behind them where sums are counted: their product with the weights then has the
// sums in its last row.
Tile RegionEmitter::load_values(int index) {
  const Leaf& leaf = layout_.loads[index];
  const std::int64_t N = leaf.free[0].count, D = leaf.free[1].count, stride = leaf.free[0].stride;
  const std::int64_t keys = unshifted_->keys, wide = unshifted_->counted || unshifted_->held ? D + 1 : D;
  const std::int64_t whole = N / keys, blocks = (N + keys - 1) / keys;
  const Tile out = new_tile(k_, Memory::sbuf, std::min(N, keys), {1, {blocks * wide}}, graph_.type(leaf.value).dtype);
  const std::int64_t row = out.storage.dim(1);
  if (const KeptShape* in_blocks = kept_blocks(leaf.base)) {
    if (wide > D) k_.memset({.dst = out.storage.ap({{row, out.rows}, {wide, blocks}}, D), .value = 1.0});
    copy_blocks(out, *in_blocks, leaf, wide);
    return out;
  }
  Index at = storage_.begin(leaf.base) + leaf.offset;
  for (std::size_t i = 0; i < at_.size(); ++i) at += at_[i] * leaf.loops[i];
  const View& hbm = storage_.of.at(leaf.base);
  if (wide > D) k_.memset({.dst = out.storage.ap({{row, out.rows}, {wide, blocks}}, D), .value = 1.0});
  if (whole)
    k_.dma_copy({.dst = out.storage.ap({{row, keys}, {wide, whole}, {1, D}}),
                 .src = hbm.ap({{stride, keys}, {stride * keys, whole}, {1, D}}, at)});
  if (const std::int64_t rest = N % keys)
    k_.dma_copy({.dst = out.storage.ap({{row, rest}, {1, D}}, whole * wide),
                 .src = hbm.ap({{stride, rest}, {1, D}}, at + whole * keys * stride)});
  return out;
}

namespace {

// The size of as few blocks of at most 128 as there can be, if all of them have it; else 128.
std::int64_t even_block(std::int64_t n) {
  constexpr std::int64_t kMost = 2;  // blocks more than the fewest
  const std::int64_t fewest = (n + kBlock - 1) / kBlock;
  for (std::int64_t blocks = fewest; blocks <= fewest + kMost; ++blocks) {
    if (n % blocks == 0 && 4 * (n / blocks) >= 3 * kBlock) return n / blocks;
  }
  return kBlock;
}

}  // namespace

// Of results and sums of weights that are turned: those that are rounded at once may be rounded before.
DType RegionEmitter::dtype_of_turned(const Attention& a) const {
  const auto& readers = users_[a.total];
  const bool rounded = readers.size() == 1 && graph_.op(readers[0]).code == OpCode::cast &&
                       size_bytes(graph_.type(readers[0]).dtype) == 2;
  const DType total = graph_.type(rounded ? readers[0] : a.total).dtype, result = graph_.type(a.result).dtype;
  return size_bytes(total) == 4 || size_bytes(result) == 4 ? DType::float32 : DType::bfloat16;
}

// The whole region: first without the largest scores, then, if a row needs them, with them.
void RegionEmitter::emit_unshifted() {
  const Attention& a = *attention_;
  Unshifted u;
  u.counted = graph_.type(a.result).shape.back() < kBlock;
  u.term = find_score_term(a);
  const auto holds = [&] {  // gpsimd adds up the weights of scores with a term, where it does not keep others waiting
    const bool narrow = size_bytes(graph_.type(graph_.op(a.result).operands[0]).dtype) == 2;
    return u.term ? !arch_.features.separate_ports && narrow : options_.weight_sums == WeightSums::held;
  };
  u.held = !u.counted && holds();
  u.left_by_scalar = u.term && !u.term->hides && !u.counted;
  const auto in_blocks = [&](Value v, int i) { return kept_blocks(layout_.loads[layout_.load_of.at({v, i})].base); };
  const bool finds = layout_.load_of.contains({a.scores, 0}) && in_blocks(a.scores, 0);
  if (!a.ahead && !finds && !in_blocks(a.scores, 1) && !in_blocks(a.result, 1) &&
      !kept_blocks(layout_.stores[0].value)) {
    if (u.counted || u.held) u.keys = even_block(graph_.type(a.scores).shape.back());
    u.queries = even_block(layout_.partitions);
  }
  u.turned = dtype_of_turned(a);
  u.fine = k_.sbuf({kBlock, kQueries / kBlock}, DType::float32);
  u.finite = k_.sbuf({kBlock, u.held ? kQueries / kBlock : 1}, DType::float32);
  u.ones = k_.sbuf({kBlock, 1}, u.turned);
  k_.memset({.dst = u.fine, .value = 1.0});
  k_.memset({.dst = u.finite, .value = 0.0});
  k_.memset({.dst = u.ones, .value = 1.0});
  if (a.ahead) make_edge(u);
  const auto counts = [&] {
    const WeightSums sums = u.term ? WeightSums::gpsimd : WeightSums{options_.weight_sums};
    return a.back || ((sums == WeightSums::half || sums == WeightSums::tensor) && a.ahead.value_or(0) % kBlock == 0);
  };
  if (!u.counted && !u.held && counts()) {
    u.counts = k_.sbuf({kBlock, 1}, graph_.type(graph_.op(a.result).operands[0]).dtype);
    k_.memset({.dst = *u.counts, .value = 1.0});
  }
  unshifted_ = u;
  unshifted_->follow = u.held ? !a.ahead && stores_rows(a) : stores_together(a) || (u.term && stores_rows(a));
  const auto all = [&] {
    scopes_.emplace_back();
    hoist(0);
    nest(0);
    scopes_.pop_back();
  };
  all();
  unshifted_.reset();
  functions_.clear(), function_operands_.clear(), group_operands_.clear();
  const isa::Reg again = ask_again(u);
  if (!options_.whole) return;
  k_.fori_loop(0, again, [&](isa::Reg) {
    k_.usually(0);
    all();
  });
}

// The edge of a causal mask: the key of a partition is seen by the query of a column unless it comes behind it. A
// window has two: of 256 columns, the first 128 of them before the first query that sees a key, and from the last query
// on that sees all keys.
void RegionEmitter::make_edge(Unshifted& u) {
  const bool window = attention_->back.has_value(), plain = attention_->function.empty();
  const std::int64_t wide = window ? 2 * kBlock : kBlock;
  const auto filled = [&](std::int64_t columns, double x) {
    const View t = k_.sbuf({kBlock, columns}, DType::bfloat16);
    k_.memset({.dst = t, .value = x});
    return t;
  };
  const View seen = filled(wide, plain ? 0.0 : 1.0);
  // seen where sign * (column - offset - partition) >= 0
  const auto edge = [&](int sign, std::int64_t offset) {
    const View out = k_.sbuf({kBlock, wide}, DType::bfloat16);
    k_.affine_select({.dst = out,
                      .pattern = {{sign, wide}},
                      .channel_multiplier = -sign,
                      .on_true_tile = seen,
                      .on_false_value = plain ? kMask : 0.0,
                      .cmp_op = AluOp::greater_equal,
                      .offset = -sign * offset});
    return out;
  };
  const View upper = edge(1, window ? kBlock : 0);
  (plain ? u.edge : u.seen_edge) = upper;
  if (window) (plain ? u.floor : u.seen_floor) = edge(-1, 0);
  if (!plain) return;
  u.identity = k_.sbuf({kBlock, kBlock}, DType::bfloat16);
  k_.affine_select({.dst = u.identity,
                    .pattern = {{-1, kBlock}},
                    .channel_multiplier = 1,
                    .on_true_tile = filled(kBlock, 1.0),
                    .on_false_value = 0.0,
                    .cmp_op = AluOp::equal});
}

// 1 when a sum was out of range or a result no number, else 0.
isa::Reg RegionEmitter::ask_again(const Unshifted& u) {
  const View fine = k_.sbuf({kBlock, 1}, DType::float32), bad = k_.sbuf({kBlock, 1}, DType::float32);
  k_.tensor_reduce({.dst = fine, .op = AluOp::minimum, .data = u.fine, .axis = {1}});
  View finite = u.finite;
  if (finite.dim(1) > 1) {
    finite = k_.sbuf({kBlock, 1}, DType::float32);
    k_.tensor_reduce({.dst = finite, .op = AluOp::add, .data = u.finite, .axis = {1}});
  }
  k_.scalar_tensor_tensor(
      {.dst = fine, .data = finite, .op0 = AluOp::equal, .operand0 = 0.0, .op1 = AluOp::multiply, .operand1 = fine});
  k_.tensor_scalar({.dst = bad, .data = fine, .op0 = AluOp::equal, .operand0 = 0.0});
  const View ones = k_.sbuf({kBlock, 1}, DType::float32), count = k_.psum({1, 1}, DType::float32);
  k_.memset({.dst = ones, .value = 1.0});
  k_.nc_matmul({.dst = count, .stationary = bad, .moving = ones});
  const View any = k_.sbuf({1, 1}, DType::int32);
  k_.tensor_scalar({.dst = any, .data = count, .op0 = AluOp::greater, .operand0 = 0.5});
  const isa::Reg again = k_.reg();
  k_.register_load({.dst = again, .src = any});
  return again;
}

// The first query and the number of queries of each group.
std::vector<std::pair<std::int64_t, std::int64_t>> RegionEmitter::query_groups(const Attention& a) const {
  const std::int64_t queries = layout_.partitions, m = unshifted_->queries, whole = queries / m * m, blocks = whole / m;
  const std::int64_t groups = std::max<std::int64_t>(1, (blocks + 3) / 4);
  const std::int64_t most = a.ahead ? kQueries : (blocks + groups - 1) / groups * m;
  std::vector<std::pair<std::int64_t, std::int64_t>> out;
  for (std::int64_t first = 0; first < whole; first += most) out.emplace_back(first, std::min(most, whole - first));
  if (queries > whole) out.emplace_back(whole, queries - whole);
  return out;
}

// Queries in groups of up to 512. Under a causal mask each group is written out: it has its own keys.
void RegionEmitter::over_query_groups(const Attention& a) {
  if (a.back) return over_windows(a);
  if (const ScoreTerm* t = unshifted_->term.get(); t && (t->by_group || t->parts.size() > 1)) {
    for (const auto& [start, n] : t->groups()) {
      if (t->by_group) load_score_term(start, n);
      attend_group(a, start, n);
    }
    return;
  }
  const std::int64_t queries = layout_.partitions, m = unshifted_->queries, whole = queries / m * m;
  if (a.ahead) {
    for (std::int64_t first = 0; first < whole; first += kQueries)
      attend_group(a, first, std::min(kQueries, whole - first));
  } else {
    const std::int64_t blocks = whole / m, groups = (blocks + 3) / 4;
    k_.tiles(whole, (blocks + groups - 1) / std::max<std::int64_t>(1, groups) * m,
             [&](Index first, std::int64_t n) { attend_group(a, first, n); });
  }
  if (queries > whole) attend_group(a, whole, queries - whole);
}

// The queries of a group as columns.
Tile RegionEmitter::turned_queries(const Attention& a, const Index& start, std::int64_t n, std::int64_t m) {
  const Value x = graph_.op(a.scores).operands[0];
  const std::int64_t K = graph_.type(x).shape.back();
  const Tile out = new_tile(k_, Memory::sbuf, K, {1, {n}}, graph_.type(x).dtype);
  const auto leaf = layout_.load_of.find({a.scores, 0});
  const Leaf* found = leaf == layout_.load_of.end() ? nullptr : &layout_.loads[leaf->second];
  if (const KeptShape* in_blocks = found ? kept_blocks(found->base) : nullptr; in_blocks && n % kBlock == 0) {
    start_ = start;
    turn_blocks(out, *in_blocks, storage_.kept.at(found->base).storage, place_in_row(*found), 0, n / kBlock);
    return out;
  }
  const bool together = turns_in_dma(a.scores, n);  // no rows on partitions on the way
  for (std::int64_t at = 0; at < n; at += together ? n : m) {
    start_ = start + at, rows_ = together ? n : m;
    Tile part = out;
    part.offset += at;
    scopes_.emplace_back();
    turn_rows(a.scores, part);
    scopes_.pop_back();
  }
  return out;
}

// exp(scores) of some keys: (keys, blocks of them, queries).
Tile RegionEmitter::weigh_keys(const Attention& a, const Keys& keys, const Index& start, const Tile& queries) {
  const Unshifted& u = *unshifted_;
  const std::int64_t n = queries.storage.dim(1), K = queries.rows, N = graph_.type(a.scores).shape.back();
  const std::int64_t seen = (keys.to < 0 ? n : keys.to) - keys.from, apart = keys.blocks > 1 ? kBank : n;
  const Tile& all = held_matrix(layout_.load_of.at({a.scores, 1}));
  const View scores = k_.psum({keys.count, keys.blocks * apart}, DType::float32);
  for (std::int64_t b = 0; b < keys.blocks; ++b)
    k_.nc_matmul({.dst = part(scores, keys.count, b * apart + keys.from, seen),
                  .stationary = block(all, 0, (keys.block + b) * u.keys, K, keys.count, N),
                  .moving = part(queries.storage, K, keys.from, seen)});
  const bool plain = a.function.empty();
  if (u.term) add_term_by_product(keys, start, n, scores, apart);
  // The parts of these keys that an end of the mask hides from some queries: column, columns, where in the mask.
  const auto over_ends = [&](const auto& body) {
    const std::int64_t end = keys.from + seen, room = a.back ? kBlock : 0;
    if (keys.edge) {
      const std::int64_t to = std::min(end, *keys.edge + kBlock);
      if (to > keys.from) body(keys.from, to - keys.from, plain ? u.edge : u.seen_edge, keys.from - *keys.edge + room);
    }
    if (keys.floor) {
      const std::int64_t from = std::max(keys.from, *keys.floor + 1);
      if (end > from) body(from, end - from, plain ? u.floor : u.seen_floor, from - *keys.floor);
    }
  };
  if (plain)
    over_ends([&](std::int64_t at, std::int64_t columns, const View& mask, std::int64_t skip) {
      k_.nc_matmul({.dst = part(scores, keys.count, at, columns),
                    .stationary = part(u.identity, kBlock, 0, keys.count),
                    .moving = part(mask, kBlock, skip, columns)});
    });
  const DType t = graph_.type(graph_.op(a.result).operands[0]).dtype;
  const Tile weights = new_tile(k_, Memory::sbuf, keys.count, {1, {keys.blocks * n}}, t);
  const auto span = [&](const View& v, std::int64_t stride) {
    return v.ap({{v.dim(1), keys.count}, {stride, keys.blocks}, {1, seen}}, keys.from);
  };
  const auto take_exp = [this, scale = a.factor](const View& dst, const View& data) {
    k_.activation({.dst = dst, .op = ActFn::exp, .data = data, .scale = scale});
  };
  if (plain) {
    take_exp(span(weights.storage, n), span(scores, apart));
    return weights;
  }
  std::vector<std::pair<View, View>> ends;  // weights and the mask that they are multiplied with
  over_ends([&](std::int64_t at, std::int64_t columns, const View& mask, std::int64_t skip) {
    ends.emplace_back(part(weights.storage, keys.count, at, columns), part(mask, keys.count, skip, columns));
  });
  const auto hide_ends = [this, ends] {
    for (const auto& [end, mask] : ends)
      k_.tensor_tensor({.dst = end, .data1 = end, .data2 = mask, .op = AluOp::multiply});
  };
  if (u.term) {
    weigh_with_term(keys, start, n, scores, span(scores, apart), span(weights.storage, n));
    hide_ends();
    return weights;
  }
  if (!loads_tables(a)) {
    weigh_by_function(a, keys, start, scores, apart, weights);
    hide_ends();
    return weights;
  }
  const Tile inner = new_tile(k_, Memory::sbuf, keys.count, {1, {keys.blocks * n}}, DType::float32);
  weigh_by_function(a, keys, start, scores, apart, inner);
  unweighed_.emplace_back([=, to = span(weights.storage, n), from = span(inner.storage, n)] {
    take_exp(to, from);
    hide_ends();
  });
  return weights;
}

// Whether the weights of more keys are made together with those that are left.
bool RegionEmitter::waits_for_more() const { return !unweighed_.empty() && unweighed_.size() < kUnweighed; }

void RegionEmitter::weigh_those_left() {
  for (const auto& weigh : unweighed_) weigh();
  unweighed_.clear();
}

// Adds the values of some keys, weighted, to `product`: (depth, queries).
void RegionEmitter::add_values(const Attention& a, const Keys& keys, const Tile& weights, const View& product) {
  const std::int64_t n = product.dim(1), D = product.dim(0), seen = (keys.to < 0 ? n : keys.to) - keys.from;
  const Tile& values = held_matrix(layout_.load_of.at({a.result, 1}));
  for (std::int64_t b = 0; b < keys.blocks; ++b)
    k_.nc_matmul({.dst = part(product, D, keys.from, seen),
                  .stationary = block(values, keys.block + b, 0, keys.count, D, D),
                  .moving = part(weights.storage, keys.count, b * n + keys.from, seen)});
}

// Adds up the weights of some keys per query: (queries of a block, blocks). A block of weights is what the tensor
// engine holds, and meets one column.
void RegionEmitter::count_weights(const Keys& keys, const Tile& weights, const View& totals) {
  const Unshifted& u = *unshifted_;
  const std::int64_t blocks = totals.dim(1), m = totals.dim(0), n = blocks * m;
  const std::int64_t apart = u.follow ? blocks : 1, next = u.follow ? 1 : m, wide = weights.storage.dim(1);
  for (std::int64_t b = 0; b < keys.blocks; ++b) {
    for (std::int64_t q = keys.from / m; q * m < (keys.to < 0 ? n : keys.to); ++q)
      k_.nc_matmul({.dst = totals.ap({{blocks, m}, {1, 1}}, q),
                    .stationary = weights.storage.ap({{wide, keys.count}, {apart, m}}, b * n + q * next),
                    .moving = part(*u.counts, keys.count, 0, 1)});
  }
}

// All keys that a group of queries sees: first those that all of its queries see, several blocks at a time.
void RegionEmitter::weigh_all(const Attention& a, const Index& start, const Tile& queries, const AddWeights& add) {
  const std::int64_t N = graph_.type(a.scores).shape.back(), n = queries.storage.dim(1);
  const std::int64_t first = a.ahead ? start.constant() + *a.ahead : N;  // the last key that all see
  const std::int64_t size = unshifted_->keys,
                     together = unshifted_->sums_alone() ? 2 : std::int64_t{options_.key_blocks};
  const std::int64_t plain = std::min(N, first + 1) / size, end = std::min(N, first + n);
  // The tensor engine goes on with the scores of the next keys while weights are made of these.
  std::deque<std::pair<Keys, Tile>> waiting;
  const auto finish = [&](std::size_t left) {
    weigh_those_left();
    for (; waiting.size() > left; waiting.pop_front()) add(waiting.front().first, waiting.front().second);
  };
  const auto weigh = [&](const Keys& keys) {
    waiting.emplace_back(keys, weigh_keys(a, keys, start, queries));
    if (!waits_for_more()) finish(together > 2 ? 1 : a.function.empty() ? kAhead : kAhead + 1);
  };
  const auto pairs = [&](const Index& at, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) weigh({.block = at + together * i, .blocks = together, .count = size});
  };
  // A loop when there are many; what is added up begins before it.
  const std::int64_t count = plain / together, before = std::min(count, kTogether),
                     passes = (count - before) / kTogether;
  pairs(0, before);
  if (passes > 1) {
    finish(0);
    k_.loop(passes, [&](Index p) {
      pairs((p + 1) * (together * kTogether), kTogether);
      finish(0);
    });
  }
  const std::int64_t done = passes > 1 ? before + passes * kTogether : before;
  pairs(together * done, count - done);
  std::int64_t b = together * count;
  if (!a.ahead && plain - b > 1) weigh({.block = b, .blocks = plain - b, .count = size}), b = plain;
  for (; b * size < end; ++b) {
    const std::int64_t keys = std::min(size, end - b * size), edge = b * size - first;
    if (a.ahead && b >= plain && edge + keys > 1)
      weigh({.block = b, .count = keys, .from = std::max<std::int64_t>(0, edge), .edge = edge});
    else
      weigh({.block = b, .count = keys});
  }
  finish(0);
}

// Whether the results of several blocks of queries are stored as they are, row by row.
bool RegionEmitter::stores_rows(const Attention& a) const {
  if (!stores_quotient_alone(a)) return false;
  const Leaf& leaf = layout_.stores[0];
  std::vector<Dims> one{leaf.free};
  join_together(one);
  return !kept_result(leaf) && leaf.partition > 0 && one[0].size() == 1 && one[0][0].stride == 1 &&
         one[0][0].count == graph_.type(a.result).shape.back();
}

// Whether the queries of a group may follow each other on partitions, so that DMAs store long runs. Under a mask blocks
// of queries that see no key of a block are not counted with it on the tensor engine.
bool RegionEmitter::stores_together(const Attention& a) const {
  return !a.back && !(a.ahead && unshifted_->counts) && stores_rows(a) && options_.stores_together;
}

// Divides the results of a group of queries, (queries, those that follow, elements), by the sums of weights.
void RegionEmitter::store_together(const Attention& a, const Tile& turned, const Tile& totals) {
  const std::int64_t m = turned.rows, blocks = turned.dims[0].count, D = graph_.type(a.result).shape.back();
  const Leaf& leaf = layout_.stores[0];
  const View inverse = k_.sbuf({m, blocks}, DType::float32);
  const View out = k_.sbuf({m, blocks * D}, graph_.type(leaf.value).dtype);
  k_.reciprocal({.dst = inverse, .data = view_of(totals, totals.dims)});
  const View rows = out.ap({{blocks * D, m}, {D, blocks}, {1, D}});
  k_.tensor_tensor({.dst = rows,
                    .data1 = view_of(turned, turned.dims),
                    .data2 = inverse.ap({{blocks, m}, {1, blocks}, {0, D}}),
                    .op = AluOp::multiply,
                    .engine = Engine::vector});
  const View& hbm = leaf.output >= 0 ? storage_.outputs[leaf.output] : storage_.of.at(leaf.base);
  k_.dma_copy(
      {.dst = hbm.ap({{blocks * leaf.partition, m}, {leaf.partition, blocks}, {1, D}}, place(leaf)), .src = rows});
}

void RegionEmitter::attend_group(const Attention& a, const Index& start, std::int64_t n) {
  const Unshifted& u = *unshifted_;
  const std::int64_t outer = rows_, m = std::min(n, u.queries), blocks = n / m;
  const std::int64_t D = graph_.type(a.result).shape.back(), wide = u.counted ? D + 1 : D;
  const std::int64_t apart = (wide + 1) / 2 * 2;
  group_operands_.clear();
  const Tile queries = turned_queries(a, start, n, m);
  const auto weigh = [&](const AddWeights& add) {
    if (a.back)
      weigh_window(a, start, queries, add);
    else
      weigh_all(a, start, queries, add);
  };
  if (u.held) {
    attend_with_held_weights(a, start, n, weigh);
    rows_ = outer;
    return;
  }
  const View product = k_.psum({wide, n}, DType::float32);
  std::optional<RunningSum> sum;
  const bool on_tensor = u.counts.has_value();
  if (!u.counted && !a.back && (u.term || options_.weight_sums != WeightSums::tensor))
    sum.emplace(k_, n, u.term ? 0 : options_.weight_sums == WeightSums::gpsimd ? kMostOnGpsimd : 2);
  const View counted = on_tensor ? k_.psum({m, blocks}, DType::float32) : View();
  int added = 0;
  weigh([&](const Keys& keys, const Tile& weights) {
    add_values(a, keys, weights, product);
    if (on_tensor && (!sum || keys.blocks == 1 || ++added % 2 == 0))
      count_weights(keys, weights, counted);
    else if (sum)
      sum->add(weights, keys.blocks, keys.from);
  });
  // Out of PSUM, with a sum that is no number when one of the results is none.
  const View left = k_.sbuf({wide, n}, u.turned), finite = k_.sbuf({wide, 1}, DType::float32);
  if (u.left_by_scalar)
    k_.activation({.dst = left,
                   .op = ActFn::copy,
                   .data = product,
                   .reduce_op = AluOp::add,
                   .reduce_res = finite,
                   .reduce_cmd = isa::ReduceCmd::reset_reduce});
  else
    k_.tensor_scalar_reduce({.dst = left,
                             .data = product,
                             .op0 = AluOp::multiply,
                             .operand0 = 1.0,
                             .reduce_op = AluOp::add,
                             .reduce_res = finite});
  k_.scalar_tensor_tensor({.dst = u.finite.slice(0, 0, wide),
                           .data = finite,
                           .op0 = AluOp::multiply,
                           .operand0 = 0.0,
                           .op1 = AluOp::add,
                           .operand1 = u.finite.slice(0, 0, wide)});
  const View turned = k_.psum({m, blocks * apart}, u.turned);
  for (std::int64_t b = 0; b < blocks; ++b)
    k_.nc_transpose({.dst = turned.ap({{blocks * apart, m}, {1, wide}}, b * apart),
                     .data = left.ap({{n, wide}, {u.follow ? blocks : 1, m}}, u.follow ? b : b * m)});
  Tile totals{turned, D, {0, 1}, {{apart, blocks}}, m};
  if (sum && !(on_tensor && sum->is_empty()))
    totals = sum->columns(m, u.ones, u.follow, on_tensor ? &counted : nullptr);
  if (on_tensor) totals = {counted, 0, {0, 1}, {{1, blocks}}, m};
  for (const auto& [compare, limit] : {std::pair(AluOp::greater_equal, kSmallest), {AluOp::less_equal, kLargest}}) {
    const View fine = u.fine.ap({{u.fine.dim(1), m}, {1, blocks}});
    k_.scalar_tensor_tensor({.dst = fine,
                             .data = view_of(totals, totals.dims),
                             .op0 = compare,
                             .operand0 = limit,
                             .op1 = AluOp::multiply,
                             .operand1 = fine});
  }
  if (u.follow) {
    start_ = start;
    store_together(a, {turned, 0, {0, 1}, {{apart, blocks}, {1, D}}, m}, totals);
  }
  for (std::int64_t b = 0; b < blocks && !u.follow; ++b) {
    start_ = start + b * m, rows_ = m;
    Scope& scope = scopes_.emplace_back();
    const Index column = totals.offset + b * totals.dims[0].stride;
    scope.values[a.result] = {turned, b * apart, {0, 1}, Strided::contiguous(free_of(a.result).dims).dims, m};
    scope.values[a.total] = {totals.storage, column, {0, 1}, Strided::contiguous(free_of(a.total).dims).dims, m};
    for (Value v : {a.scores, a.seen, a.weights, a.largest}) scope.consumed.insert(v);
    scope.consumed.insert(a.function.begin(), a.function.end());
    store_all();
    scopes_.pop_back();
  }
  rows_ = outer;
}

}  // namespace kiln::tensor
