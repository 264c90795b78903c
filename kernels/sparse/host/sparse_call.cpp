#include "kernels/sparse/host/sparse_call.h"

#include <deque>
#include <mutex>
#include <numeric>

namespace kiln::sparse {
namespace {

constexpr std::size_t kMost = 32, kMostIndices = std::size_t{8} << 20;  // in all of them, besides the last one

std::size_t size_of(const Kept& kept) { return kept.row_start.size() + kept.column.size(); }

// The last ones first.
struct AllKept {
  std::mutex mutex;
  std::deque<std::shared_ptr<const Kept>> list;
  std::size_t indices = 0;
  std::int64_t count = 0;

  void add(std::shared_ptr<const Kept> kept) {
    indices += size_of(*kept);
    list.push_front(std::move(kept));
    while (list.size() > 1 && (list.size() > kMost || indices - size_of(*list.front()) > kMostIndices)) {
      indices -= size_of(*list.back());
      list.pop_back();
    }
  }
};

AllKept& all_kept() {
  static AllKept all;
  return all;
}

// The one of which is_same, which is the last one from now on; null where there is none.
template <class IsSame>
std::shared_ptr<const Kept> find(const IsSame& is_same) {
  AllKept& all = all_kept();
  std::lock_guard lock(all.mutex);
  const auto found = std::ranges::find_if(all.list, is_same);
  if (found == all.list.end()) return nullptr;
  std::rotate(all.list.begin(), found, found + 1);
  return all.list.front();
}

bool has_starts(const Kept& kept, Int rows, const Int* row_start, Int columns) {
  const std::vector<Int>& starts = kept.row_start;
  return starts.size() == static_cast<std::size_t>(rows) + 1 && kept.largest < columns &&
         std::equal(starts.begin(), starts.end(), row_start);
}

std::vector<std::int32_t> by_length(Int rows, const Int* row_start) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(rows));
  std::iota(order.begin(), order.end(), 0);
  const auto length = [&](std::int32_t row) { return row_start[row + 1] - row_start[row]; };
  for (Int first = 0; first < rows; first += kWindow)
    std::stable_sort(order.begin() + first, order.begin() + std::min(rows, first + kWindow),
                     [&](std::int32_t a, std::int32_t b) { return length(a) < length(b); });
  return order;
}

}  // namespace

std::shared_ptr<const Kept> kept_with(Int rows, const Int* row_start, Int columns) {
  return find([&](const std::shared_ptr<const Kept>& kept) { return has_starts(*kept, rows, row_start, columns); });
}

std::shared_ptr<const Kept> keep(const char* what, Int rows, const Int* row_start, const Int* column, Int columns) {
  const auto is_same = [&](const std::shared_ptr<const Kept>& kept) {
    return has_starts(*kept, rows, row_start, columns) && std::equal(kept->column.begin(), kept->column.end(), column);
  };
  if (auto found = find(is_same)) return found;
  require_indices(what, rows, row_start, column, columns);
  Kept made{0, {row_start, row_start + rows + 1}, {column, column + row_start[rows]}, -1, by_length(rows, row_start)};
  for (const Int index : made.column) made.largest = std::max(made.largest, index);
  AllKept& all = all_kept();
  std::lock_guard lock(all.mutex);
  made.number = all.count++;
  all.add(std::make_shared<const Kept>(std::move(made)));
  return all.list.front();
}

}  // namespace kiln::sparse
