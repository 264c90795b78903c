#include "kiln/sim/operand_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kiln/sim/magnitude.h"
#include "kiln/sim/nonfinite_flow.h"

namespace kiln::sim {
using namespace isa;
namespace {

float value_at(const Tile& tile, std::int64_t element) {
  const std::uint32_t bits = bits_of(tile, element);
  return is_integer(tile.dtype) ? static_cast<float>(to_int(tile.dtype, bits)) : to_float(tile.dtype, bits);
}

// Elements first, first + step, … of a tile.
std::string range_text(const Tile& tile, std::int64_t first, std::int64_t step, std::int64_t n) {
  float least = INFINITY, most = -INFINITY;
  bool any_nan = false;
  for (std::int64_t i = 0; i < n; ++i) {
    const float x = value_at(tile, first + i * step);
    any_nan |= std::isnan(x);
    least = std::min(least, x);
    most = std::max(most, x);
  }
  if (least > most) return "NaN";
  return fmt::format("{:.6g} to {:.6g}{}", least, most, any_nan ? " and NaN" : "");
}

// Where element `element` of the result comes from in an operand: a column of what is multiplied, the same element,
// the value of its row, its row, or all of it.
std::string value_text(const Run& run, int param, const Tile& tile, const Tile& result, std::int64_t element) {
  const std::int64_t row = element / result.free_size, column = element % result.free_size;
  const Facts& facts = run.facts();
  if (facts.sum_mode && param == facts.stationary && row < tile.free_size)
    return range_text(tile, row, tile.free_size, tile.rows);
  if (facts.sum_mode && param == facts.moving && column < tile.free_size)
    return range_text(tile, column, tile.free_size, tile.rows);
  if (tile.count() == result.count() && !facts.product) return number_text(value_at(tile, element));
  if (tile.rows != result.rows) return range_text(tile, 0, 1, tile.count());
  if (tile.free_size == 1) return number_text(value_at(tile, row));
  return range_text(tile, row * tile.free_size, 1, tile.free_size);
}

std::string magnitude_text(DType dtype, std::uint32_t magnitude) {
  return fmt::format("up to {:.6g} in magnitude, and overwritten", to_float(dtype, magnitude));
}

}  // namespace

std::string operand_values(const Run& run, const Before& before, int result, std::int64_t element) {
  std::string text;
  const auto& params = run.row().params;
  const bool is_product = run.facts().sum_mode != nullptr;
  for (int p = 0; p < static_cast<int>(params.size()); ++p) {
    const std::span<const Tile> tiles = tiles_of(run, p);
    for (std::size_t i = 0; i < tiles.size(); ++i) {
      if (is_packed(tiles[i].dtype)) continue;
      const auto old = std::ranges::find_if(
          before, [&](const Overwritten& o) { return o.param == p && o.tile == static_cast<int>(i); });
      if (old == before.end() && !params[p].is_input()) continue;
      if (old != before.end() && is_product && run.psum_mode != PsumMode::accumulate) continue;  // it held anything
      const std::string value = old != before.end() ? magnitude_text(tiles[i].dtype, old->largest)
                                                    : value_text(run, p, tiles[i], run.tile(result), element);
      text += fmt::format("{}{} is {}", text.empty() ? "" : ", ", params[p].name, value);
    }
  }
  return text;
}

std::string number_text(float value) { return std::isnan(value) ? "nan" : fmt::format("{:.6g}", value); }

std::string largest_number(DType dtype) { return fmt::format("{:g}", to_float(dtype, first_nonfinite(dtype) - 1)); }

}  // namespace kiln::sim
