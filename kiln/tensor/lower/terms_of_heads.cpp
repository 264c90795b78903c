// Attention of several heads in one pass (heads_together.cpp): what is added to scores. Biases and masks of truth for
// each key, or for each pair of a query and a key; a causal mask; and where heads lie side by side on partitions, what
// hides the keys of the others.
#include <algorithm>

#include "kiln/tensor/lower/heads_together.h"
#include "kiln/tensor/passes/band.h"
#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {

using isa::Index;
using isa::View;

namespace {

constexpr double kHidden = -1e30;              // what is added to a score that nobody sees
constexpr std::int64_t kPairBytes = 48 << 10;  // of a partition, for what is added to the scores of pairs
constexpr std::int64_t kBankOfScores = 512;    // columns of float32 in a bank of PSUM

// Truth as what is added to a score: 0, or what hides it.
void hide_untrue(isa::Kernel& k, const View& dst, const View& truth) {
  k.tensor_scalar({.dst = dst,
                   .data = truth,
                   .op0 = AluOp::multiply,
                   .operand0 = -kHidden,
                   .op1 = AluOp::add,
                   .operand1 = kHidden});
}

}  // namespace

// Whether scores go into the softmax as they are, in whatever dtype, times a number and with what is added for each key
// or for each pair.
bool RegionEmitter::find_terms(Together& t) const {
  if (!t.a.columns.empty()) return false;
  for (Value v = t.a.inner; v != t.a.scores;) {
    const Op& op = graph_.op(v);
    if (op.code == OpCode::reshape || (op.code == OpCode::cast && is_float(op.type.dtype))) {
      v = op.operands[0];
      continue;
    }
    const auto is_next = [&](Value x) { return x == t.a.scores || t.a.function.contains(x); };
    if (op.code == OpCode::where) {
      const auto fill = splat_of(graph_, op.operands[2]);
      const auto load = layout_.load_of.find({v, 0});
      if (!fill || *fill * t.a.factor > kHiddenFill || load == layout_.load_of.end() || !is_next(op.operands[1]))
        return false;
      if (!add_term(t, load->second, true)) return false;
      v = op.operands[1];
      continue;
    }
    if (op.code != OpCode::multiply && op.code != OpCode::add) return false;
    const int at = is_next(op.operands[0]) ? 0 : 1;
    if (!is_next(op.operands[at]) || is_next(op.operands[1 - at])) return false;
    const Value here = std::exchange(v, op.operands[at]);
    const auto number = splat_of(graph_, op.operands[1 - at]);
    if (op.code == OpCode::multiply) {
      if (!number) return false;
      t.a.factor *= *number;
      continue;
    }
    const auto load = layout_.load_of.find({here, 1 - at});
    if (number || load == layout_.load_of.end() || !add_term(t, load->second, false)) return false;
  }
  return true;
}

// A bias, or a mask of truth, with one element for each key: one per key where all heads of a pass have the same.
bool RegionEmitter::add_term(Together& t, int load, bool hides) const {
  const Leaf& leaf = layout_.loads[load];
  const DType dtype = graph_.type(leaf.value).dtype;
  std::vector<Dims> one{leaf.free};
  join_together(one);
  if (kept(leaf) || one[0].size() != 1 || one[0][0].count != graph_.type(t.a.scores).shape.back()) return false;
  if (hides != (dtype == DType::bool_)) return false;
  const bool moves = !leaf.loops.empty() && leaf.loops.back() != 0;
  if (leaf.partition == 0 && !moves && t.bias < 0) {
    t.bias = load, t.bias_factor = t.a.factor, t.bias_hides = hides;
    return true;
  }
  if (one[0][0].stride != 1 || !(hides || (is_float(dtype) && size_bytes(dtype) >= 2))) return false;
  t.pairs.push_back({load, t.a.factor, hides});
  return true;
}

// How many heads of a pass have terms of their own.
std::int64_t RegionEmitter::heads_of_pairs(const Together& t) const {
  const auto moves = [&](const PairTerm& p) {
    const Leaf& leaf = layout_.loads[p.load];
    return !leaf.loops.empty() && leaf.loops.back() != 0;
  };
  return std::any_of(t.pairs.begin(), t.pairs.end(), moves) ? t.heads.inner : 1;
}

bool RegionEmitter::fits_pairs(const Together& t) const {
  if (t.pairs.empty()) return true;
  const std::int64_t columns = heads_of_pairs(t) * t.keys.follow * t.queries.follow * t.queries.rows;
  return columns * size_bytes(DType::float32) <= kPairBytes;
}

// Whether all passes have the same.
bool RegionEmitter::pairs_stay(const Together& t) const {
  return std::all_of(t.pairs.begin(), t.pairs.end(), [&](const PairTerm& p) {
    const std::vector<std::int64_t>& loops = layout_.loads[p.load].loops;
    for (std::size_t i = 0; i < loops.size(); ++i) {
      if (loops[i] != 0 && (i + 1 < loops.size() || t.heads.inner != t.inner)) return false;
    }
    return true;
  });
}

// What is added to the scores of each key: (keys, blocks of them).
View RegionEmitter::bias_of_keys(const Together& t) {
  const Leaf& leaf = layout_.loads[t.bias];
  std::vector<Dims> one{leaf.free};
  join_together(one);
  const std::int64_t P = t.keys.rows, follow = t.keys.follow, stride = one[0][0].stride;
  const DType dtype = t.bias_hides ? DType::uint8 : graph_.type(leaf.value).dtype;
  const View given = k_.sbuf({P, follow}, dtype), out = k_.sbuf({P, follow}, DType::float32);
  const View& hbm = storage_.of.at(leaf.base);
  Index at = storage_.begin(leaf.base) + leaf.offset;
  for (std::size_t i = 0; i < at_.size(); ++i) at += at_[i] * leaf.loops[i];
  if (!t.keys.is_even()) k_.memset({.dst = given, .value = 0.0});
  const auto load = [&](std::int64_t f, std::int64_t blocks, std::int64_t rows) {
    k_.dma_copy({.dst = given.ap({{follow, rows}, {1, blocks}}, f),
                 .src = hbm.ap({{stride, rows}, {kBlock * stride, blocks}}, at + f * (kBlock * stride))});
  };
  if (t.beside > 1) {
    const std::int64_t each = P / t.beside;
    for (std::int64_t s = 0; s < t.beside; ++s)
      k_.dma_copy({.dst = given.slice(0, s * each, each),
                   .src = hbm.ap({{stride, each}, {1, 1}}, at + s * leaf.loops[t.beside_loop])});
  } else if (t.keys.in_blocks) {
    const std::int64_t whole = t.keys.is_even() ? follow : follow - 1;
    load(0, whole, P);
    if (whole < follow) load(whole, 1, t.keys.count(whole));
  } else {
    over_token_rows(t.keys, [&](std::int64_t first, std::int64_t rows, std::int64_t blocks) {
      k_.dma_copy({.dst = given.ap({{follow, rows}, {1, blocks}}, first * follow),
                   .src = hbm.ap({{follow * stride, rows}, {stride, blocks}}, at + first * follow * stride)});
    });
  }
  if (t.bias_hides)
    hide_untrue(k_, out, given);
  else
    k_.tensor_scalar({.dst = out, .data = given, .op0 = AluOp::multiply, .operand0 = t.bias_factor});
  return out;
}

// What is added to scores of keys that a query does not see: (keys, blocks of them, queries).
void RegionEmitter::make_mask_of_heads(Together& t) {
  const std::int64_t n = t.queries.follow * t.queries.rows, wide = t.keys.follow * n, P = t.keys.rows;
  const View zeros = k_.sbuf({P, n}, DType::bfloat16), ones = k_.sbuf({kBlock, kBlock}, DType::bfloat16);
  t.mask = k_.sbuf({P, wide}, DType::bfloat16);
  t.identity = k_.sbuf({kBlock, kBlock}, DType::bfloat16);
  k_.memset({.dst = zeros, .value = 0.0});
  k_.memset({.dst = ones, .value = 1.0});
  k_.affine_select({.dst = t.identity,
                    .pattern = {{-1, kBlock}},
                    .channel_multiplier = 1,
                    .on_true_tile = ones,
                    .on_false_value = 0.0,
                    .cmp_op = AluOp::equal});
  // Hides where step * query - key * per_key + offset is negative.
  const auto hide = [&](const View& dst, const View& from, std::int64_t step, std::int64_t per_key,
                        std::int64_t offset) {
    k_.affine_select({.dst = dst,
                      .pattern = {{step, dst.dim(1)}},
                      .channel_multiplier = -per_key,
                      .on_true_tile = from,
                      .on_false_value = kHidden,
                      .cmp_op = AluOp::greater_equal,
                      .offset = offset});
  };
  if (t.beside == 1) {
    for (std::int64_t b = 0; b < t.keys.follow; ++b)
      hide(t.mask.ap({{wide, P}, {1, n}}, b * n), zeros, 1, t.keys.apart(), *t.a.ahead - b * t.keys.block());
    return;
  }
  const std::int64_t keys = P / t.beside, queries = n / t.beside;
  for (std::int64_t s = 0; s < t.beside; ++s) {
    const View mask = t.mask.slice(1, s * queries, queries), plain = zeros.slice(1, 0, queries);
    const View some = k_.sbuf({P, queries}, DType::bfloat16), more = k_.sbuf({P, queries}, DType::bfloat16);
    hide(some, plain, 0, 1, (s + 1) * keys - 1);
    hide(t.a.ahead ? more : mask, some, 0, -1, -s * keys);
    if (t.a.ahead) hide(mask, more, 1, 1, *t.a.ahead + s * keys);
  }
}

// The mask for all scores of several heads that lie side by side, a bank at a time.
void RegionEmitter::hide_others(const Together& t, const View& scores, std::int64_t units, std::int64_t columns) {
  const std::int64_t P = t.keys.rows, in_bank = kBankOfScores / columns, width = scores.dim(1);
  for (std::int64_t u = 0; u < units; u += in_bank) {
    const std::int64_t some = std::min(in_bank, units - u);
    k_.nc_matmul({.dst = scores.ap({{width, P}, {1, some * columns}}, u / in_bank * kBankOfScores),
                  .stationary = t.identity.ap({{kBlock, P}, {1, P}}),
                  .moving = t.mask.ap({{t.mask.dim(1), P}, {0, some}, {1, columns}})});
  }
}

// A term for some queries of a head as it lies in HBM: (queries, keys). Between heads that lie side by side nothing is
// seen.
View RegionEmitter::pairs_as_given(const Together& t, const PairTerm& p, std::int64_t head, std::int64_t first,
                                   std::int64_t rows) {
  const Leaf& leaf = layout_.loads[p.load];
  const View& hbm = storage_.of.at(leaf.base);
  const std::size_t loops = leaf.loops.size();
  const std::int64_t inner = loops == 0 ? 0 : leaf.loops.back(), wide = t.keys.tokens;
  const bool of_inner = t.beside > 1 && t.beside_loop + 1 == loops;
  Index at = storage_.begin(leaf.base) + leaf.offset + head * (of_inner ? t.beside : 1) * inner;
  for (std::size_t i = 0; i < at_.size(); ++i) at += at_[i] * leaf.loops[i];
  const View given = k_.sbuf({rows, wide}, p.hides ? DType::uint8 : graph_.type(leaf.value).dtype);
  if (t.beside == 1) {
    k_.dma_copy({.dst = given, .src = hbm.ap({{leaf.partition, rows}, {1, wide}}, at + first * leaf.partition)});
  } else {
    const std::int64_t queries = rows / t.beside, keys = wide / t.beside;
    k_.memset({.dst = given, .value = p.hides ? 0.0 : kHidden});
    for (std::int64_t s = 0; s < t.beside; ++s)
      k_.dma_copy({.dst = given.slice(0, s * queries, queries).slice(1, s * keys, keys),
                   .src = hbm.ap({{leaf.partition, queries}, {1, keys}}, at + s * leaf.loops[t.beside_loop])});
  }
  if (!p.hides) return given;
  const View out = k_.sbuf({rows, wide}, DType::float32);
  hide_untrue(k_, out, given);
  return out;
}

// Adds (queries, keys) times a factor to columns `at` of each block of keys of `out`, or puts it there.
void RegionEmitter::turn_pairs(const Together& t, const View& given, double factor, const View& out, std::int64_t at,
                               bool adds) {
  const std::int64_t rows = given.dim(0), wide = given.dim(1), n = t.queries.follow * t.queries.rows;
  for (std::int64_t b = 0; b < t.keys.follow; ++b) {
    const std::int64_t count = t.keys.count(b);
    const View turned = k_.psum({count, rows}, given.dtype());
    k_.nc_transpose({.dst = turned, .data = given.ap({{wide, rows}, {t.keys.apart(), count}}, b * t.keys.block())});
    const View there = out.ap({{out.dim(1), count}, {1, rows}}, b * n + at);
    if (adds)
      k_.scalar_tensor_tensor({.dst = there,
                               .data = turned,
                               .op0 = AluOp::multiply,
                               .operand0 = factor,
                               .op1 = AluOp::add,
                               .operand1 = there});
    else
      k_.tensor_scalar({.dst = there, .data = turned, .op0 = AluOp::multiply, .operand0 = factor});
  }
}

// What is added to the scores of a pass: (keys, heads, blocks of keys, queries).
View RegionEmitter::make_pairs(const Together& t) {
  const std::int64_t heads = heads_of_pairs(t), n = t.queries.follow * t.queries.rows, each = t.keys.follow * n;
  const View out = k_.sbuf({t.keys.rows, heads * each}, DType::float32);
  if (!t.keys.is_even() || n > t.queries.tokens) k_.memset({.dst = out, .value = 0.0, .engine = Engine::gpsimd});
  for (std::int64_t h = 0; h < heads; ++h) {
    for (std::int64_t first = 0; first < t.queries.tokens; first += kBlock) {
      const std::int64_t rows = std::min(kBlock, t.queries.tokens - first);
      bool adds = false;
      for (const PairTerm& p : t.pairs) {
        const View given = pairs_as_given(t, p, h, first, rows);
        turn_pairs(t, given, p.hides ? 1.0 : p.factor, out, h * each + first, std::exchange(adds, true));
      }
    }
  }
  return out;
}

// Scores with what is added to them: those of as many units at a time as lie at one stride on both sides.
View RegionEmitter::add_pairs(const Together& t, const PassOfHeads& pass, const SomeHeads& some, const View& scores,
                              const std::vector<std::int64_t>& units) {
  const std::int64_t P = t.keys.rows, blocks = t.keys.follow, follow = t.queries.follow, rows = t.queries.rows;
  const std::int64_t n = some.blocks * rows, in_bank = kBankOfScores / n, all = follow * rows;
  const std::int64_t heads = heads_of_pairs(t), width = scores.dim(1), row = pass.pairs.dim(1);
  const auto count = static_cast<std::int64_t>(units.size());
  const View out = k_.sbuf({P, count * n}, DType::float32);
  const auto place = [&](std::int64_t i) {
    const std::int64_t head = some.first + units[i] / blocks;
    return ((heads > 1 ? head % t.heads.inner : 0) * blocks + units[i] % blocks) * all;
  };
  // Queries of some blocks: all that follow each other, or some of every partition.
  const bool plain = some.blocks == follow || t.queries.in_blocks;
  const std::int64_t outer = plain ? 1 : rows, step = plain ? 0 : follow, inner = plain ? n : some.blocks;
  const Index first = some.first_block * t.queries.block();
  for (std::int64_t i = 0, m = 1; i < count; i += m) {
    const auto in_same_bank = [&](std::int64_t j) { return j < count && j / in_bank == i / in_bank; };
    const std::int64_t apart = in_same_bank(i + 1) ? place(i + 1) - place(i) : 0;
    for (m = 1; in_same_bank(i + m) && apart >= 0 && place(i + m) - place(i) == m * apart;) ++m;
    const std::int64_t at = i / in_bank * kBankOfScores + i % in_bank * n;
    k_.scalar_tensor_tensor(
        {.dst = out.ap({{count * n, P}, {n, m}, {inner, outer}, {1, inner}}, i * n),
         .data = scores.ap({{width, P}, {n, m}, {inner, outer}, {1, inner}}, at),
         .op0 = AluOp::multiply,
         .operand0 = t.a.factor,
         .op1 = AluOp::add,
         .operand1 = pass.pairs.ap({{row, P}, {apart, m}, {step, outer}, {1, inner}}, place(i) + first)});
  }
  return out;
}

}  // namespace kiln::tensor
