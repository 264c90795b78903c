// softmax(QKᵀ)V of several heads in one pass, with exp(scores) as they are (unshifted.cpp). Keys lie on partitions and
// scores of several heads beside each other, so that one instruction takes the exponentials of all of them; blocks of
// weights are what the tensor engine holds, so that results come out with queries on partitions, several heads beside
// each other again. Tokens lie on partitions as they do in HBM, some that follow each other on each.
#include "kiln/tensor/lower/heads_together.h"

#include <algorithm>
#include <utility>

#include "kiln/tensor/lower/interleave.h"
#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {

using isa::Index;
using isa::View;

namespace {

constexpr std::int64_t kHeadBank = 512;        // columns of float32 in a bank of PSUM
constexpr std::int64_t kScoreBanks = 2;        // whose exponentials are taken together
constexpr std::int64_t kFewKeys = 512;         // up to which heads go together without being asked
constexpr std::int64_t kFewKeysOfPairs = 384;  // the same, with a term for each pair
constexpr std::int64_t kManyBlocks = 8;        // of queries: more go in groups of one size
constexpr std::int64_t kGroup = 4;             // blocks of such a group
constexpr std::int64_t kMostHeads = 16;        // of a pass
constexpr std::int64_t kPassBytes = 40 << 10, kShortBytes = 24 << 10;  // of a partition
constexpr std::int64_t kMostKeyBlocks = 16;                            // of a pass
constexpr std::int64_t kShortPass = 6;               // blocks of scores: four such passes go in one order
constexpr double kLeastSum = 1e-9, kMostSum = 1e26;  // as in unshifted.cpp

TokenRows rows_for(std::int64_t tokens, bool in_groups) {
  std::int64_t follow = (tokens + kBlock - 1) / kBlock;
  if (in_groups && follow > kManyBlocks) follow = (follow + kGroup - 1) / kGroup * kGroup;
  return {tokens, (tokens + follow - 1) / follow, follow};
}

// Those of several heads, one on each partition.
TokenRows side_by_side(std::int64_t tokens, std::int64_t heads) { return {tokens * heads, tokens * heads, 1}; }

// Of one size as far as it goes, at most `most`.
std::int64_t even_part(std::int64_t n, std::int64_t most) {
  const std::int64_t parts = (n + most - 1) / most;
  return (n + parts - 1) / parts;
}

// The one dimension of elements that follow each other; nothing when there is another one.
std::optional<std::int64_t> run_of(const Dims& dims) {
  std::vector<Dims> one{dims};
  join_together(one);
  if (one[0].empty()) return 1;
  if (one[0].size() != 1 || one[0][0].stride != 1) return {};
  return one[0][0].count;
}

}  // namespace

// Whether the quotient is all that is stored.
bool RegionEmitter::stores_quotient_alone(const Attention& a) const {
  if (layout_.stores.size() != 1) return false;
  Value v = layout_.stores[0].value;
  while (v != a.result && uses_[v] >= 1) {
    const Op& op = graph_.op(v);
    if (op.code == OpCode::multiply) break;
    if (op.code != OpCode::cast && op.code != OpCode::reshape) return false;
    if (v != layout_.stores[0].value && uses_[v] != 1) return false;
    v = op.operands[0];
  }
  if (graph_.op(v).code != OpCode::multiply || fusion_.region_of[v] != region_) return false;
  const auto leads_to_result = [&](Value x) {
    while (x != a.result && (graph_.op(x).code == OpCode::cast || graph_.op(x).code == OpCode::reshape))
      x = graph_.op(x).operands[0];
    return x == a.result;
  };
  const Op& quotient = graph_.op(v);
  return leads_to_result(quotient.operands[0]) || leads_to_result(quotient.operands[1]);
}

// And nothing else is read but queries, keys, values and the mask.
bool RegionEmitter::is_stored_alone(const Together& t) const {
  const Attention& a = t.a;
  if (!stores_quotient_alone(a)) return false;
  return std::all_of(layout_.load_of.begin(), layout_.load_of.end(), [&](const auto& read) {
    const auto [user, operand] = read.first;
    const auto is_read = [&](const PairTerm& p) { return p.load == read.second; };
    return user == a.scores || (user == a.result && operand == 1) || read.second == t.bias ||
           a.unloaded.contains(read.second) || std::any_of(t.pairs.begin(), t.pairs.end(), is_read);
  });
}

std::optional<RegionEmitter::Together> RegionEmitter::heads_together() const {
  if (!options_.unshifted || storage_.is_alike || (options_.heads_together & 3) == 0 || layout_.packed != 1) return {};
  if (attention_ && attention_->few) return {};
  for (Value v : fusion_.regions[region_].ops) {
    const auto a = softmax_of(v);
    if (!a) continue;
    const Op &scores = graph_.op(a->scores), &result = graph_.op(a->result);
    const DType t = graph_.type(result.operands[0]).dtype;
    if (t != DType::bfloat16 && t != DType::float32) return {};
    if (!has_only_these_users(*a) || !is_quotient(*a) || a->back) return {};
    if (!layout_.load_of.contains({a->scores, 0})) return {};
    Together out{.a = *a};
    if (!find_terms(out) || !is_stored_alone(out)) return {};
    out.depth = graph_.type(scores.operands[0]).shape.back(), out.wide = result.type.shape.back();
    const std::int64_t keys = scores.type.shape.back();
    if (out.depth > kBlock || out.wide > kBlock) return {};
    const std::int64_t few = out.pairs.empty() ? kFewKeys : kFewKeysOfPairs;
    if (keys > ((options_.heads_together & 3) == 1 ? few : kMostKeyBlocks * kBlock)) return {};
    const std::size_t loops = layout_.loops.size();
    out.inner = loops == 0 ? 1 : layout_.loops.back(), out.outer = loops < 2 ? 1 : layout_.loops[loops - 2];
    out.queries = rows_for(layout_.partitions, true), out.keys = rows_for(keys, false);
    const Leaf &q = layout_.loads[layout_.load_of.at({a->scores, 0})], &y = layout_.stores[0];
    const Leaf& k = layout_.loads[layout_.load_of.at({a->scores, 1})];
    const Leaf& values = layout_.loads[layout_.load_of.at({a->result, 1})];
    int in_blocks = 0;
    for (const Leaf* leaf : {&q, &y, &k, &values}) in_blocks += kept_blocks(leaf->base) ? 1 : 0;
    if (in_blocks > 0) {
      for (TokenRows* tokens : {&out.queries, &out.keys})
        *tokens = {tokens->tokens, kBlock, (tokens->tokens + kBlock - 1) / kBlock, true};
      if (in_blocks < 4 || (out.queries.follow > kManyBlocks && out.queries.follow % kGroup != 0)) return {};
    }
    const bool in_sbuf = kept(q) || kept(k) || kept(values) || kept_result(y);
    if (!in_sbuf && (options_.heads_together & 8) == 0) put_side_by_side(out, q, k);
    if (out.queries.rows < 2 || out.keys.rows < 2) return {};
    if (run_of(q.free) != out.depth || run_of(y.free) != out.wide) return {};
    out.holds_values = out.wide < kBlock && options_.holds_values;
    out.turned = dtype_of_turned(*a);
    out.score_banks = out.holds_values ? std::int64_t{options_.key_blocks} : kScoreBanks;
    if (k.free[0].stride != 1 || values.free[1].stride != 1 || q.partition <= 0 || y.partition <= 0) return {};
    for (const Leaf* leaf : {&q, &k, &values}) {
      const DType from = graph_.type(leaf->value).dtype;
      if (from != t || (leaf->base != leaf->value && graph_.type(leaf->base).dtype != from)) return {};
    }
    const std::int64_t heads = heads_of_a_pass(out), inner = out.inner;
    out.heads = heads <= inner ? HeadCount{1, heads} : HeadCount{heads / inner, inner};
    for (out.stacked = out.depth == 32 ? 4 : out.depth == 64 ? 2 : 1; out.heads.inner % out.stacked;) --out.stacked;
    if (!fits_pairs(out)) return {};
    // DMAs turn heads that lie one after the other all at once, beside each other.
    const auto is_apart = [&](const Leaf& leaf, std::int64_t token) {
      const std::int64_t head = leaf.loops.empty() ? 0 : leaf.loops.back();
      return head != 0 && !(head == out.depth && token != out.depth);
    };
    if (turns_tokens(t) && (is_apart(q, q.partition) || is_apart(k, k.free[1].stride))) out.stacked = 1;
    out.side_by_side = out.holds_values && out.stacked > 1 && out.pairs.empty();
    return out;
  }
  return {};
}

// Tokens of several heads fill the partitions where those of one do not: heads of the loop around, or else of the
// innermost loop. No query sees the keys of another one.
void RegionEmitter::put_side_by_side(Together& t, const Leaf& queries, const Leaf& keys) const {
  const std::int64_t most = kBlock / std::max(t.queries.tokens, t.keys.tokens);
  if (most < 2) return;
  const auto part_of = [&](std::int64_t n) {
    std::int64_t count = std::min(most, n);
    while (n % count != 0) --count;
    return count;
  };
  const std::int64_t outer = part_of(t.outer), inner = outer > 1 ? 1 : part_of(t.inner);
  if (outer * inner == 1) return;
  const std::size_t loop = layout_.loops.size() - (outer > 1 ? 2 : 1);
  // DMAs turn what lies at one stride.
  const bool follow = queries.loops[loop] == t.queries.tokens * queries.partition &&
                      keys.loops[loop] == t.keys.tokens * keys.free[1].stride;
  if (turns_tokens(graph_.type(queries.value).dtype) && !follow) return;
  t.beside = outer * inner, t.beside_loop = loop, t.outer /= outer, t.inner /= inner;
  t.queries = side_by_side(t.queries.tokens, t.beside);
  t.keys = side_by_side(t.keys.tokens, t.beside);
}

// As many as fit, of the innermost loop, or all of it several times.
std::int64_t RegionEmitter::heads_of_a_pass(const Together& t) const {
  const std::size_t loops = layout_.loops.size();
  const std::int64_t inner = t.inner;
  const std::int64_t size = size_bytes(graph_.type(graph_.op(t.a.result).operands[0]).dtype);
  const std::int64_t columns =
      t.queries.follow * (t.depth + t.wide + t.queries.rows) + t.keys.follow * (t.depth + 2 * t.wide + t.keys.rows) +
      (t.holds_values ? 0 : t.keys.follow * std::min(t.queries.follow * t.queries.rows, kHeadBank));
  const std::int64_t most = (options_.heads_together & 4) != 0 ? kShortBytes : kPassBytes;
  const auto fits = [&](std::int64_t n) {
    return n <= kMostHeads && n * columns * size <= most && n * t.keys.follow <= 2 * kMostKeyBlocks;
  };
  std::int64_t heads = 1;
  for (std::int64_t n = 2; n <= inner; ++n) {
    if (inner % n == 0 && fits(n)) heads = n;
  }
  const auto moves = [&](int load) { return loops > 1 && layout_.loads[load].loops[loops - 2] != 0; };
  const auto term_moves = [&](const PairTerm& p) { return moves(p.load); };
  if (heads < inner || loops < 2 || (t.bias >= 0 && moves(t.bias))) return heads;
  if (std::any_of(t.pairs.begin(), t.pairs.end(), term_moves)) return heads;
  for (std::int64_t n = 2; n <= t.outer; ++n) {
    if (t.outer % n == 0 && fits(n * inner)) heads = n * inner;
  }
  return heads;
}

// Where the tokens of a load, or with `load` below 0 those of the result, lie.
RegionEmitter::Tokens RegionEmitter::tokens_of(int load, const Together& t) const {
  const Leaf& leaf = load < 0 ? layout_.stores[0] : layout_.loads[load];
  const bool is_keys = leaf.is_matrix && load == layout_.load_of.at({t.a.scores, 1});
  Tokens out{.at = leaf.is_matrix ? t.keys : t.queries, .is_keys = is_keys, .dtype = graph_.type(leaf.value).dtype};
  out.depth = load < 0 || (leaf.is_matrix && !is_keys) ? t.wide : t.depth;
  out.hbm_token = !leaf.is_matrix ? leaf.partition : is_keys ? leaf.free[1].stride : leaf.free[0].stride;
  const std::size_t loops = leaf.loops.size();
  out.hbm_head = loops == 0 ? 0 : leaf.loops.back();
  out.hbm_outer = loops < 2 ? 0 : leaf.loops[loops - 2];
  out.of_inner = t.heads.inner;
  out.beside = t.beside;
  if (t.beside > 1) {
    std::int64_t& stride = t.beside_loop + 1 == loops ? out.hbm_head : out.hbm_outer;
    out.hbm_beside = std::exchange(stride, stride * t.beside);
  }
  out.heads = {load >= 0 && out.hbm_outer == 0 ? 1 : t.heads.outer, load >= 0 && out.hbm_head == 0 ? 1 : t.heads.inner};
  if (const Tile* row = load < 0 ? kept_result(leaf) : kept(leaf)) {
    out.tile = row->storage, out.place = leaf.offset, out.head = out.hbm_head, out.outer = out.hbm_outer;
    for (std::size_t i = 0; i < at_.size(); ++i) out.place += at_[i] * leaf.loops[i];
    if (const KeptShape* in_blocks = kept_blocks(leaf.base)) out.block = in_blocks->pitch();
    return out;
  }
  out.hbm = load < 0 && leaf.output >= 0 ? storage_.outputs[leaf.output] : storage_.of.at(leaf.base);
  out.place = (load < 0 && leaf.output >= 0 ? Index(0) : storage_.begin(leaf.base)) + leaf.offset;
  for (std::size_t i = 0; i < at_.size(); ++i) out.place += at_[i] * leaf.loops[i];
  // As in HBM: tokens of all heads beside each other, or heads one after the other.
  const bool beside = out.heads.inner > 1 && out.hbm_head == out.depth && out.hbm_token != out.depth;
  out.head = beside ? out.depth : out.at.follow * out.depth;
  out.block = beside ? out.heads.inner * out.depth : out.depth;
  out.outer = out.heads.inner * out.at.follow * out.depth;
  return out;
}

// What DMAs move of tokens, with the place where it begins in HBM: what lies at one stride goes together.
void RegionEmitter::over_token_parts(
    const Tokens& s, const std::function<void(std::int64_t, std::int64_t, std::int64_t, std::int64_t)>& move) const {
  const std::int64_t each = s.at.tokens / s.beside;
  if (s.beside == 1 || s.hbm_beside == each * s.hbm_token)
    return over_token_rows(s.at, [&](std::int64_t first, std::int64_t rows, std::int64_t blocks) {
      move(first, rows, blocks, first * s.at.follow * s.hbm_token);
    });
  for (std::int64_t i = 0; i < s.beside; ++i) move(i * each, each, 1, i * s.hbm_beside);
}

void RegionEmitter::move_tokens(const Tokens& s) {
  const std::int64_t width = s.tile.dim(1);
  over_token_parts(s, [&](std::int64_t first, std::int64_t rows, std::int64_t blocks, std::int64_t from) {
    k_.dma_copy(
        {.dst = s.tile.ap(
             {{width, rows}, {s.outer, s.heads.outer}, {s.head, s.heads.inner}, {s.block, blocks}, {1, s.depth}},
             first * width),
         .src = s.hbm.ap({{s.at.follow * s.hbm_token, rows},
                          {s.hbm_outer, s.heads.outer},
                          {s.hbm_head, s.heads.inner},
                          {s.hbm_token, blocks},
                          {1, s.depth}},
                         s.place + from)});
  });
}

void RegionEmitter::load_tokens(Tokens& s) {
  s.tile = k_.sbuf({s.at.rows, s.heads.all() * s.at.follow * s.depth}, s.dtype);
  move_tokens(s);
  s.place = 0;
}

// Tokens as columns, in their own order: (elements of `stacked` heads, heads, tokens). A query of the last partition
// that is not there is one of the next head, or sees as much of every key: its sums are numbers.
RegionEmitter::Columned RegionEmitter::turned_tokens(Tokens& s, const Together& t) {
  const std::int64_t n = s.at.tokens, whole = s.at.rows * s.at.follow, depth = t.stacked * s.depth;
  const bool by_dma = s.hbm.rank() > 0 && turns_tokens(s.dtype);
  if (!by_dma && s.hbm.rank() > 0) load_tokens(s);
  // DMAs that turn write from a multiple of 32 bytes on; where heads follow each other, they turn all of them at once.
  constexpr std::int64_t kAligned = 16;
  const bool apart = by_dma && s.heads.outer > 1 && n % kAligned != 0 && !heads_follow(s, t);
  Columned out{.of = s, .stacked = t.stacked, .step = by_dma ? n : whole};
  if (apart) out.step = (whole + kAligned - 1) / kAligned * kAligned;
  const std::int64_t groups = out.count(), wide = (groups - 1) * out.step + whole;
  out.tile = k_.sbuf({depth, wide}, s.dtype);
  if (by_dma)
    load_columns(s, t, out);
  else
    turn_columns_of(s, t, out);
  // Where there is no query: behind the last head, or behind each.
  const std::int64_t ends = by_dma && !apart ? 1 : groups;
  if (whole > n && !s.is_keys)
    k_.memset({.dst = out.tile.ap({{wide, depth}, {out.step, ends}, {1, whole - n}}, (groups - ends) * out.step + n),
               .value = 0.0,
               .engine = Engine::gpsimd});
  return out;
}

// Whether DMAs turn what they load.
bool RegionEmitter::turns_tokens(DType t) const { return options_.loads_turned && size_bytes(t) == 2; }

// Whether the tokens of the innermost heads follow each other in HBM.
bool RegionEmitter::heads_follow(const Tokens& s, const Together& t) const {
  return !s.is_shared() && t.stacked == 1 && s.hbm_token == s.depth && s.hbm_head == s.at.tokens * s.depth;
}

void RegionEmitter::load_columns(const Tokens& s, const Together& t, const Columned& out) {
  const std::int64_t wide = out.tile.dim(1), n = s.at.tokens, inner = s.heads.inner;
  const auto load = [&](std::int64_t row, std::int64_t group, const Index& at, std::int64_t depth,
                        std::int64_t columns) {
    load_turned({out.tile, row * wide + group * out.step, {0, 1}, {{1, columns}}, depth}, s.hbm, at, depth, s.hbm_token,
                columns);
  };
  const bool follow = heads_follow(s, t);
  if (follow && (s.heads.outer == 1 || s.hbm_outer == inner * s.hbm_head))
    return load(0, 0, s.place, s.depth, s.heads.all() * n);
  for (std::int64_t o = 0; o < s.heads.outer; ++o) {
    const Index at = s.place + o * s.hbm_outer;
    if (s.is_shared() || inner == 1) {
      for (std::int64_t r = 0; r < t.stacked; ++r) load(r * s.depth, o, at, s.depth, n);
    } else if (follow) {
      load(0, o * inner, at, s.depth, inner * n);
    } else if (s.hbm_head == s.depth && t.stacked * s.depth == kBlock && out.step == n) {
      load(0, o * inner / t.stacked, at, inner * s.depth, n);
    } else if (s.hbm_head == s.depth) {
      for (std::int64_t h = 0; h < inner; h += t.stacked)
        load(0, (o * inner + h) / t.stacked, at + h * s.depth, t.stacked * s.depth, n);
    } else {
      for (std::int64_t h = 0; h < inner; ++h)
        load(h % t.stacked * s.depth, (o * inner + h) / t.stacked, at + h * s.hbm_head, s.depth, n);
    }
  }
}

void RegionEmitter::turn_columns_of(const Tokens& s, const Together& t, const Columned& out) {
  const std::int64_t stacked = t.stacked, groups = out.count(), depth = stacked * s.depth;
  const std::int64_t each = s.is_shared() ? 1 : stacked, above = s.is_shared() ? 0 : s.head;
  const std::int64_t row = s.tile.dim(1), n = s.at.rows, follow = s.at.follow, wide = out.tile.dim(1);
  const std::int64_t together = std::max<std::int64_t>(1, arch_.psum_bank_bytes / (n * size_bytes(s.dtype)));
  // As many blocks as fit a bank leave it at once: of several heads, or of one.
  const std::int64_t blocks = even_part(follow, together), heads = std::max<std::int64_t>(1, together / follow);
  for (std::int64_t g = 0; g < groups; g += heads) {
    const std::int64_t some = std::min(heads, groups - g);
    for (std::int64_t f0 = 0; f0 < follow; f0 += blocks) {
      const std::int64_t m = std::min(blocks, follow - f0);
      const View turned = k_.psum({depth, some * m * n}, s.dtype);
      for (std::int64_t i = 0; i < some * m; ++i) {
        const std::int64_t f = f0 + i % m, rows = s.at.count(f);
        k_.nc_transpose({.dst = turned.ap({{some * m * n, depth}, {1, rows}}, i * n),
                         .data = s.tile.ap({{row, rows}, {above, stacked}, {1, s.depth}},
                                           s.place + s.offset((g + i / m) * each) + f * s.block)});
      }
      const std::int64_t block = s.at.block();
      k_.tensor_copy({.dst = out.tile.ap({{wide, depth}, {follow * n, some}, {block, m}, {s.at.apart(), n}},
                                         g * follow * n + f0 * block),
                      .src = turned.ap({{some * m * n, depth}, {m * n, some}, {n, m}, {1, n}}),
                      .engine = evacuator()});
    }
  }
}

// Values with a one behind each: (keys, heads, blocks, elements).
View RegionEmitter::counted_values(Tokens& s) {
  const std::int64_t wide = s.depth + 1, follow = s.at.follow, units = s.heads.all() * follow, width = units * wide;
  const View out = k_.sbuf({s.at.rows, width}, s.dtype);
  k_.memset({.dst = out.ap({{width, s.at.rows}, {wide, units}}, s.depth), .value = 1.0, .engine = Engine::gpsimd});
  if (s.hbm.rank() > 0 && follow == 1 && (s.heads.inner == 1 || s.hbm_head != s.depth)) {  // runs are as short anyway
    s.tile = out, s.head = wide, s.block = wide, s.outer = s.heads.inner * wide;
    move_tokens(s);
    return out;
  }
  if (s.hbm.rank() > 0) load_tokens(s);
  const std::int64_t row = s.tile.dim(1);
  // Blocks that the last partition has, then the others, without it.
  const auto copy = [&](std::int64_t from, std::int64_t count, std::int64_t rows) {
    if (count == 0) return;
    const std::int64_t inner = s.heads.inner, all = follow * wide;
    k_.tensor_copy(
        {.dst = out.ap({{width, rows}, {inner * all, s.heads.outer}, {all, inner}, {wide, count}, {1, s.depth}},
                       from * wide),
         .src = s.tile.ap({{row, rows}, {s.outer, s.heads.outer}, {s.head, inner}, {s.block, count}, {1, s.depth}},
                          s.place + from * s.block),
         .engine = Engine::gpsimd});
  };
  const std::int64_t full = s.at.is_even() ? follow : s.at.in_blocks ? follow - 1 : s.at.last();
  copy(0, full, s.at.rows);
  copy(full, follow - full, s.at.count(follow - 1));
  return out;
}

// exp(scores) of some heads for a group of queries. Calls `made` with the blocks of keys, of some heads, whose weights
// are there.
void RegionEmitter::weigh_heads(const Together& t, const PassOfHeads& pass, SomeHeads& some,
                                const std::function<void(const std::vector<std::int64_t>&)>& made) {
  const std::int64_t P = t.keys.rows, blocks = t.keys.follow, n = some.blocks * t.queries.rows;
  // With one number for each key, one block of keys after the other: it is the bias of their exponentials.
  const bool apart = t.bias >= 0;
  const std::int64_t units = some.count * blocks, in_bank = kHeadBank / n;
  const std::int64_t at_once = even_part(apart ? some.count : units, t.score_banks * in_bank);
  some.weights.resize(units);
  const std::int64_t follow = t.queries.follow, keys_row = pass.keys.tile.dim(1), row = pass.queries.tile.dim(1);
  // The queries of these blocks: some that follow each other of every partition.
  const auto columns = [&](const View& v, std::int64_t row_of, std::int64_t rows, const Index& at) {
    if (some.blocks == follow || t.queries.in_blocks) return v.ap({{row_of, rows}, {1, n}}, at);
    return v.ap({{row_of, rows}, {follow, t.queries.rows}, {1, some.blocks}}, at);
  };
  const Index first = some.first_block * t.queries.block();
  isa::Ints position, size;
  if (t.stacked > 1 && (t.depth == kBlock / 2 || arch_.features.row_tile_32)) size = {t.depth, kBlock};
  for (std::int64_t from = 0, m = 0; from < units; from += m) {
    m = std::min(at_once, (apart ? (from / some.count + 1) * some.count : units) - from);
    const std::int64_t banks = (m + in_bank - 1) / in_bank;
    const std::int64_t width = banks * kHeadBank;
    const View scores = k_.psum({P, width}, DType::float32), out = k_.sbuf({P, m * n}, pass.queries.tile.dtype());
    std::vector<std::int64_t> those;
    for (std::int64_t i = 0; i < m; ++i) {
      const std::int64_t u = from + i, unit = apart || t.side_by_side ? u % some.count * blocks + u / some.count : u;
      const std::int64_t head = some.first + unit / blocks, b = unit % blocks, rows = t.keys.count(b);
      const std::int64_t above = head % t.stacked * t.depth;
      const View dst = scores.ap({{width, rows}, {1, n}}, i / in_bank * kHeadBank + i % in_bank * n);
      if (!size.empty()) position = {above, 0};
      k_.nc_matmul({.dst = dst,
                    .stationary = pass.keys.tile.ap({{keys_row, t.depth}, {t.keys.apart(), rows}},
                                                    above * keys_row + pass.keys.column(head) + b * t.keys.block()),
                    .moving = columns(pass.queries.tile, row, t.depth, above * row + pass.queries.column(head) + first),
                    .tile_position = position,
                    .tile_size = size});
      if (t.a.ahead && t.beside == 1)
        k_.nc_matmul({.dst = dst,
                      .stationary = t.identity.ap({{kBlock, rows}, {1, rows}}),
                      .moving = columns(t.mask, t.mask.dim(1), rows, b * follow * t.queries.rows + first)});
      some.weights[unit] = out.ap({{m * n, rows}, {1, n}}, i * n);
      those.push_back(unit);
    }
    if (t.beside > 1 && t.mask.rank() > 0) hide_others(t, scores, m, n);
    if (!t.pairs.empty()) {
      const View sums = add_pairs(t, pass, some, scores, those);
      isa::activation_args call{.dst = out, .op = ActFn::exp, .data = sums};
      if (apart) call.bias = pass.bias.ap({{blocks, P}, {1, 1}}, from / some.count);
      k_.activation(call);
      if (made) made(those);
      continue;
    }
    const auto take_exp = [&](std::int64_t bank, std::int64_t count, std::int64_t columns) {
      if (count == 0 || columns == 0) return;
      isa::activation_args call{.dst = out.ap({{m * n, P}, {columns, count}, {1, columns}}, bank * in_bank * n),
                                .op = ActFn::exp,
                                .data = scores.ap({{width, P}, {kHeadBank, count}, {1, columns}}, bank * kHeadBank),
                                .scale = t.a.factor};
      if (apart) call.bias = pass.bias.ap({{blocks, P}, {1, 1}}, from / some.count);
      k_.activation(call);
    };
    take_exp(0, m / in_bank, in_bank * n);
    take_exp(m / in_bank, 1, m % in_bank * n);
    if (made) made(those);
  }
}

// Values of some heads, weighted, and divided by the sums of weights.
void RegionEmitter::add_values_of_heads(const Together& t, const PassOfHeads& pass, const SomeHeads& some) {
  const std::int64_t P = t.queries.rows, blocks = t.keys.follow, wide = t.wide + 1, width = some.count * wide;
  const std::int64_t values_row = pass.values.dim(1), inverse_row = pass.inverse.dim(1), row = pass.out.tile.dim(1);
  for (std::int64_t f = 0; f < some.blocks; ++f) {
    const View sum = k_.psum({P, width}, DType::float32);
    for (std::int64_t i = 0; i < some.count; ++i) {
      for (std::int64_t b = 0; b < blocks; ++b)
        k_.nc_matmul({.dst = sum.ap({{width, P}, {1, wide}}, i * wide),
                      .stationary = t.queries.in_blocks ? some.weights[i * blocks + b].slice(1, f * P, P)
                                                        : some.weights[i * blocks + b].slice(1, f, P, some.blocks),
                      .moving = pass.values.ap({{values_row, t.keys.count(b)}, {1, wide}},
                                               (pass.values_of.index(some.first + i) * blocks + b) * wide)});
    }
    const Index block = some.first_block + f, at = block * t.heads.all() + some.first;
    k_.reciprocal({.dst = pass.inverse.ap({{inverse_row, P}, {1, some.count}}, at),
                   .data = sum.ap({{width, P}, {wide, some.count}}, t.wide)});
    k_.tensor_tensor({.dst = pass.out.tile.ap({{row, P}, {pass.out.head, some.count}, {1, t.wide}},
                                              pass.out.place + pass.out.offset(some.first) + block * pass.out.block),
                      .data1 = sum.ap({{width, P}, {wide, some.count}, {1, t.wide}}),
                      .data2 = pass.inverse.ap({{inverse_row, P}, {1, some.count}, {0, t.wide}}, at),
                      .op = AluOp::multiply,
                      .engine = Engine::vector});
  }
}

// Sums in range, results that are numbers.
void RegionEmitter::check_heads(const Together& t, const PassOfHeads& pass, const ChecksOfHeads& checks) {
  const std::int64_t P = t.queries.rows, n = pass.inverse.dim(1);
  const View fine = checks.fine.ap({{n, P}, {1, n}});
  for (const auto& [compare, limit] :
       {std::pair(AluOp::greater_equal, 1 / kMostSum), {AluOp::less_equal, 1 / kLeastSum}})
    k_.scalar_tensor_tensor({.dst = fine,
                             .data = pass.inverse,
                             .op0 = compare,
                             .operand0 = limit,
                             .op1 = AluOp::multiply,
                             .operand1 = fine});
  const Tokens& out = pass.out;
  const std::int64_t follow = out.at.follow, run = follow * out.depth, all = t.heads.all() * run, inner = t.heads.inner;
  const View results = out.tile.ap(
      {{out.tile.dim(1), P}, {out.outer, t.heads.outer}, {out.head, inner}, {out.block, follow}, {1, out.depth}},
      out.place);
  const auto as_results = [&](const View& v) {
    return v.ap({{all, P}, {inner * run, t.heads.outer}, {run, inner}, {out.depth, follow}, {1, out.depth}});
  };
  const View strange = as_results(checks.strange);  // what is no number stays none
  k_.tensor_tensor({.dst = strange, .data1 = strange, .data2 = results, .op = AluOp::add, .engine = Engine::gpsimd});
}

void RegionEmitter::store_heads(const Together& t, const Tokens& s) {
  if (s.hbm.rank() == 0) return;
  const std::int64_t width = s.tile.dim(1);
  over_token_parts(s, [&](std::int64_t first, std::int64_t rows, std::int64_t blocks, std::int64_t from) {
    k_.dma_copy(
        {.dst = s.hbm.ap({{s.at.follow * s.hbm_token, rows},
                          {s.hbm_outer, t.heads.outer},
                          {s.hbm_head, t.heads.inner},
                          {s.hbm_token, blocks},
                          {1, s.depth}},
                         s.hbm_place + from),
         .src = s.tile.ap(
             {{width, rows}, {s.outer, t.heads.outer}, {s.head, t.heads.inner}, {s.block, blocks}, {1, s.depth}},
             first * width)});
  });
}

// Calls attend(first block, blocks) for each group of blocks of queries, and `finish` behind the last of them.
void RegionEmitter::over_groups_of_queries(const Together& t,
                                           const std::function<void(const Index&, std::int64_t)>& attend,
                                           const std::function<void()>& finish) {
  const std::int64_t follow = t.queries.follow, most = std::max<std::int64_t>(1, kHeadBank / t.queries.rows);
  if (follow > kManyBlocks) {
    k_.loop(follow / kGroup, [&](Index g) {
      attend(g * kGroup, kGroup);
      finish();
    });
  } else {
    const std::int64_t some = even_part(follow, most);
    for (std::int64_t f = 0; f < follow; f += some) attend(f, std::min(some, follow - f));
    finish();
  }
}

// The tensor engine goes on with the scores of the next heads while weights are made of these.
void RegionEmitter::hold_weights(const Together& t, const PassOfHeads& pass) {
  std::optional<SomeHeads> waiting;
  const auto finish = [&] {
    if (waiting) add_values_of_heads(t, pass, *waiting);
    waiting.reset();
  };
  // Heads whose results lie at one stride.
  const std::int64_t all = t.heads.all(), inner = t.heads.inner;
  const std::int64_t even = pass.out.outer == inner * pass.out.head ? all : inner;
  const std::int64_t in_bank = std::max<std::int64_t>(1, kHeadBank / (t.wide + 1)), chunk = even_part(even, in_bank);
  const auto attend = [&](const Index& first_block, std::int64_t blocks) {
    for (std::int64_t first = 0, count = 0; first < all; first += count) {
      count = std::min(chunk, (first / even + 1) * even - first);
      SomeHeads some{first, count, first_block, blocks, {}};
      weigh_heads(t, pass, some, {});
      finish();
      waiting = std::move(some);
    }
  };
  over_groups_of_queries(t, attend, finish);
}

// One pass: all queries of its heads.
void RegionEmitter::attend_heads(const Together& t, const ChecksOfHeads& checks) {
  const auto tokens = [&](Value v, int operand) { return tokens_of(layout_.load_of.at({v, operand}), t); };
  PassOfHeads pass;
  Tokens keys = tokens(t.a.scores, 1), queries = tokens(t.a.scores, 0), values = tokens(t.a.result, 1);
  pass.keys = turned_tokens(keys, t), pass.queries = turned_tokens(queries, t), pass.values = counted_values(values);
  if (t.bias >= 0) pass.bias = bias_of_keys(t);
  if (!t.pairs.empty()) pass.pairs = t.pairs_of_all.rank() > 0 ? t.pairs_of_all : make_pairs(t);
  pass.values_of = values;
  pass.out = tokens_of(-1, t);
  const std::int64_t follow = t.queries.follow, P = t.queries.rows;
  if (pass.out.hbm.rank() > 0) {
    pass.out.tile = k_.sbuf({P, t.heads.all() * follow * t.wide}, pass.out.dtype);
    pass.out.hbm_place = std::exchange(pass.out.place, 0);
  }
  pass.inverse = k_.sbuf({P, follow * t.heads.all()}, DType::float32);
  if (t.holds_values)
    hold_values(t, pass);
  else
    hold_weights(t, pass);
  check_heads(t, pass, checks);
  store_heads(t, pass.out);
}

// Loops around the heads, then passes over them, some of them in one order.
void RegionEmitter::over_heads(const Together& t, std::size_t loop, const std::vector<ChecksOfHeads>& checks) {
  const std::size_t loops = layout_.loops.size();
  const bool around = loops > 1 && t.heads.inner == t.inner;  // passes go over the loop around the heads
  const std::size_t last = loops == 0 ? 0 : loops - (around ? 2 : 1);
  // Of loops some of whose passes lie side by side.
  const auto apart = [&](std::size_t l) { return t.beside > 1 && t.beside_loop == l ? t.beside : std::int64_t{1}; };
  if (loop < last) {
    k_.loop(layout_.loops[loop] / apart(loop), [&](Index i) {
      at_.push_back(i * apart(loop));
      over_heads(t, loop + 1, checks);
      at_.pop_back();
    });
    return;
  }
  const std::int64_t heads = around ? t.heads.outer : t.heads.inner,
                     passes = loops ? (around ? t.outer : t.inner) / heads : 1;
  const auto together = static_cast<std::int64_t>(checks.size());
  const auto some = [&](const Index& first) {
    std::vector<std::size_t> begins;
    const std::vector<Index> outer = at_;
    for (std::int64_t i = 0; i < together; ++i) {
      begins.push_back(k_.block().size());
      if (loops > 0) at_.push_back((first * heads + i * heads) * apart(last));
      if (around) at_.emplace_back(0);
      attend_heads(t, checks[i]);
      at_ = outer;
    }
    interleave(k_.program(), k_.block(), begins, arch_);
  };
  if (passes == together)
    some(0);
  else
    k_.loop(passes / together, [&](Index i) { some(i * together); });
}

void RegionEmitter::emit_heads_together(Together& t) {
  const std::size_t loops = layout_.loops.size();
  std::int64_t passes = t.inner / t.heads.inner;
  if (passes == 1 && loops > 1) passes = t.outer / t.heads.outer;
  const std::int64_t n = t.queries.follow * t.heads.all();
  const bool is_short = n * t.keys.follow <= kShortPass && passes % 4 == 0;
  std::vector<ChecksOfHeads> checks(t.holds_values ? 1 : is_short ? 4 : passes % 2 == 0 ? 2 : 1);
  for (ChecksOfHeads& c : checks) {
    c.fine = k_.sbuf({kBlock, n}, DType::float32);
    c.strange = k_.sbuf({kBlock, n * t.wide}, DType::float32);
    k_.memset({.dst = c.fine, .value = 1.0});
    k_.memset({.dst = c.strange, .value = 0.0});
  }
  if (t.a.ahead || (t.beside > 1 && t.pairs.empty())) make_mask_of_heads(t);
  if (!t.pairs.empty() && pairs_stay(t)) t.pairs_of_all = make_pairs(t);
  over_heads(t, 0, checks);
  Unshifted u;
  u.fine = checks[0].fine;
  u.finite = k_.sbuf({kBlock, 1}, DType::float32);
  for (std::size_t i = 1; i < checks.size(); ++i) {
    k_.tensor_tensor({.dst = u.fine, .data1 = u.fine, .data2 = checks[i].fine, .op = AluOp::multiply});
    k_.tensor_tensor(
        {.dst = checks[0].strange, .data1 = checks[0].strange, .data2 = checks[i].strange, .op = AluOp::add});
  }
  k_.tensor_scalar_reduce({.dst = checks[0].strange,
                           .data = checks[0].strange,
                           .op0 = AluOp::multiply,
                           .operand0 = 0.0,
                           .reduce_op = AluOp::add,
                           .reduce_res = u.finite});
  const isa::Reg again = ask_again(u);
  if (!options_.whole) return;
  k_.fori_loop(0, again, [&](isa::Reg) {
    k_.usually(0);
    scopes_.emplace_back();
    hoist(0);
    nest(0);
    scopes_.pop_back();
  });
}

}  // namespace kiln::tensor
