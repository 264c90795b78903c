#include "kiln/analysis/placer.h"

#include <algorithm>
#include <optional>
#include <span>

#include "kiln/analysis/sweep.h"
#include "kiln/analysis/time_index.h"

namespace kiln::analysis {
namespace {

using isa::Address;

constexpr std::int64_t round_up(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit * unit; }

// The bytes [begin, end) of some quadrants, packed so that sorting by begin is sorting numbers.
class Taken {
 public:
  Taken(std::int64_t begin, std::int64_t end, QuadrantMask mask)
      : bits_(static_cast<std::uint64_t>(begin) << 34 | static_cast<std::uint64_t>(end) << 4 | mask) {}
  explicit Taken(const Item& item) : Taken(item.offset, item.offset + item.bytes, item.mask) {}
  std::int64_t begin() const { return static_cast<std::int64_t>(bits_ >> 34); }
  std::int64_t end() const { return static_cast<std::int64_t>(bits_ >> 4 & 0x3fffffff); }
  bool touches(QuadrantMask mask) const { return bits_ & mask; }
  bool operator<(const Taken& other) const { return bits_ < other.bits_; }

 private:
  std::uint64_t bits_;
};

// Places items one after the other, each at the lowest free address.
class Placer {
 public:
  Placer(std::vector<Item>& items, const Layout& layout, const InPlace* in_place)
      : items_(items), layout_(layout), in_place_(in_place), index_(intervals(items)) {}

  // Places the items in the order given; returns the first that finds no place, or kNone.
  std::uint32_t place(std::span<const std::uint32_t> order, std::int64_t align) {
    layout_.align = align;
    index_.clear();
    for (std::uint32_t i = 0; i < items_.size(); ++i) {
      if (items_[i].placed) index_.insert(i);
    }
    for (auto i : order) {
      if (!place(i)) return i;
      index_.insert(i);
    }
    return isa::kNone;
  }

 private:
  static std::vector<Interval> intervals(const std::vector<Item>& items) {
    std::vector<Interval> all;
    for (const Item& item : items) all.push_back(item.live);
    return all;
  }

  bool place(std::uint32_t i) {
    Item& item = items_[i];
    taken_.clear();
    partners_.clear();
    index_.for_each_overlapping(i, [&](std::uint32_t j) {
      const bool shares = in_place_ && in_place_->are_partners(item.tensor, items_[j].tensor);
      shares ? partners_.push_back(j) : void(taken_.emplace_back(items_[j]));
    });
    std::sort(taken_.begin(), taken_.end());
    best_ = layout_.available_bytes - item.bytes + 1;
    if (!partners_.empty()) place_over_partners(item);
    for_each_start(item, [&](std::int64_t partition, QuadrantMask mask) {
      take(item, {partition, lowest_gap(item.bytes, mask)}, mask);
    });
    return best_ <= layout_.available_bytes - item.bytes;
  }

  // Calls fn(partition, quadrants) for each partition where the item may start.
  template <class Fn>
  void for_each_start(const Item& item, Fn&& fn) const {
    const auto shape = static_cast<QuadrantMask>((1 << item.quadrants) - 1);
    for (int first = 0; first < layout_.quadrants; first += start_step(layout_, item.quadrants))
      fn(first * kQuadrantPartitions, static_cast<QuadrantMask>(shape << first));
  }

  void take(Item& item, const Address& at, QuadrantMask mask) {
    if (at.byte_offset >= best_) return;
    best_ = at.byte_offset;
    item.mask = mask;
    item.offset = at.byte_offset;
    item.partition = static_cast<std::int32_t>(at.partition);
  }

  // Tries the addresses where the item has the very elements of a partner, and gaps that its partners leave unread.
  // Leaves the bytes of partners among those that are taken.
  void place_over_partners(Item& item) {
    std::vector<Address> places;
    for (const std::uint32_t j : partners_)
      in_place_->append_places(item.tensor, items_[j].tensor, items_[j].address(), places);
    for_each_start(item, [&](std::int64_t partition, QuadrantMask mask) {
      for (const Address& at : places) {
        if (at.partition == partition && is_gap(at.byte_offset, item.bytes, mask) && partners_allow(item, at))
          take(item, at, mask);
      }
      const Address gap{partition, lowest_gap(item.bytes, mask)};
      if (partners_allow(item, gap)) take(item, gap, mask);
    });
    for (const std::uint32_t j : partners_) taken_.emplace_back(items_[j]);
    std::sort(taken_.begin(), taken_.end());
  }

  bool partners_allow(const Item& item, const Address& at) const {
    return std::ranges::all_of(partners_, [&](std::uint32_t j) {
      return in_place_->may_lie(item.tensor, at, items_[j].tensor, items_[j].address());
    });
  }

  bool is_gap(std::int64_t offset, std::int64_t bytes, QuadrantMask mask) const {
    return offset >= 0 && layout_.next_start(offset, bytes) == offset &&
           std::ranges::none_of(taken_, [&](const Taken& t) {
             return t.touches(mask) && t.begin() < offset + bytes && offset < t.end();
           });
  }

  std::int64_t lowest_gap(std::int64_t bytes, QuadrantMask mask) const {
    std::int64_t offset = 0;
    for (const Taken& t : taken_) {
      if (!t.touches(mask) || t.end() <= offset) continue;
      if (offset + bytes <= t.begin()) break;
      offset = layout_.next_start(t.end(), bytes);
    }
    return offset;
  }

  std::vector<Item>& items_;
  Layout layout_;
  const InPlace* in_place_;
  TimeIndex index_;
  std::int64_t best_ = 0;  // the lowest offset so far of the item at hand
  std::vector<Taken> taken_;
  std::vector<std::uint32_t> partners_;
};

// The orders to try: as the program runs; large ones first; those that block most bytes for longest first.
constexpr int kOrders = 3;
constexpr std::size_t kMaxRepairWork = 50000;  // items placed again, before giving up
std::vector<std::uint32_t> order_of(const std::vector<Item>& items, int which) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < items.size(); ++i) {
    if (!items[i].placed) order.push_back(i);
  }
  const auto size = [&](std::uint32_t i) { return items[i].bytes * items[i].quadrants; };
  const auto length = [&](std::uint32_t i) { return std::int64_t{items[i].live.end} - items[i].live.begin + 1; };
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) {
    const auto x = items[a].live.begin, y = items[b].live.begin;
    if (which == 0 && x != y) return x < y;
    return which == 2 ? size(a) * length(a) > size(b) * length(b) : size(a) > size(b);
  });
  return order;
}

}  // namespace

std::int64_t Layout::next_start(std::int64_t offset, std::int64_t bytes) const {
  const std::int64_t start = round_up(offset, align);
  if (bank_bytes == 0) return start;
  const bool crosses = start % bank_bytes + bytes > bank_bytes;
  return crosses ? round_up(start, bank_bytes) : start;
}

int start_step(const Layout& layout, int quadrants) { return quadrants > 2 ? layout.quadrants : quadrants; }

std::uint32_t place_all(std::vector<Item>& items, Layout layout, const InPlace* in_place) {
  if (std::all_of(items.begin(), items.end(), [](const Item& i) { return i.placed; })) return isa::kNone;
  const bool sweeps = !in_place && can_sweep(items, layout);
  std::optional<Placer> placer;
  std::uint32_t failed = isa::kNone, stuck = isa::kNone;
  std::vector<std::uint32_t> order;
  const auto fits = [&](bool in_order) {
    if (!placer && !(sweeps && in_order)) placer.emplace(items, layout, in_place);
    const Swept swept = sweeps && in_order ? sweep(items, layout, order) : Swept{placer->place(order, layout.align)};
    stuck = swept.failed;
    if (failed == isa::kNone) failed = stuck;
    return swept;
  };
  bool hopeless = false;
  for (const std::int64_t align : {layout.align, layout.least_align}) {
    layout.align = align;
    hopeless = false;
    for (int which = 0; which < kOrders && !hopeless; ++which) {
      order = order_of(items, which);
      const Swept swept = fits(which == 0);
      if (swept.failed == isa::kNone) return isa::kNone;
      hopeless = swept.hopeless;
    }
    if (align == layout.least_align) break;
  }
  // Whoever found no place goes first the next time.
  for (std::size_t work = 0; work < kMaxRepairWork && !hopeless; work += items.size()) {
    const auto it = std::find(order.begin(), order.end(), stuck);
    std::rotate(order.begin(), it, it + 1);
    if (fits(false).failed == isa::kNone) return isa::kNone;
  }
  return failed;
}

}  // namespace kiln::analysis
