// How attention goes over a pattern when keys lie on the partitions: queries in groups of up to four tiles, and the
// tiles of keys that a group meets in chunks, whose scores fill banks of PSUM.
#pragma once

#include "kernels/sparse/tile_pattern.h"

namespace kiln::kernels {

struct QueryGroup {
  std::int64_t first, tiles, size;  // tiles of queries, none of them empty; and the queries that they have
};
std::vector<QueryGroup> query_groups(const TilePattern& pattern);

// One tile of keys and neighbouring tiles of queries of a group that meet it.
struct KeyRun {
  std::int64_t group, column, first, tiles, size;  // first: in the group; size: queries
  std::vector<std::int64_t> tile;                  // of the pattern, of each tile of queries
  std::int64_t at = 0;                             // of its scores in the chunk
  // Its queries by whether a run before it had them: pieces of [0, size), and true for those that are new.
  std::vector<std::pair<Piece, bool>> parts = {};
};

struct KeyChunk {
  std::int64_t keys, banks;  // keys on the partitions
  std::vector<KeyRun> runs = {};
  std::vector<std::int64_t> ends = {};  // groups whose last one it is
  std::vector<std::int64_t> used;       // columns of each bank
  // What is used of `lanes` copies of it side by side, in as few pieces as possible.
  std::vector<Piece> spans(std::int64_t lanes) const;
};
// Chunks of up to `banks` banks, group by group, the longest runs first. With `fills`, what a group leaves of its last
// chunk goes to the next one: fewer chunks, but two groups, no more, are on their way for longer.
std::vector<KeyChunk> key_chunks(const TilePattern& pattern, const std::vector<QueryGroup>& groups, std::int64_t banks,
                                 bool fills);

}  // namespace kiln::kernels
