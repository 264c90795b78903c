#include "kernels/sparse/host/formats.h"

#include "kernels/sparse/host/sparse_call.h"

namespace kiln::sparse {
namespace {

[[noreturn]] void refuse_indices(const char* what, const std::string& found) {
  raise(kernels::sparse_rules::kTable, kernels::sparse_rules::kIndex, {.found = fmt::format("{}: {}", what, found)});
}

void require_counts(const char* what, std::size_t indices, std::size_t values, std::size_t of_each) {
  if (indices * of_each != values) refuse_indices(what, fmt::format("{} indices for {} values", indices, values));
}

void require_inside(const char* what, const std::vector<Int>& indices, Int least, Int size) {
  for (const Int index : indices) {
    if (index < least || index >= size) refuse_indices(what, fmt::format("index {} of {}", index, size));
  }
}

}  // namespace

void require_triplets(Int rows, Int columns, const std::vector<Int>& row, const std::vector<Int>& column,
                      std::size_t values) {
  require_size("triplets", {rows, columns});
  require_counts("triplets", row.size(), values, 1);
  require_counts("triplets", column.size(), values, 1);
  require_inside("rows", row, 0, rows);
  require_inside("columns", column, 0, columns);
}

void require_groups(Int groups, Int size, const std::vector<Int>& start, const std::vector<Int>& index,
                    std::size_t values, Int block) {
  require_size("matrix", {groups, size, block - 1});
  const Int blocks_across = (size + block - 1) / block, groups_of_blocks = (groups + block - 1) / block;
  if (static_cast<Int>(start.size()) != groups_of_blocks + 1)
    refuse_indices("starts", fmt::format("{} numbers for {} groups", start.size(), groups_of_blocks));
  if (start.front() != 0 || start.back() != static_cast<Int>(index.size()) || !std::ranges::is_sorted(start))
    refuse_indices("starts", fmt::format("no ascent from 0 to {}", index.size()));
  require_counts("elements", index.size(), values, static_cast<std::size_t>(block * block));
  require_inside("indices", index, 0, blocks_across);
}

void require_ell(Int rows, Int columns, Int width, const std::vector<Int>& column, std::size_t values) {
  require_size("rows of one width", {rows, columns, width});
  require_counts("rows of one width", column.size(), values, 1);
  if (static_cast<Int>(values) != rows * width)
    refuse_indices("rows of one width", fmt::format("{} values for {} x {}", values, rows, width));
  require_inside("columns", column, -1, columns);
}

}  // namespace kiln::sparse
