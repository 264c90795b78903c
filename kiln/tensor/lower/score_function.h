// What attention with keys on partitions works on: some keys, and the function of scores that their weights are made
// of.
#pragma once

#include <algorithm>

#include "kiln/tensor/lower/region.h"

namespace kiln::tensor {

constexpr double kHiddenTerm = -1e30;            // what is added to a score that nobody sees
constexpr std::int64_t kHeldOperand = 72 << 10;  // bytes per partition of a mask that all heads share
constexpr std::int64_t kHeldTerm = 128 << 10;    // of what is added to the scores of all heads, in float32
constexpr std::int64_t kQueries = 512;           // that meet a block of keys together, at most

// Blocks of keys that a group of queries meets together.
struct RegionEmitter::Keys {
  isa::Index block;  // the first
  std::int64_t blocks = 1;
  std::int64_t count = kBlock;
  std::int64_t from = 0;                   // queries before this one see none of them
  std::optional<std::int64_t> edge = {};   // the query that sees the first key and no other; may be below 0
  std::int64_t to = -1;                    // queries from this one on see none of them; below 0: there are none such
  std::optional<std::int64_t> floor = {};  // of a window: the last query that sees all of them
};

// An operand of the function that lies in HBM.
struct RegionEmitter::FunctionLeaf {
  int load = 0;
  std::int64_t query = 0, key = 0;  // elements from one to the next; 0: one for all
  int level = 0;                    // the innermost loop that it moves with
};

// exp(f(scores)) as a program of (keys, queries), and its one region.
struct RegionEmitter::TurnedFunction {
  Graph graph;
  Fusion fusion;
  Layout layout;
  std::vector<Value> ops;
  std::vector<FunctionLeaf> leaves;  // by load of the layout
  Value scores = 0, out = 0;
  bool has_keys = false;  // some operand has one value per key
  std::unique_ptr<RegionEmitter> emitter;

  DType dtype(std::size_t leaf) const {
    const DType t = graph.type(layout.loads[leaf].value).dtype;
    return t == DType::bool_ ? DType::uint8 : t;
  }
};

// What is added to the score of each pair. Exponentials are taken of `scale` times scores, and `factor` times what is
// added.
struct RegionEmitter::ScoreTerm {
  FunctionLeaf leaf;
  bool hides = false;
  DType dtype = DType::bfloat16;  // as it lies in SBUF; what has 32 bits the vector engine adds alone
  double scale = 1, factor = 1;
  std::int64_t keys = kBlock, blocks = 0;  // of a block, all
  std::vector<std::int64_t> of_tensor;     // first blocks of pairs that the tensor engine adds it to
  Tile held = {};                          // (keys, groups of queries, blocks, queries)
  isa::View identity = {};
  // What the tensor engine adds, rounded and what that leaves: it is added in units of a score.
  std::optional<isa::View> high = {}, low = {};

  bool by_group = false;  // it is loaded for a group of queries before that is worked on
  bool in_low = false;    // it has a low part
  std::int64_t most = 0;  // queries that it is held for
  // Groups of queries that it is held for at a time: the first query and the number of queries of each.
  std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> parts = {};
  std::size_t part = 0;  // the one that it is held for
  const std::vector<std::pair<std::int64_t, std::int64_t>>& groups() const { return parts[part]; }
  std::int64_t first() const { return groups()[0].first; }

  isa::Index at(const isa::Index& start, const isa::Index& block, std::int64_t n) const {
    return (start - first()) * blocks + block * n;
  }
  // The place of a pair among those of the tensor engine; nothing where it has another way.
  std::optional<std::int64_t> place(const Keys& k) const {
    if (k.blocks != 2 || !k.block.is_constant()) return {};
    const auto it = std::find(of_tensor.begin(), of_tensor.end(), k.block.constant());
    if (it == of_tensor.end()) return {};
    return 2 * (it - of_tensor.begin());
  }
  std::int64_t blocks_of_tensor() const { return 2 * static_cast<std::int64_t>(of_tensor.size()); }
};

}  // namespace kiln::tensor
