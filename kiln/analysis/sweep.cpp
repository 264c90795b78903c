#include "kiln/analysis/sweep.h"

#include <algorithm>
#include <queue>

#include "kiln/analysis/free_runs.h"

namespace kiln::analysis {
namespace {

// The free places of the partitions that an item may take; a place is as many bytes as items are aligned to.
struct Column {
  int first;  // quadrant
  std::uint8_t quadrants;
  QuadrantMask mask;
  FreeRuns free;
};

class Sweep {
 public:
  Sweep(std::vector<Item>& items, const Layout& layout)
      : items_(items), layout_(layout), places_(places_of(layout.available_bytes)) {
    std::uint32_t sizes = 0;
    for (const Item& item : items) sizes |= 1u << item.quadrants;
    for (std::uint8_t q = 1; q <= layout.quadrants; ++q) {
      if (sizes >> q & 1) add_columns(q);
    }
  }

  Swept run(const std::vector<std::uint32_t>& order) {
    Swept swept;
    std::int64_t alive = 0;  // places, of all quadrants
    for (const std::uint32_t i : order) {
      for (; !ends_.empty() && items_[ends_.top().second].live.end < items_[i].live.begin; ends_.pop()) {
        const Item& gone = items_[ends_.top().second];
        alive -= std::int64_t{places_of(gone.bytes)} * gone.quadrants;
        if (swept.failed == isa::kNone) take(gone, -1);
      }
      alive += std::int64_t{places_of(items_[i].bytes)} * items_[i].quadrants;
      swept.hopeless |= alive > std::int64_t{places_} * layout_.quadrants;
      ends_.emplace(items_[i].live.end, i);
      if (swept.failed == isa::kNone && !place(items_[i])) swept.failed = i;
      if (swept.hopeless && swept.failed != isa::kNone) break;
    }
    return swept;
  }

 private:
  void add_columns(std::uint8_t quadrants) {
    for (int first = 0; first < layout_.quadrants; first += start_step(layout_, quadrants))
      columns_.push_back(
          {first, quadrants, static_cast<QuadrantMask>(((1 << quadrants) - 1) << first), FreeRuns(places_)});
  }

  std::int32_t places_of(std::int64_t bytes) const {
    return static_cast<std::int32_t>((bytes + layout_.align - 1) / layout_.align);
  }

  // The lowest of all columns, the first among equals. The last place may be a part of one.
  bool place(Item& item) {
    std::int32_t best = -1;
    for (const Column& column : columns_) {
      if (column.quadrants != item.quadrants) continue;
      const std::int32_t at = column.free.find(places_of(item.bytes));
      if (at < 0 || at * layout_.align + item.bytes > layout_.available_bytes) continue;
      if (best >= 0 && at >= best) continue;
      best = at;
      item.mask = column.mask;
      item.partition = static_cast<std::int32_t>(column.first * kQuadrantPartitions);
    }
    if (best < 0) return false;
    item.offset = best * layout_.align;
    take(item, 1);
    return true;
  }

  void take(const Item& item, int step) {
    const auto begin = static_cast<std::int32_t>(item.offset / layout_.align);
    for (Column& column : columns_) {
      if (column.mask & item.mask) column.free.take(begin, begin + places_of(item.bytes), step);
    }
  }

  std::vector<Item>& items_;
  const Layout& layout_;
  const std::int32_t places_;
  std::vector<Column> columns_;
  using End = std::pair<Position, std::uint32_t>;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;  // of items that are alive
};

}  // namespace

bool can_sweep(const std::vector<Item>& items, const Layout& layout) {
  return layout.bank_bytes == 0 && std::ranges::none_of(items, &Item::placed);
}

Swept sweep(std::vector<Item>& items, const Layout& layout, const std::vector<std::uint32_t>& order) {
  return Sweep(items, layout).run(order);
}

}  // namespace kiln::analysis
