// What attention of several heads in one pass works on: how tokens lie on partitions, and the sizes of a pass.
#pragma once

#include "kiln/tensor/lower/region.h"

namespace kiln::tensor {

// Tokens on partitions: `follow` of them after each other on each of `rows`, as they lie in HBM. Block f is the f-th
// token of every partition; on the last partition the first `last` blocks have one.
struct TokenRows {
  std::int64_t tokens = 0, rows = 0, follow = 1;
  std::int64_t last() const { return tokens - (rows - 1) * follow; }
  std::int64_t count(std::int64_t block) const { return block < last() ? rows : rows - 1; }
  bool is_even() const { return last() == follow; }
};

// The tokens of the heads of a pass, `depth` elements each, in HBM and in SBUF.
struct RegionEmitter::Tokens {
  TokenRows at;
  std::int64_t heads = 1, depth = 0;
  bool shared = false;                            // all heads have the same
  bool is_keys = false;
  isa::View hbm = {};                             // nothing: it lies in SBUF already
  isa::Index place = 0;                           // the first element in HBM, or of a partition of SBUF
  std::int64_t hbm_head = 0, hbm_token = 0;       // elements from one to the next
  DType dtype = DType::float32;
  isa::Index hbm_place = 0;                       // of a result: the first element in HBM
  isa::View tile = {};
  std::int64_t head = 0, block = 0;               // the same in SBUF
  std::int64_t head_step() const { return shared ? 0 : head; }
};

struct RegionEmitter::Together {
  Attention a;
  std::int64_t heads = 1;            // of a pass
  std::int64_t depth = 0, wide = 0;  // elements of a key, of a value
  TokenRows queries = {}, keys = {};
  std::int64_t stacked = 1;  // heads whose queries and keys lie above each other on partitions
  isa::View mask = {}, identity = {};
  int bias = -1;            // the load of one number for each key, which is added to its scores
  double bias_factor = 1;   // times this
};

// What tells whether the largest scores are needed after all.
struct RegionEmitter::ChecksOfHeads {
  isa::View fine;     // 1 while the sums are in range
  isa::View strange;  // 0 while the results are numbers
};

// Tokens as columns: those of heads above each other on partitions, then the next ones `step` columns behind.
struct RegionEmitter::Columned {
  isa::View tile;
  std::int64_t step = 0;  // 0: all heads have the same
};

// The operands of a pass: queries and keys as columns, values with ones behind them.
struct RegionEmitter::PassOfHeads {
  Columned queries, keys;
  isa::View values;
  std::int64_t value_step = 0;  // from one head to the next
  isa::View bias = {};          // (keys, blocks of them)
  Tokens out;
  isa::View inverse;  // of sums of weights: (queries, blocks, heads)
};

// Some heads of a pass, for some blocks of queries, with the weights of every block of keys of every head.
struct RegionEmitter::SomeHeads {
  std::int64_t first = 0, count = 1;
  isa::Index first_block = 0;
  std::int64_t blocks = 1;
  std::vector<isa::View> weights;
};

}  // namespace kiln::tensor
