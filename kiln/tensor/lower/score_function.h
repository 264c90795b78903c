// What attention with keys on partitions works on: some keys, and the function of scores that their weights are made
// of.
#pragma once

#include "kiln/tensor/lower/region.h"

namespace kiln::tensor {

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

}  // namespace kiln::tensor
