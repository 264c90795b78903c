#include "kiln/analysis/allocate.h"

#include <algorithm>

#include "kiln/analysis/peak.h"
#include "kiln/analysis/time_index.h"

namespace kiln::analysis {
namespace {

using isa::Address;
using isa::Program;
using isa::Tensor;
using isa::TensorId;

constexpr int kMaxQuadrants = kMaxPartitions / kQuadrantPartitions;
constexpr std::int64_t kPreferredAlign = 32, kLeastAlign = 4;

constexpr std::int64_t round_up(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit * unit; }

// A used tensor of the memory at hand.
struct Item : Demand {
  TensorId tensor;
  Address address;  // its place, or its place so far
};

// The bytes [begin, end) of some quadrants, packed so that sorting by begin is sorting numbers.
class Taken {
 public:
  Taken(std::int64_t begin, std::int64_t end, QuadrantMask mask)
      : bits_(static_cast<std::uint64_t>(begin) << 34 | static_cast<std::uint64_t>(end) << 4 | mask) {}
  std::int64_t begin() const { return static_cast<std::int64_t>(bits_ >> 34); }
  std::int64_t end() const { return static_cast<std::int64_t>(bits_ >> 4 & 0x3fffffff); }
  bool touches(QuadrantMask mask) const { return bits_ & mask; }
  bool operator<(const Taken& other) const { return bits_ < other.bits_; }

 private:
  std::uint64_t bits_;
};

// How a memory wants to be filled.
struct Layout {
  std::int64_t available_bytes, align, bank_bytes;  // bank_bytes 0: no banks
  int quadrants;

  // The first offset from `offset` on where `bytes` bytes may start.
  std::int64_t next_start(std::int64_t offset, std::int64_t bytes) const {
    const std::int64_t start = round_up(offset, align);
    if (bank_bytes == 0) return start;
    const bool crosses = start % bank_bytes + bytes > bank_bytes;
    return crosses ? round_up(start, bank_bytes) : start;
  }
};

std::vector<Item> used_tensors(const Program& program, const Liveness& liveness, Memory memory) {
  std::vector<Item> items;
  for (TensorId id = 0; id < program.tensors.size(); ++id) {
    const Tensor& tensor = program.tensors[id];
    if (tensor.memory != memory || liveness.tensors[id].empty()) continue;
    Item item;
    item.live = liveness.tensors[id];
    item.bytes = tensor.bytes_per_partition();
    item.tensor = id;
    const std::int64_t start = tensor.address ? tensor.address->partition : 0;
    item.mask = quadrants_of(start, tensor.partitions());
    item.quadrants = __builtin_popcount(item.mask);
    item.placed = tensor.address.has_value();
    if (item.placed) {
      item.address = *tensor.address;
      item.offset = item.address.byte_offset;
      KILN_ASSERT(is_start_partition(start, tensor.partitions()) && item.offset >= 0 &&
                  item.offset + item.bytes < 1 << 30);
    }
    items.push_back(item);
  }
  return items;
}

// A hand-placed tensor that is read before it is written shows the bytes of others at the same place: nothing
// may come between their writes and its reads.
void hold_shared_bytes(const Liveness& liveness, std::vector<Item>& items) {
  for (Item& view : items) {
    if (!view.placed || !liveness.read_first[view.tensor]) continue;
    for (const Item& other : items) {
      const bool same_bytes = other.placed && (other.mask & view.mask) && other.offset < view.offset + view.bytes &&
                              view.offset < other.offset + other.bytes;
      if (same_bytes) view.live.begin = std::min(view.live.begin, liveness.tensors[other.tensor].begin);
    }
  }
}

// Places items one after the other, each at the lowest free address.
class Placer {
 public:
  Placer(std::vector<Item>& items, const Layout& layout) : items_(items), layout_(layout), index_(intervals(items)) {}

  void set_align(std::int64_t align) { layout_.align = align; }

  // Places the items in the order given; returns the first that finds no place, or kNone.
  std::uint32_t place(std::span<const std::uint32_t> order) {
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
    index_.for_each_overlapping(i, [&](std::uint32_t j) {
      const Item& other = items_[j];
      taken_.emplace_back(other.address.byte_offset, other.address.byte_offset + other.bytes, other.mask);
    });
    std::sort(taken_.begin(), taken_.end());
    std::int64_t best = layout_.available_bytes - item.bytes + 1;
    const auto shape = static_cast<QuadrantMask>((1 << item.quadrants) - 1);
    bool found = false;
    const int step = item.quadrants > 2 ? layout_.quadrants : item.quadrants;  // the start-partition rule
    for (int first = 0; first < layout_.quadrants; first += step) {
      const auto mask = static_cast<QuadrantMask>(shape << first);
      const std::int64_t offset = lowest_gap(item.bytes, mask);
      if (offset >= best) continue;
      best = offset;
      found = true;
      item.mask = mask;
      item.address = {first * kQuadrantPartitions, offset};
    }
    return found;
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
  TimeIndex index_;
  std::vector<Taken> taken_;
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

// Gives all items a place. Otherwise returns the item at which the most natural try failed.
std::uint32_t place_all(std::vector<Item>& items, const Layout& layout) {
  if (std::all_of(items.begin(), items.end(), [](const Item& i) { return i.placed; })) return isa::kNone;
  Placer placer(items, layout);
  std::uint32_t failed = isa::kNone, stuck = isa::kNone;
  std::vector<std::uint32_t> order;
  const auto fits = [&] {
    stuck = placer.place(order);
    if (failed == isa::kNone) failed = stuck;
    return stuck == isa::kNone;
  };
  for (const std::int64_t align : {layout.align, kLeastAlign}) {
    placer.set_align(align);
    for (int which = 0; which < kOrders; ++which) {
      order = order_of(items, which);
      if (fits()) return isa::kNone;
    }
    if (align == kLeastAlign) break;
  }
  // Whoever found no place goes first the next time.
  for (std::size_t work = 0; work < kMaxRepairWork; work += items.size()) {
    const auto it = std::find(order.begin(), order.end(), stuck);
    std::rotate(order.begin(), it, it + 1);
    if (fits()) return isa::kNone;
  }
  return failed;
}

// The most bytes of one partition that are alive at one moment, every item in its place.
std::int64_t fullest_partition(const std::vector<Item>& items, const Layout& layout) {
  std::int64_t most = 0;
  for (int q = 0; q < layout.quadrants; ++q) {
    std::vector<Demand> here;
    for (const Item& item : items) {
      if (item.mask >> q & 1) here.push_back({item.live, item.bytes, 1, true, item.address.byte_offset, 1});
    }
    most = std::max(most, find_peak(here, layout.available_bytes).bytes);
  }
  return most;
}

void allocate_memory(const Program& program, const Arch& arch, const Liveness& liveness, Memory memory, MemoryUse& use,
                     Allocation& out) {
  std::vector<Item> items = used_tensors(program, liveness, memory);
  hold_shared_bytes(liveness, items);
  const bool psum = memory == Memory::psum;
  const Layout layout{available_bytes(arch, memory), psum ? kLeastAlign : kPreferredAlign,
                      psum ? arch.psum_bank_bytes : 0, static_cast<int>(arch.partitions / kQuadrantPartitions)};
  const Peak peak =
      find_peak(std::vector<Demand>(items.begin(), items.end()), layout.available_bytes, layout.quadrants);
  use = {layout.available_bytes, peak.bytes, peak.at, 0};
  if (peak.bytes > layout.available_bytes) {
    out.overflows.push_back({memory, true, isa::kNone, peak.at});
    return;
  }
  if (const std::uint32_t failed = place_all(items, layout); failed != isa::kNone) {
    out.overflows.push_back({memory, false, items[failed].tensor, items[failed].live.begin});
    return;
  }
  const auto spans_all = [&](const Item& item) { return item.quadrants == layout.quadrants; };
  if (!std::all_of(items.begin(), items.end(), spans_all)) use.peak_bytes = fullest_partition(items, layout);
  for (const Item& item : items) {
    out.address[item.tensor] = item.address;
    use.highest_bytes = std::max(use.highest_bytes, item.address.byte_offset + item.bytes);
  }
}

}  // namespace

Allocation allocate(const Program& program, const Arch& arch, const Liveness& liveness) {
  Allocation out;
  for (const Tensor& tensor : program.tensors) {
    out.address.push_back(is_on_chip(tensor.memory) ? tensor.address : std::nullopt);
  }
  allocate_memory(program, arch, liveness, Memory::sbuf, out.sbuf, out);
  allocate_memory(program, arch, liveness, Memory::psum, out.psum, out);
  return out;
}

std::int64_t available_bytes(const Arch& arch, Memory memory) {
  return memory == Memory::psum ? arch.psum_partition_bytes : arch.sbuf_partition_bytes - arch.sbuf_reserved_bytes;
}

std::uint8_t quadrants_of(std::int64_t first, std::int64_t count) {
  std::uint8_t mask = 0;
  for (std::int64_t q = 0; q < kMaxQuadrants; ++q) {
    const bool touched = first < (q + 1) * kQuadrantPartitions && q * kQuadrantPartitions < first + count;
    if (touched) mask = static_cast<std::uint8_t>(mask | 1 << q);
  }
  return mask;
}

bool is_start_partition(std::int64_t first, std::int64_t count) {
  if (count > 2 * kQuadrantPartitions) return first == 0;
  return first >= 0 && first % (count > kQuadrantPartitions ? 2 * kQuadrantPartitions : kQuadrantPartitions) == 0;
}

}  // namespace kiln::analysis
