// RowBuckets: the elements of a sparse matrix as a kernel takes them. Up to 128 rows lie on the partitions, the longest
// first, and one element of each of them is a slot: slot s has the rows that are longer than s, so nothing is padded.
// Tiles that are dense enough for the tensor engine are taken out as blocks.
#pragma once

#include "kernels/sparse/tile_pattern.h"

namespace kiln::kernels {

constexpr double kScatterNs = 1900;  // of a DMA that puts the rows of a bucket where they belong

struct RowBuckets {
  struct Run {
    std::int64_t rows, slots;  // `slots` slots of the first `rows` rows of the bucket
  };
  struct Bucket {
    std::int64_t rows = 0;
    std::vector<Run> runs = {};            // with ever fewer rows
    std::vector<std::int64_t> tiles = {};  // columns of tiles that the tensor engine takes
    std::int64_t first_row = -1;           // its rows are those from here on, in order; -1: they lie anywhere
    std::int64_t slots() const;
    // The slots in pieces of at most `most`, each with the runs inside of it.
    struct Window {
      std::int64_t first, slots;
      std::vector<Run> runs;
    };
    std::vector<Window> windows(std::int64_t most) const;
  };
  std::vector<Bucket> buckets;
  std::int64_t slot_count = 0, tile_count = 0;
  bool in_order = false;  // row r is row r % 128 of bucket r / 128, and slots that it has no element for are there too
};
std::string key_of(const RowBuckets& buckets);

// A sparse matrix by rows, indices only.
struct CsrPattern {
  std::int64_t rows = 0, columns = 0;
  const std::int64_t* row_start = nullptr;
  const std::int64_t* column = nullptr;
  std::int64_t count() const { return row_start[rows]; }
};

// Where every element of a matrix goes.
struct BucketPlan {
  RowBuckets buckets;
  std::vector<std::int32_t> indices;   // [128, buckets + slots]: rows of all buckets, then columns slot by slot
  std::vector<std::int64_t> slot;      // of each element, its place in [128, slots]; -1: in a block
  std::vector<std::int64_t> in_block;  // of each element, its place in [128, tiles, 128]; -1: in a slot
};

enum class BucketUse : std::uint8_t {
  mixed,       // blocks where they make the whole faster
  only_slots,  // no blocks
  vector,      // no blocks, and rows in order unless they are too different
};

// For products with n columns on a chip.
BucketPlan plan_buckets(const CsrPattern& matrix, std::int64_t n, const Arch& arch, BucketUse use = BucketUse::mixed);

}  // namespace kiln::kernels
