// Scratch: memory for what comes from other processes, kept from one collective of a run to the next. Fresh memory
// would be cleared page by page each time, which takes as long as what it is for.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace kiln::sim {

class Scratch {
 public:
  // Memory with any content, until `reset`.
  std::byte* take(std::size_t bytes) {
    for (std::size_t i = next_; i < blocks_.size(); ++i) {
      if (blocks_[i].size < bytes) continue;
      std::swap(blocks_[i], blocks_[next_]);
      return blocks_[next_++].data.get();
    }
    blocks_.push_back({std::make_unique_for_overwrite<std::byte[]>(bytes), bytes});
    std::swap(blocks_.back(), blocks_[next_]);
    return blocks_[next_++].data.get();
  }
  void reset() { next_ = 0; }

 private:
  struct Block {
    std::unique_ptr<std::byte[]> data;
    std::size_t size;
  };
  std::vector<Block> blocks_;  // those before next_ are taken
  std::size_t next_ = 0;
};

}  // namespace kiln::sim
