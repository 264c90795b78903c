#include "kiln/isa/semantics/track.h"

#include <algorithm>

namespace kiln::isa {
namespace {

// Spreads the shadow of one input over a grid of rows x columns: same shape, or one value per row.
void merge(std::vector<Shadow>& grid, std::int64_t rows, std::int64_t columns, const std::vector<Shadow>& in) {
  const std::int64_t in_columns = rows ? static_cast<std::int64_t>(in.size()) / rows : 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      Shadow& s = grid[r * columns + c];
      if (s == 0 && in_columns > 0) s = in[r * in_columns + (in_columns == columns ? c : 0)];
    }
  }
}

// Calls fn(param) for inputs that are tiles, fn for outputs alike.
template <class Fn>
void for_inputs(Track& t, Fn&& fn) {
  const auto& params = t.row().params;
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (params[i].is_input() && t.has(static_cast<int>(i)) && t.is_tile(static_cast<int>(i))) fn(static_cast<int>(i));
  }
}
template <class Fn>
void for_outputs(Track& t, Fn&& fn) {
  const auto& params = t.row().params;
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (params[i].is_output() && t.has(static_cast<int>(i))) fn(static_cast<int>(i));
  }
}

bool all_clean(Track& t) {
  bool clean = true;
  for_inputs(t, [&](int p) { clean &= t.is_clean(p); });
  return clean;
}

// Per row: the first shadow in any input.
std::vector<Shadow> row_shadow(Track& t, std::int64_t rows) {
  std::vector<Shadow> out(rows);
  for_inputs(t, [&](int p) {
    const std::vector<Shadow> in = t.read(p);
    const std::int64_t columns = static_cast<std::int64_t>(in.size()) / rows;
    for (std::int64_t row = 0; row < rows; ++row) {
      const Shadow* const at = &in[row * columns];
      const Shadow* const found = std::find_if(at, at + columns, [](Shadow s) { return s != 0; });
      if (out[row] == 0 && found != at + columns) out[row] = *found;
    }
  });
  return out;
}

}  // namespace

std::vector<Shadow> overlay(Track& t, int tile, std::initializer_list<int> inputs) {
  std::vector<Shadow> grid;
  for (int in : inputs) {
    if (!t.is_tile(in) || t.is_clean(in)) continue;
    grid.resize(t.access(tile).count());
    merge(grid, t.partitions(tile), t.free_size(tile), t.read(in));
  }
  return grid;
}

void track_none(Track& t) {
  for_outputs(t, [&](int p) { t.write_clean(p); });
}

void track_elementwise(Track& t) {
  if (all_clean(t)) return track_none(t);
  for_outputs(t, [&](int out) {
    const std::int64_t rows = t.partitions(out), columns = t.free_size(out);
    std::vector<Shadow> grid(rows * columns);
    // An output of another shape (a row reduction) depends on its whole row.
    if (columns != t.free_size(0)) {
      merge(grid, rows, columns, row_shadow(t, t.partitions(0)));
    } else {
      for_inputs(t, [&](int in) { merge(grid, rows, columns, t.read(in)); });
    }
    t.write(out, grid);
  });
}

void track_rows(Track& t) {
  if (all_clean(t)) return track_none(t);
  const auto per_row = row_shadow(t, t.partitions(0));
  for_outputs(t, [&](int out) {
    std::vector<Shadow> grid(t.partitions(out) * t.free_size(out));
    merge(grid, t.partitions(out), t.free_size(out), per_row);
    t.write(out, grid);
  });
}

void track_prefix(Track& t) {
  if (all_clean(t)) return track_none(t);
  const std::int64_t rows = t.partitions(0), columns = t.free_size(0);
  std::vector<Shadow> grid(rows * columns);
  for_inputs(t, [&](int in) { merge(grid, rows, columns, t.read(in)); });
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    if (i % columns && grid[i] == 0) grid[i] = grid[i - 1];
  }
  for_outputs(t, [&](int out) {
    if (t.free_size(out) == columns) return t.write(out, grid);
    std::vector<Shadow> last(rows * t.free_size(out));
    for (std::size_t i = 0; i < last.size(); ++i) last[i] = grid[i / t.free_size(out) * columns + columns - 1];
    t.write(out, last);
  });
}

void track_flat(Track& t) {
  if (all_clean(t)) return track_none(t);
  for_inputs(t, [&](int in) {
    const auto shadow = t.read(in);
    for_outputs(t, [&](int out) { t.write(out, shadow); });
  });
}

}  // namespace kiln::isa
