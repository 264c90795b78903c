#include "kiln/isa/semantics/grid.h"

#include <algorithm>
#include <optional>

#include "kiln/isa/semantics/box.h"

namespace kiln::isa {
namespace {

constexpr std::int64_t kLeastRow = 8;  // shorter rows are better brought together first
constexpr int kMostDims = 8;
constexpr std::size_t kTiles = kGridInputs + 1;  // the result is the first

bool is_regular_float(const Tile& t) {
  return t.dtype == DType::float32 && !t.row_offset && !t.column &&
         t.row_bytes % static_cast<std::int64_t>(sizeof(float)) == 0;
}

// A column stands for rows of `columns` equal elements.
TileDims dims_of_input(const GridInput& in, std::int64_t columns) {
  TileDims of = *dims_of(*in.tile);
  if (in.is_column) of.rank = 2, of.dims[1] = {0, columns};
  return of;
}

// What tiles of one shape have in common: dimensions from the innermost on, with the stride of each tile.
struct Grid {
  struct Axis {
    std::int64_t count;
    std::int64_t stride[kTiles];
  };
  std::size_t tiles = 0;
  float* data[kTiles];
  int rank = 0;
  Axis axes[kMostDims];

  // Adds the next outer dimension; one that goes on where the last one ends makes it longer.
  bool add(const Axis& axis) {
    if (rank > 0) {
      Axis& last = axes[rank - 1];
      bool goes_on = true;
      for (std::size_t t = 0; t < tiles; ++t) goes_on = goes_on && axis.stride[t] == last.stride[t] * last.count;
      if (goes_on) {
        last.count *= axis.count;
        return true;
      }
    }
    if (rank == kMostDims) return false;
    axes[rank++] = axis;
    return true;
  }
};

// Nothing when the dimensions of one tile do not divide those of another.
std::optional<Grid> common_grid(TileDims* tiles, std::size_t count, std::int64_t elements) {
  Grid grid;
  grid.tiles = count;
  for (std::int64_t left = elements; left > 1;) {
    Grid::Axis axis{left, {}};
    for (std::size_t t = 0; t < count; ++t) axis.count = std::min(axis.count, tiles[t].inner().count);
    for (std::size_t t = 0; t < count; ++t) {
      if (axis.count < 2 || tiles[t].inner().count % axis.count) return std::nullopt;
      axis.stride[t] = tiles[t].inner().stride;
      tiles[t].take(axis.count);
    }
    if (!grid.add(axis)) return std::nullopt;
    left /= axis.count;
  }
  return grid;
}

// Rows of the result have no gaps, and those of an operand none, or one element.
bool has_rows(const Grid& grid) {
  if (grid.rank == 0 || grid.axes[0].count < kLeastRow || grid.axes[0].stride[0] != 1) return false;
  return std::all_of(grid.axes[0].stride + 1, grid.axes[0].stride + grid.tiles,
                     [](std::int64_t s) { return s == 0 || s == 1; });
}

// The axis of pairs that follow each other: the second one where the first one is inside them, the first one where the
// tiles have one number of each alone; -1: there are no pairs.
int axis_of_pairs(const Grid& grid) {
  const auto are = [&](int axis, auto fits) {
    return std::all_of(grid.axes[axis].stride, grid.axes[axis].stride + grid.tiles, fits);
  };
  const int pairs = grid.rank > 0 && grid.axes[0].stride[0] == 1 ? 1 : 0;
  if (grid.rank <= pairs || grid.axes[pairs].count < kLeastRow / 2) return -1;
  const bool are_whole = pairs == 0 || (grid.axes[0].count == 2 && are(0, [](auto s) { return s >= -1 && s <= 1; }));
  return are_whole && are(pairs, [](auto s) { return s == 2; }) ? pairs : -1;
}

std::optional<Grid> grid_of(const Tile& dst, std::span<const GridInput> inputs) {
  TileDims tiles[kTiles];
  std::size_t count = 0;
  if (!is_regular_float(dst)) return std::nullopt;
  tiles[count++] = *dims_of(dst);
  for (const GridInput& in : inputs) {
    const bool fits = in.tile->rows == dst.rows && (in.is_column || in.tile->free_size == dst.free_size);
    if (!fits || !is_regular_float(*in.tile)) return std::nullopt;
    tiles[count++] = dims_of_input(in, dst.free_size);
  }
  std::optional<Grid> grid = common_grid(tiles, count, dst.count());
  if (!grid) return std::nullopt;
  grid->data[0] = reinterpret_cast<float*>(dst.data);
  for (std::size_t i = 0; i < inputs.size(); ++i) grid->data[i + 1] = reinterpret_cast<float*>(inputs[i].tile->data);
  return grid;
}

// Tiles without gaps are one long row in any walk; and where rows are too short is seen at once, mostly.
bool goes_otherwise(const Tile& dst, std::span<const GridInput> inputs) {
  if (!dst.is_dense()) return dst.free_size < kLeastRow;
  return std::ranges::all_of(inputs, [](const GridInput& in) { return !in.is_column && in.tile->is_dense(); });
}

// Calls fn(offset of each tile) for all places of the dimensions from `first` on.
template <class Fn>
void for_outer(const Grid& grid, int first, Fn&& fn) {
  std::int64_t index[kMostDims] = {}, offset[kTiles] = {};
  while (true) {
    fn(offset);
    int a = first;
    for (; a < grid.rank; ++a) {
      const Grid::Axis& axis = grid.axes[a];
      for (std::size_t t = 0; t < grid.tiles; ++t) offset[t] += axis.stride[t];
      if (++index[a] < axis.count) break;
      for (std::size_t t = 0; t < grid.tiles; ++t) offset[t] -= axis.stride[t] * axis.count;
      index[a] = 0;
    }
    if (a >= grid.rank) return;
  }
}

bool is_asked(const Run& r, const Tile& dst) { return r.seen && r.seen->data == dst.data; }
bool may_walk(const Run& r, const Tile& dst) {
  return &r.k == &fast_kernels() && &r.k != &plain_kernels() && !(is_asked(r, dst) && r.seen->before.asked);
}

void tell(const Run& r, const Tile& dst, std::uint32_t largest) {
  if (!is_asked(r, dst)) return;
  r.seen->largest = std::max(r.seen->largest, largest);
  r.seen->elements += dst.count();
}

// Whether tiles may have pairs: seen at once.
bool ends_in_pairs(const Tile& dst, const Tile& a, const Tile& b) {
  const auto last = [](const Tile& t) { return t.free_rank ? t.free[t.free_rank - 1] : Dim{1, 1}; };
  if (last(dst).stride == 1 && a.is_dense() && b.is_dense()) return false;
  return last(dst).stride == 2 || (last(dst).stride == 1 && (last(a).count == 2 || last(b).count == 2));
}

}  // namespace

bool map_pairs(const Run& r, const Tile& dst, const Tile& a, const Tile& b,
               FunctionRef<std::uint32_t(const PairPiece&)> body) {
  if (!ends_in_pairs(dst, a, b) || !may_walk(r, dst)) return false;
  const GridInput inputs[] = {{&a}, {&b}};
  const std::optional<Grid> grid = grid_of(dst, inputs);
  const int pairs = grid ? axis_of_pairs(*grid) : -1;
  if (pairs < 0) return false;
  const Grid::Axis down = grid->rank > pairs + 1 ? grid->axes[pairs + 1] : Grid::Axis{1, {}};
  PairPiece piece{.rows = static_cast<std::size_t>(down.count),
                  .n = static_cast<std::size_t>(grid->axes[pairs].count),
                  .in = {},
                  .out = nullptr,
                  .out_step = down.stride[0],
                  .first_only = pairs == 0};
  std::uint32_t largest = 0;
  for_outer(*grid, pairs + 2, [&](const std::int64_t* offset) {
    piece.out = grid->data[0] + offset[0];
    for (std::size_t t = 1; t < grid->tiles; ++t)
      piece.in[t - 1] = {grid->data[t] + offset[t], down.stride[t], static_cast<int>(grid->axes[0].stride[t])};
    largest = std::max(largest, body(piece));
  });
  tell(r, dst, largest);
  return true;
}

bool map_grid(const Run& r, const Tile& dst, std::span<const GridInput> inputs, std::size_t most,
              FunctionRef<std::uint32_t(const GridPiece&)> body) {
  if (!may_walk(r, dst) || goes_otherwise(dst, inputs)) return false;
  const std::optional<Grid> found = grid_of(dst, inputs);
  if (!found || !has_rows(*found)) return false;
  const Grid& grid = *found;
  const Grid::Axis& across = grid.axes[0];
  const Grid::Axis down = grid.rank > 1 ? grid.axes[1] : Grid::Axis{1, {}};
  const auto at_most = static_cast<std::int64_t>(most);
  const std::int64_t width = std::min(across.count, at_most), height = std::max<std::int64_t>(at_most / width, 1);
  std::uint32_t largest = 0;
  for_outer(grid, 2, [&](const std::int64_t* offset) {
    for (std::int64_t row = 0; row < down.count; row += height) {
      for (std::int64_t first = 0; first < across.count; first += width) {
        GridPiece piece;
        piece.rows = std::min(height, down.count - row);
        piece.n = std::min(width, across.count - first);
        const auto at = [&](std::size_t t) {
          return grid.data[t] + offset[t] + row * down.stride[t] + first * across.stride[t];
        };
        for (std::size_t t = 1; t < grid.tiles; ++t) piece.in[t - 1] = {at(t), down.stride[t], across.stride[t] == 0};
        piece.out = at(0);
        piece.out_step = down.stride[0];
        largest = std::max(largest, body(piece));
      }
    }
  });
  tell(r, dst, largest);
  return true;
}

}  // namespace kiln::isa
