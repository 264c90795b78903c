#include "kernels/sparse/query_groups.h"

#include <algorithm>
#include <map>

namespace kiln::kernels {
namespace {

constexpr std::int64_t kTogether = kWide / kTile;

std::vector<KeyRun> runs_of(const TilePattern& p, const std::vector<QueryGroup>& groups, std::int64_t number) {
  const QueryGroup& g = groups[number];
  std::map<std::int64_t, std::vector<std::pair<std::int64_t, std::int64_t>>> met;  // column -> (row in group, tile)
  for (std::int64_t t = 0; t < g.tiles; ++t) {
    for (std::int64_t e = p.row_start[g.first + t]; e < p.row_start[g.first + t + 1]; ++e)
      met[p.column[e]].emplace_back(t, e);
  }
  std::vector<KeyRun> runs;
  for (const auto& [column, tiles] : met) {
    for (std::size_t i = 0; i < tiles.size(); ++i) {
      const auto [t, e] = tiles[i];
      if (i == 0 || tiles[i - 1].first + 1 != t) runs.push_back({number, column, t, 0, 0, {}});
      KeyRun& run = runs.back();
      run.tile.push_back(e);
      run.size += p.height(g.first + t);
      ++run.tiles;
    }
  }
  // A tile with fewer keys has chunks of its own, after the others.
  std::stable_sort(runs.begin(), runs.end(), [&](const KeyRun& a, const KeyRun& b) {
    const std::int64_t wide = p.width(a.column), other = p.width(b.column);
    return wide != other ? wide > other : a.size > b.size;
  });
  return runs;
}

void put(KeyChunk& chunk, std::int64_t bank, KeyRun run) {
  run.at = bank * kWide + chunk.used[bank];
  chunk.used[bank] += run.size;
  chunk.runs.push_back(std::move(run));
}

// Runs of the next group, the longest that fit: banks are filled one after the other, since what is used must not have
// gaps.
void fill_up(KeyChunk& chunk, std::vector<KeyRun>& runs, const TilePattern& p) {
  for (std::int64_t b = 0; b < chunk.banks; ++b) {
    const auto fits = [&](const KeyRun& run) {
      return p.width(run.column) == chunk.keys && chunk.used[b] + run.size <= kWide;
    };
    for (auto run = runs.begin(); run != runs.end() && (run = std::find_if(run, runs.end(), fits)) != runs.end();) {
      put(chunk, b, std::move(*run));
      run = runs.erase(run);
    }
    if (chunk.used[b] < kWide) return;
  }
}

// Into the first bank that has room, of the chunks from `first` on.
void place(std::vector<KeyChunk>& chunks, std::size_t first, KeyRun run, std::int64_t keys, std::int64_t banks) {
  for (std::size_t i = first; i < chunks.size(); ++i) {
    KeyChunk& chunk = chunks[i];
    if (chunk.keys != keys) continue;
    for (std::int64_t b = 0; b < banks; ++b) {
      if (chunk.used[b] + run.size <= kWide) return put(chunk, b, std::move(run));
    }
  }
  chunks.push_back({.keys = keys, .banks = banks, .used = std::vector<std::int64_t>(banks, 0)});
  put(chunks.back(), 0, std::move(run));
}

// What of a run is new; it is not after this.
void mark_new(KeyRun& run, std::vector<bool>& begun) {
  for (std::int64_t t = 0; t < run.tiles; ++t) {
    const std::int64_t size = std::min(kTile, run.size - t * kTile);
    const bool is_new = !begun[run.first + t];
    begun[run.first + t] = true;
    if (run.parts.empty() || run.parts.back().second != is_new)
      run.parts.push_back({{t * kTile, size}, is_new});
    else
      run.parts.back().first.size += size;
  }
}

}  // namespace

std::vector<QueryGroup> query_groups(const TilePattern& p) {
  std::vector<QueryGroup> groups;
  for (std::int64_t row = 0; row < p.tile_rows();) {
    std::int64_t end = row;
    while (end < p.tile_rows() && p.row_start[end] < p.row_start[end + 1]) ++end;
    for (const Piece& piece : whole_pieces(end - row, kTogether)) {
      const std::int64_t first = row + piece.start, last = first + piece.size;
      groups.push_back({first, piece.size, std::min(p.rows, last * kTile) - first * kTile});
    }
    row = std::max(end, row + 1);
  }
  return groups;
}

std::vector<Piece> KeyChunk::spans(std::int64_t lanes) const {
  std::vector<Piece> found;
  for (std::int64_t b = 0; b < lanes * banks; ++b) {
    const std::int64_t size = used[b % banks], start = b * kWide;
    if (size == 0) continue;
    if (!found.empty() && found.back().start + found.back().size == start)
      found.back().size += size;
    else
      found.push_back({start, size});
  }
  return found;
}

std::vector<KeyChunk> key_chunks(const TilePattern& p, const std::vector<QueryGroup>& groups, std::int64_t banks,
                                 bool fills) {
  std::vector<KeyChunk> chunks;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    std::vector<KeyRun> runs = runs_of(p, groups, static_cast<std::int64_t>(g));
    const auto is_before = [&](const KeyRun& run) { return run.group + 1 == static_cast<std::int64_t>(g); };
    if (fills && !chunks.empty() && std::ranges::all_of(chunks.back().runs, is_before)) fill_up(chunks.back(), runs, p);
    const std::size_t first = chunks.size();
    for (KeyRun& run : runs) {
      const std::int64_t keys = p.width(run.column);
      place(chunks, first, std::move(run), keys, banks);
    }
  }
  std::vector<std::vector<bool>> begun;
  for (const QueryGroup& g : groups) begun.emplace_back(g.tiles, false);
  std::vector<std::size_t> last(groups.size());
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    for (KeyRun& run : chunks[i].runs) {
      mark_new(run, begun[run.group]);
      last[run.group] = i;
    }
  }
  for (std::size_t g = 0; g < groups.size(); ++g) chunks[last[g]].ends.push_back(static_cast<std::int64_t>(g));
  return chunks;
}

}  // namespace kiln::kernels
