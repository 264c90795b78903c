// What attention of several heads in one pass works on: how tokens lie on partitions, and the sizes of a pass.
#pragma once

#include "kiln/tensor/lower/region.h"

namespace kiln::tensor {

// Tokens on partitions: `follow` of them after each other on each of `rows`, as they lie in HBM. Block f is the f-th
// token of every partition; on the last partition the first `last` blocks have one. Or, as other regions leave them in
// SBUF, block f is 128 tokens that follow each other, of which the last block may have fewer.
struct TokenRows {
  std::int64_t tokens = 0, rows = 0, follow = 1;
  bool in_blocks = false;
  std::int64_t last() const { return tokens - (rows - 1) * follow; }
  std::int64_t count(std::int64_t block) const {
    if (in_blocks) return std::min(rows, tokens - block * rows);
    return block < last() ? rows : rows - 1;
  }
  bool is_even() const { return in_blocks ? count(follow - 1) == rows : last() == follow; }
  // Tokens from one partition to the next, from one block to the next.
  std::int64_t apart() const { return in_blocks ? 1 : follow; }
  std::int64_t block() const { return in_blocks ? rows : 1; }
};

// What DMAs move of tokens: partitions that are full, and then the last one.
template <class Move>
void over_token_rows(const TokenRows& at, const Move& move) {
  const std::int64_t full = at.is_even() ? at.rows : at.rows - 1;
  if (full > 0) move(0, full, at.follow);
  if (!at.is_even()) move(full, 1, at.last());
}

// The heads of a pass: all, or some, of the innermost loop for each of some of the loop around it.
struct HeadCount {
  std::int64_t outer = 1, inner = 1;
  std::int64_t all() const { return outer * inner; }
};

// The tokens of the heads of a pass, `depth` elements each, in HBM and in SBUF.
struct RegionEmitter::Tokens {
  TokenRows at;
  HeadCount heads;            // of which there are tokens
  std::int64_t of_inner = 1;  // heads of the innermost loop that a pass has
  std::int64_t depth = 0;
  bool is_keys = false;
  isa::View hbm = {};                                       // nothing: it lies in SBUF already
  isa::Index place = 0;                                     // the first element in HBM, or of a partition of SBUF
  isa::Index hbm_place = 0;                                 // of a result: the first element in HBM
  std::int64_t hbm_outer = 0, hbm_head = 0, hbm_token = 0;  // elements from one to the next
  std::int64_t beside = 1, hbm_beside = 0;  // heads on partitions beside each other; elements from one to the next
  DType dtype = DType::float32;
  isa::View tile = {};
  std::int64_t outer = 0, head = 0, block = 0;  // the same in SBUF
  bool is_shared() const { return heads.inner < of_inner; }
  // The place among those that there are of a head of the pass.
  std::int64_t index(std::int64_t h) const {
    const std::int64_t o = heads.outer == 1 ? 0 : h / of_inner;
    return o * heads.inner + (is_shared() ? 0 : h % of_inner);
  }
  std::int64_t offset(std::int64_t i) const { return i / heads.inner * outer + i % heads.inner * head; }
};

// What is added to the score of each pair of a query and a key: numbers of HBM times a factor, or where these are
// truth, nothing and what hides a key.
struct RegionEmitter::PairTerm {
  int load = -1;
  double factor = 1;
  bool hides = false;
};

struct RegionEmitter::Together {
  Attention a;
  std::int64_t inner = 1, outer = 1;  // passes of the two innermost loops, each with the heads that lie side by side
  std::int64_t beside = 1;            // heads whose tokens lie on partitions beside each other, of `beside_loop`
  std::size_t beside_loop = 0;
  HeadCount heads;                   // of a pass
  std::int64_t depth = 0, wide = 0;  // elements of a key, of a value
  TokenRows queries = {}, keys = {};
  std::int64_t stacked = 1;       // heads whose queries and keys lie above each other on partitions
  bool holds_values = false;      // the tensor engine holds values, and weights come by
  bool side_by_side = false;      // scores of heads that lie above each other are computed at the same time
  DType turned = DType::float32;  // of what is turned then
  std::int64_t score_banks = 2;   // of PSUM, whose exponentials are taken together
  isa::View mask = {}, identity = {};
  int bias = -1;            // the load of one number for each key, which is added to its scores
  double bias_factor = 1;   // times this
  bool bias_hides = false;  // it is truth: what is not true is hidden
  std::vector<PairTerm> pairs = {};
  isa::View pairs_of_all =
      {};  // their sum, where it is the same for all passes: (keys, heads, blocks of them, queries)
};

// What tells whether the largest scores are needed after all.
struct RegionEmitter::ChecksOfHeads {
  isa::View fine;     // 1 while the sums are in range
  isa::View strange;  // 0 while the results are numbers
};

// Tokens as columns: those of heads above each other on partitions, then the next ones `step` columns behind.
struct RegionEmitter::Columned {
  Tokens of;
  std::int64_t stacked = 1, step = 0;
  isa::View tile = {};
  std::int64_t column(std::int64_t h) const { return of.index(h) / (of.is_shared() ? 1 : stacked) * step; }
  std::int64_t count() const { return of.heads.all() / (of.is_shared() ? 1 : stacked); }
};

// The operands of a pass: queries and keys as columns, values with ones behind them.
struct RegionEmitter::PassOfHeads {
  Columned queries, keys;
  isa::View values;
  Tokens values_of;
  isa::View bias = {};   // (keys, blocks of them)
  isa::View pairs = {};  // as pairs_of_all
  Tokens out;
  isa::View inverse;  // of sums of weights: (queries, blocks, heads)
};

// Some heads of a pass, for some blocks of queries, with the weights of every block of keys of every head.
struct RegionEmitter::SomeHeads {
  std::int64_t first = 0, count = 1;
  isa::Index first_block = 0;
  std::int64_t blocks = 1;
  std::vector<isa::View> weights;
  std::vector<isa::View> products = {};  // of held values with them, of each head
};

}  // namespace kiln::tensor
