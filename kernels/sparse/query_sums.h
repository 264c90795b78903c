// QuerySums: the sums of dq of one head, which stay in SBUF while tiles of keys go by. Heads of up to 128 elements have
// them turned, [head, queries], for four tiles of queries at a time, so that products have as many columns; longer ones
// as they lie, since the head has columns enough.
#pragma once

#include <memory>

#include "kernels/sparse/attention_parts.h"

namespace kiln::kernels {

class QuerySums {
 public:
  // The gradients of up to four tiles of queries and as many neighbouring tiles of keys, turned: keys on the
  // partitions.
  struct Block {
    std::int64_t first = 0;  // tile of queries
    isa::View turned;        // [128, tiles of keys, queries]
    std::vector<std::vector<bool>> met =
        std::vector<std::vector<bool>>(4, std::vector<bool>(4, false));  // [key][query]
  };

  QuerySums(isa::Kernel& k, const AttentionConfig& config);
  // Of a partition.
  static std::int64_t bytes(const AttentionConfig& config);
  // Queries whose sums fit so many bytes.
  static std::int64_t most_queries(std::int64_t head, std::int64_t bytes);
  // Tiles of queries that a block has.
  static std::int64_t rows_of_block(const AttentionConfig& config);

  std::shared_ptr<Block> begin_block(std::int64_t row) const;
  // Where the gradients of a tile of queries and `count` tiles of keys from `first` on go: [128, count, queries].
  isa::View place(Block& block, std::int64_t row, std::int64_t first, std::int64_t count) const;
  // All of a block is there; `keys` are the tiles of keys as they lie.
  void add(const Block& block, const std::vector<isa::View>& keys);
  // scale times the sums, as they lie; zeros where nothing was added.
  void store(const isa::View& memory);

 private:
  bool is_turned() const { return c_.head <= kTile; }
  std::int64_t first_partition(std::int64_t row) const;
  isa::View sums_of(std::int64_t row, std::int64_t tiles) const;
  void add_products(const Block& block, const std::vector<isa::View>& keys, const isa::View& products) const;
  void add_turned(const Block& block, const std::vector<isa::View>& keys);
  void add_straight(const Block& block, const std::vector<isa::View>& keys);
  void add_up(const isa::View& to, const isa::View& more, bool is_begun) const;
  void scale(const isa::View& to, const isa::View& from, std::int64_t partition) const;
  void store_run(const isa::View& memory, std::int64_t row, std::int64_t tiles);

  isa::Kernel& k_;
  const AttentionConfig& c_;
  const TilePattern& p_;
  isa::View sums_;   // [128, pairs of blocks or blocks, 512], or [128, tiles, head]
  isa::View scale_;  // [128, 1]
  std::vector<bool> begun_;
};

}  // namespace kiln::kernels
