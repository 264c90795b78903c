#include "kiln/analysis/allocate.h"

#include <algorithm>
#include <ranges>

#include "kiln/analysis/placer.h"

namespace kiln::analysis {
namespace {

using isa::Program;
using isa::Tensor;
using isa::TensorId;

constexpr int kMaxQuadrants = kMaxPartitions / kQuadrantPartitions;
constexpr std::int64_t kPreferredAlign = 32, kLeastAlign = 4;

std::vector<Item> used_tensors(const Program& program, const Liveness& liveness, Memory memory) {
  const auto is_used = [&](TensorId id) {
    return program.tensors[id].memory == memory && !liveness.tensors[id].empty();
  };
  const auto ids = std::views::iota(TensorId{0}, static_cast<TensorId>(program.tensors.size()));
  std::vector<Item> items;
  items.reserve(std::ranges::count_if(ids, is_used));  // there may be as many as instructions
  for (const TensorId id : std::views::filter(ids, is_used)) {
    const Tensor& tensor = program.tensors[id];
    Item item;
    item.live = liveness.tensors[id];
    item.bytes = tensor.bytes_per_partition();
    item.tensor = id;
    const std::int64_t start = tensor.address ? tensor.address->partition : 0;
    item.mask = quadrants_of(start, tensor.partitions());
    item.quadrants = static_cast<std::uint8_t>(__builtin_popcount(item.mask));
    item.placed = tensor.address.has_value();
    if (item.placed) {
      item.partition = static_cast<std::int32_t>(start);
      item.offset = tensor.address->byte_offset;
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

// The most bytes of one partition that are alive at one moment, every item in its place. `apart`: those that are alive
// together share no bytes.
std::int64_t fullest_partition(const std::vector<Item>& items, const Layout& layout, bool apart) {
  std::int64_t most = 0;
  std::vector<Demand> here;
  for (int q = 0; q < layout.quadrants; ++q) {
    here.clear();
    for (const Item& item : items) {
      if (item.mask >> q & 1) here.push_back({item.live, item.bytes, item.offset, 1, 1, !apart});
    }
    most = std::max(most, find_peak(here, layout.available_bytes).bytes);
  }
  return most;
}

// The same with partners apart: a source ends before its heir begins, as if both had the same bytes.
std::vector<Demand> with_handovers(const std::vector<Item>& items, const InPlace& in_place) {
  std::vector<Demand> demands(items.begin(), items.end());
  for (std::size_t i = 0; i < items.size(); ++i) {
    Interval& live = demands[i].live;
    live.begin = 2 * live.begin + (in_place.is_heir(items[i].tensor) ? 1 : 0);
    live.end = 2 * live.end + (in_place.is_source(items[i].tensor) ? 0 : 1);
  }
  return demands;
}

// One memory on its way to an allocation.
class MemoryAllocation {
 public:
  MemoryAllocation(const Program& program, const Arch& arch, const Liveness& liveness, Memory memory, Allocation& out)
      : memory_(memory),
        items_(used_tensors(program, liveness, memory)),
        some_by_hand_(std::ranges::any_of(items_, &Item::placed)),
        layout_(layout_of(arch, memory)),
        use_(out.use(memory)),
        out_(out) {
    hold_shared_bytes(liveness, items_);
    use_.available_bytes = layout_.available_bytes;
    Overflow overflow;
    if (fits(overflow) || fits(InPlace(program, liveness), overflow)) {
      take_places();
    } else {
      out.overflows.push_back(overflow);
    }
    use_.written_bytes = use_.peak_bytes;
  }

 private:
  static Layout layout_of(const Arch& arch, Memory memory) {
    const bool psum = memory == Memory::psum;
    return {available_bytes(arch, memory), psum ? kLeastAlign : kPreferredAlign, kLeastAlign,
            psum ? arch.psum_bank_bytes : 0, static_cast<int>(arch.partitions / kQuadrantPartitions)};
  }

  bool is_too_much(const Peak& peak, Overflow& overflow) {
    use_.peak_bytes = peak.bytes;
    use_.peak_at = peak.at;
    if (peak.bytes <= layout_.available_bytes) return false;
    overflow = {memory_, true, isa::kNone, peak.at};
    return true;
  }

  bool fits(Overflow& overflow) {
    if (is_too_much(find_peak(items_, layout_.available_bytes, layout_.quadrants), overflow)) return false;
    const std::uint32_t failed = place_all(items_, layout_);
    if (failed != isa::kNone) overflow = {memory_, false, items_[failed].tensor, items_[failed].live.begin};
    return failed == isa::kNone;
  }

  // When even what could be handed over does not make it fit, that is what is too much.
  bool fits(const InPlace& in_place, Overflow& overflow) {
    if (!in_place.any()) return false;
    Peak peak = find_peak(with_handovers(items_, in_place), layout_.available_bytes, layout_.quadrants);
    peak.at /= 2;
    if (peak.bytes > layout_.available_bytes) {
      use_.in_place = peak.bytes < use_.peak_bytes;
      return !is_too_much(peak, overflow);
    }
    use_.in_place = place_all(items_, layout_, &in_place) == isa::kNone;
    return use_.in_place;
  }

  void take_places() {
    const auto spans_all = [&](const Item& item) { return item.quadrants == layout_.quadrants; };
    if (use_.in_place || !std::all_of(items_.begin(), items_.end(), spans_all))
      use_.peak_bytes = fullest_partition(items_, layout_, !use_.in_place && !some_by_hand_);
    for (const Item& item : items_) {
      out_.address[item.tensor] = item.address();
      use_.highest_bytes = std::max(use_.highest_bytes, item.offset + item.bytes);
    }
  }

  Memory memory_;
  std::vector<Item> items_;
  bool some_by_hand_;
  Layout layout_;
  MemoryUse& use_;
  Allocation& out_;
};

}  // namespace

Allocation allocate(const Program& program, const Arch& arch, const Liveness& liveness) {
  Allocation out;
  out.address.reserve(program.tensors.size());
  for (const Tensor& tensor : program.tensors) {
    out.address.push_back(is_on_chip(tensor.memory) ? tensor.address : std::nullopt);
  }
  for (const Memory memory : {Memory::sbuf, Memory::psum}) MemoryAllocation(program, arch, liveness, memory, out);
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
