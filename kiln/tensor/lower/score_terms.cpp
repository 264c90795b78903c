// Attention without the largest scores (unshifted.cpp) to whose scores something is added for each pair of a query and
// a key, the same for all heads: a bias, or what hides a key where a mask of truth says so. It lies in SBUF with keys
// on partitions. The vector engine adds it while scores leave PSUM, or the tensor engine as a product with the
// identity.
#include <cmath>

#include "kiln/tensor/lower/heads_together.h"
#include "kiln/tensor/lower/score_function.h"

namespace kiln::tensor {

using isa::Index;
using isa::View;

namespace {

// Of eight pairs of blocks of keys, those that the tensor engine has: a bias takes it two products, unless scores have
// a power of two for a factor. It has half of them where it holds weights, or values with a column of ones: the vector
// engine is the slowest there.
constexpr int kPairsOfShare = 8, kTwiceOfTensor = 1, kOnceOfTensor = 2, kHalfOfTensor = 4;

constexpr std::int64_t kBesideWide = 88 << 10;  // bytes of a partition beside it where weights have 32 bits

bool is_power_of_two(double x) {
  int exponent = 0;
  return std::frexp(std::abs(x), &exponent) == 0.5;
}

}  // namespace

// The one term that the function of scores adds, where it lies in SBUF for all heads.
std::shared_ptr<RegionEmitter::ScoreTerm> RegionEmitter::find_score_term(const Attention& a) const {
  if (a.function.empty() || a.back) return nullptr;
  Together found{.a = a};
  if (!find_terms(found) || found.bias >= 0 || found.pairs.size() != 1 || !(found.a.factor > 0)) return nullptr;
  const PairTerm& pair = found.pairs[0];
  const DType t = graph_.type(layout_.loads[pair.load].value).dtype;
  auto out = std::make_shared<ScoreTerm>();
  for (const FunctionLeaf& l : leaves_of_function(a)) {
    if (l.load == pair.load) out->leaf = l;
  }
  const std::int64_t N = graph_.type(a.scores).shape.back();
  out->hides = pair.hides, out->scale = found.a.factor, out->factor = pair.factor;
  out->dtype = pair.hides ? DType::bfloat16 : t;
  if (out->leaf.level != 0 || out->leaf.key != 1 || out->leaf.query <= 1) return nullptr;
  const bool wide = size_bytes(graph_.type(graph_.op(a.result).operands[0]).dtype) > 2;
  const std::int64_t beside = arch_.sbuf_partition_bytes - (wide ? kBesideWide : 0);
  const std::int64_t room = out->dtype == DType::float32 ? std::min(kHeldTerm, beside) : kHeldOperand;
  out->most = room / ((N + kBlock - 1) / kBlock * size_bytes(out->dtype));
  // All queries, or where heads go by several times, those of a group.
  const bool in_parts = layout_.loops.size() == 1 && layout_.loops[0] > 1;
  const std::int64_t held = in_parts ? std::min(layout_.partitions, kQueries) : layout_.partitions;
  if (held > out->most) return nullptr;
  if (!(out->factor > 0) || !(out->dtype == DType::bfloat16 || out->dtype == DType::float32)) return nullptr;
  const bool is_narrow = graph_.type(graph_.op(a.scores).operands[0]).dtype == DType::bfloat16;
  if (!is_narrow || !options_.terms_added) return nullptr;
  return out;
}

void RegionEmitter::make_identity(ScoreTerm& t) {
  const View ones = k_.sbuf({kBlock, kBlock}, DType::bfloat16);
  t.identity = k_.sbuf({kBlock, kBlock}, DType::bfloat16);
  k_.memset({.dst = ones, .value = 1.0});
  k_.affine_select({.dst = t.identity,
                    .pattern = {{-1, kBlock}},
                    .channel_multiplier = 1,
                    .on_true_tile = ones,
                    .on_false_value = 0.0,
                    .cmp_op = AluOp::equal});
}

// Blocks of keys that all queries of a group see.
std::int64_t RegionEmitter::blocks_for_all(std::int64_t start) const {
  const std::int64_t N = graph_.type(attention_->scores).shape.back(), ahead = attention_->ahead.value_or(N);
  return std::clamp<std::int64_t>(start + ahead + 1, 0, N) / unshifted_->keys;
}

// What the engines do of it. It is held for all queries, or in parts, for each of which all heads go by; it is loaded
// by the first head, which begins as soon as its first queries have what is added to them.
void RegionEmitter::hold_score_term() {
  ScoreTerm& t = *unshifted_->term;
  const std::int64_t N = graph_.type(attention_->scores).shape.back();
  t.keys = unshifted_->keys, t.blocks = (N + t.keys - 1) / t.keys;
  const double in_scores = t.factor / t.scale;
  const bool once = t.hides || is_power_of_two(in_scores);  // one product
  const bool half = unshifted_->held || (once && unshifted_->counted);
  const int share = half ? kHalfOfTensor : once ? kOnceOfTensor : kTwiceOfTensor;
  const auto groups = query_groups(*attention_);
  const std::int64_t pairs = t.dtype == DType::float32 ? 0 : blocks_for_all(groups.back().first) / 2;
  for (std::int64_t i = 0; i < pairs; ++i) {
    if ((i + 1) * share / kPairsOfShare > i * share / kPairsOfShare) t.of_tensor.push_back(2 * i);
  }
  t.in_low = !t.hides && !once;
  if (t.blocks_of_tensor()) make_identity(t);
  t.by_group = !t.hides && layout_.loops.size() <= 1;  // masks keep the engines busy that turn them
  t.parts.clear();
  for (const auto& group : groups) {
    if (t.parts.empty() || group.first + group.second - t.parts.back()[0].first > t.most) t.parts.emplace_back();
    t.parts.back().push_back(group);
  }
  if (t.parts.size() == 1) hold_part(0);
}

// Makes room for the queries of a part and all keys, and loads it, unless that is left to the first of several heads.
void RegionEmitter::hold_part(std::size_t part) {
  ScoreTerm& t = *unshifted_->term;
  t.part = part;
  const auto& [last, count] = t.groups().back();
  const std::int64_t queries = last + count - t.first(), some = t.blocks_of_tensor();
  const std::int64_t rows = std::min(graph_.type(attention_->scores).shape.back(), t.keys);
  t.held = new_tile(k_, Memory::sbuf, rows, {1, {t.blocks * queries}}, t.dtype);
  if (some && !t.hides) t.high = k_.sbuf({rows, some * queries}, DType::bfloat16);
  if (some && t.in_low) t.low = k_.sbuf({rows, some * queries}, DType::bfloat16);
  if (t.by_group) return;
  for (const auto& [start, n] : t.groups()) load_score_term(start, n);
}

// For a group of queries. An infinite one would be no number in a product with zeros.
void RegionEmitter::load_score_term(std::int64_t start, std::int64_t n) {
  const ScoreTerm& t = *unshifted_->term;
  const std::int64_t N = graph_.type(attention_->scores).shape.back(), whole = N / t.keys, some = t.blocks_of_tensor();
  const double in_scores = t.factor / t.scale;
  Tile all = t.held;
  const std::int64_t behind = start - t.first();
  all.offset = behind * t.blocks;
  if (whole) load_operand(t.leaf, all, 0, t.keys, whole, start, n, t.hides);
  all.offset = behind * t.blocks + whole * n;
  if (N % t.keys) load_operand(t.leaf, all, whole, N % t.keys, 1, start, n, t.hides);
  for (std::int64_t i = 0; i < some && t.high && t.of_tensor[i / 2] + 2 <= blocks_for_all(start); i += 2) {
    const View given = t.held.storage.slice(1, behind * t.blocks + t.of_tensor[i / 2] * n, 2 * n);
    const View high = t.high->slice(1, behind * some + i * n, 2 * n);
    k_.tensor_scalar({.dst = given, .data = given, .op0 = AluOp::maximum, .operand0 = kHiddenTerm});
    k_.tensor_scalar({.dst = high, .data = given, .op0 = AluOp::multiply, .operand0 = in_scores});
    if (!t.low) continue;
    k_.scalar_tensor_tensor({.dst = t.low->slice(1, behind * some + i * n, 2 * n),
                             .data = given,
                             .op0 = AluOp::multiply,
                             .operand0 = in_scores,
                             .op1 = AluOp::subtract,
                             .operand1 = high});
  }
}

// The first of the heads loads what is added to scores, group by group of its queries.
void RegionEmitter::over_heads_of_term(const std::function<void(const Index&)>& pass) {
  ScoreTerm& t = *unshifted_->term;
  const std::int64_t heads = layout_.loops[0];
  const bool by_group = t.by_group;
  for (std::size_t part = 0; part < t.parts.size(); ++part) {
    if (t.parts.size() > 1) hold_part(part);
    if (by_group) pass(0);
    t.by_group = false;
    const std::int64_t done = by_group ? 1 : 0;
    if (heads > done) k_.loop(heads - done, [&](Index i) { pass(i + done); });
    t.by_group = by_group;
  }
}

// Of a pair of blocks that the tensor engine has: what is added, by products with the identity.
void RegionEmitter::add_term_by_product(const Keys& keys, const Index& start, std::int64_t n, const View& scores,
                                        std::int64_t apart) {
  const ScoreTerm& t = *unshifted_->term;
  const auto place = t.place(keys);
  if (!place) return;
  const auto add = [&](const View& all, const Index& from) {
    for (std::int64_t b = 0; b < keys.blocks; ++b)
      k_.nc_matmul({.dst = scores.ap({{scores.dim(1), keys.count}, {1, n}}, b * apart),
                    .stationary = t.identity.ap({{kBlock, keys.count}, {1, keys.count}}),
                    .moving = all.ap({{all.dim(1), keys.count}, {1, n}}, from + b * n)});
  };
  if (t.hides) return add(t.held.storage, t.at(start, keys.block, n));
  for (const auto& part : {t.high, t.low}) {
    if (part) add(*part, (start - t.first()) * t.blocks_of_tensor() + *place * n);
  }
}

// Exponentials of scores with what is added to them: as they lie in PSUM, or by way of SBUF.
void RegionEmitter::weigh_with_term(const Keys& keys, const Index& start, std::int64_t n, const View& scores,
                                    const View& data, const View& weights) {
  const ScoreTerm& t = *unshifted_->term;
  if (t.place(keys)) {
    k_.activation({.dst = weights, .op = ActFn::exp, .data = data, .scale = t.scale});
    return;
  }
  const std::int64_t seen = (keys.to < 0 ? n : keys.to) - keys.from, row = t.held.storage.dim(1);
  const View sums = k_.sbuf({keys.count, keys.blocks * seen}, scores.dtype());
  const View there = sums.ap({{keys.blocks * seen, keys.count}, {seen, keys.blocks}, {1, seen}});
  const double factor = t.hides ? 1 : t.factor;
  k_.scalar_tensor_tensor({.dst = there,
                           .data = data,
                           .op0 = AluOp::multiply,
                           .operand0 = t.scale / factor,
                           .op1 = AluOp::add,
                           .operand1 = t.held.storage.ap({{row, keys.count}, {n, keys.blocks}, {1, seen}},
                                                         t.at(start, keys.block, n) + keys.from)});
  k_.activation({.dst = weights, .op = ActFn::exp, .data = there, .scale = factor});
}

}  // namespace kiln::tensor
