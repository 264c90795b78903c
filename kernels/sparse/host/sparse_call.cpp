#include "kernels/sparse/host/sparse_call.h"

#include <mutex>

namespace kiln::sparse {

std::shared_ptr<const Kept> keep(Int rows, const Int* row_start, const Int* column) {
  static std::mutex mutex;
  static std::shared_ptr<const Kept> last;
  const std::span starts = view_of(row_start, rows + 1), columns = view_of(column, row_start[rows]);
  std::lock_guard lock(mutex);
  if (!last || !std::ranges::equal(last->row_start, starts) || !std::ranges::equal(last->column, columns))
    last = std::make_shared<const Kept>(Kept{{starts.begin(), starts.end()}, {columns.begin(), columns.end()}});
  return last;
}

}  // namespace kiln::sparse
