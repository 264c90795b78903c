#include "kiln/sim/postponed.h"

#include <algorithm>

#include "kiln/sim/declared_storage.h"
#include "kiln/sim/plain_copy.h"

namespace kiln::sim {
using namespace isa;
namespace {

constexpr std::int64_t kMinLoadBytes = 16 << 10;  // smaller copies are not worth the looking
constexpr std::int64_t kMinRunBytes = 1024;       // shorter pieces far apart are gathered better once than at each use
constexpr std::int64_t kMinDenseRowBytes = 64;    // of pieces that follow each other

// The elements of a row: runs of some that follow each other without a gap, and from the begin of one to the next.
struct Runs {
  std::int64_t size, between;  // size 0: every element by itself
};
Runs runs_of(const Tile& t) {
  if (t.free_rank == 0) return {t.free_size, t.free_size};
  const Dim& inner = t.free[t.free_rank - 1];
  if (inner.stride != 1) return {0, 0};
  return {inner.count, t.free_rank == 1 ? inner.count : t.free[0].stride};
}

// Whether a tile is written in runs that may have gaps between them.
bool has_runs(const Tile& t) {
  const Runs runs = runs_of(t);
  return !t.column && !t.row_offset && t.free_rank <= 2 && runs.size > 0 && runs.between >= runs.size;
}

// Whether the pieces that partitions get of a block are long, or follow each other.
bool is_worth_reading(const Tile& t) {
  const std::int64_t bytes = runs_of(t).size * t.element_bytes();
  return bytes >= (t.row_bytes == bytes ? kMinDenseRowBytes : kMinRunBytes);
}

bool is_aligned(const Tile& t) {
  bool is = reinterpret_cast<std::uintptr_t>(t.data) % kTileAlignment == 0 && t.row_bytes % kTileAlignment == 0;
  for (int d = 0; d + 1 < t.free_rank; ++d) is = is && t.free[d].stride * t.element_bytes() % kTileAlignment == 0;
  return is;
}

// Where a tile of the same storage lies in a load: its first row and the first byte of it, among those of the load.
struct Place {
  std::int64_t row, byte;
};
Place place_in(const PostponedLoad& load, const Tile& tile) {
  const std::int64_t row = tile.lane - load.to.lane;
  return {row, (tile.data - load.to.data) - row * load.to.row_bytes};
}

// The bytes of a row that a tile reaches, from its first element on.
struct Reach {
  std::int64_t begin = 0, end = 0;
};
Reach reach_of(const Tile& t) {
  Reach reach{0, t.element_bytes()};
  for (int d = 0; d < t.free_rank; ++d) {
    const std::int64_t bytes = t.free[d].stride * (t.free[d].count - 1) * t.element_bytes();
    (bytes < 0 ? reach.begin : reach.end) += bytes;
  }
  return reach;
}

bool is_met(const PostponedLoad& load, const Tile& tile) {
  const Place at = place_in(load, tile);
  const Reach reach = reach_of(tile);
  return at.row < load.to.rows && at.row + tile.rows > 0 && at.byte + reach.begin < reach_of(load.to).end &&
         at.byte + reach.end > 0;
}

// The element of a row of the load that one of a row of its tile is, where as many as `count` follow each other in
// both; -1 where the tile has a gap.
std::int64_t element_of(const PostponedLoad& load, std::int64_t in_tile, std::int64_t count) {
  const Runs to = runs_of(load.to);
  if (to.between == to.size) return in_tile;
  const std::int64_t run = in_tile / to.between, in_run = in_tile % to.between;
  return in_run + count <= to.size ? run * to.size + in_run : -1;
}

}  // namespace

bool Postponed::add(const Run& run, const Bindings& bindings) {
  if (!may_postpone_) return false;
  const int dst = to_of(run), src = from_of(run);
  const TensorId id = run.access(dst).tensor;
  const Tensor& to = run.tensor(dst);
  const Role role = run.tensor(src).role;
  if (role != Role::input && !(role == Role::inout && from_inout_)) return false;
  if (to.memory != Memory::sbuf || !is_declared_storage(to)) return false;
  const Tile &d = run.tile(dst), &s = run.tile(src);
  if (bindings[id].storage->is_external()) return false;  // in an output, or with the input already
  if (!has_runs(d) || s.row_offset || s.column) return false;
  if (d.dtype != s.dtype || d.rows != s.rows || d.free_size != s.free_size || s.free_rank > 2) return false;
  if (!is_aligned(s) || d.count() * d.element_bytes() < kMinLoadBytes) return false;
  if (!is_worth_reading(s)) return false;
  bindings[id].storage->largest.reset();
  const TensorId from = run.access(src).tensor;
  loads_[id].push_back({&run.inst(), run.sequence, from, bindings[from].storage.get(), d, s});
  return true;
}

TensorId Postponed::reader_of(TensorId from) const {
  const auto reads = [&](const PostponedLoad& load) { return load.from_tensor == from; };
  for (const auto& [id, loads] : loads_) {
    if (std::ranges::any_of(loads, reads)) return id;
  }
  return kNone;
}

bool Postponed::meets(TensorId id, const Tile& tile) const {
  const auto it = loads_.find(id);
  return it != loads_.end() && std::ranges::any_of(it->second, [&](const auto& load) { return is_met(load, tile); });
}

Storage* Postponed::move(TensorId id, Tile& tile) const {
  const auto it = loads_.find(id);
  if (it == loads_.end() || !tile.row_is_contiguous() || tile.row_offset) return nullptr;
  for (const PostponedLoad& load : it->second) {
    const std::int64_t size = tile.element_bytes(), run = runs_of(load.from).size;
    const auto [row, byte] = place_in(load, tile);
    if (size != load.from.element_bytes() || row < 0 || row + tile.rows > load.from.rows || byte < 0 || byte % size)
      continue;
    const std::int64_t element = element_of(load, byte / size, tile.free_size);
    if (element < 0) continue;
    const std::int64_t block = element / run, in_run = element % run;
    const std::int64_t blocks = tile.free_size / run;
    const bool is_in_one = in_run + tile.free_size <= run;
    const bool is_of_blocks = in_run == 0 && tile.free_size == blocks * run;
    if (element + tile.free_size > load.from.free_size || (!is_in_one && !is_of_blocks)) continue;
    const std::int64_t between = runs_of(load.from).between;
    tile.data = load.from.data + row * load.from.row_bytes + (block * between + in_run) * size;
    tile.row_bytes = load.from.row_bytes;
    if (!is_in_one) {
      tile.free_rank = 2;
      tile.free[0] = {between, blocks};
      tile.free[1] = {1, run};
    }
    return load.input;
  }
  return nullptr;
}

std::vector<PostponedLoad> Postponed::take(TensorId id) {
  auto node = loads_.extract(id);
  return node ? std::move(node.mapped()) : std::vector<PostponedLoad>{};
}

}  // namespace kiln::sim
