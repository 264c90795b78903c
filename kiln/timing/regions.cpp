#include "kiln/timing/regions.h"

#include <algorithm>
#include <bit>

namespace kiln::timing {

namespace {
constexpr std::size_t kFew = 8;          // slots that are searched one by one
constexpr std::uint32_t kCompared = 64;  // slots that are compared with a new one, one by one

// Spread over all bits, of which the lowest ones say where to look first.
std::uint32_t hash_of(const Box& box) { return static_cast<std::uint32_t>((box.hash() * 0x9E3779B97F4A7C15ull) >> 32); }
}  // namespace

bool Regions::fits_grid(const Box& box) {
  if (!grid_) return false;
  for (int d = 0; d < box.rank; ++d) {
    const std::int64_t extent = box.hi[d] - box.lo[d];
    if (extent <= 0 || box.lo[d] % extent != 0) return grid_ = false;
    if (used_ > 0 && extent != slots_[0].box.hi[d] - slots_[0].box.lo[d]) return grid_ = false;
  }
  if (box.step != 1) return grid_ = false;
  return true;
}

void Regions::find_neighbours(std::uint32_t made) {
  Slot& slot = slots_[made];
  if (made < kCompared) {
    for (std::uint32_t i = 0; i < made; ++i) {
      if (slots_[i].box.overlaps(slot.box)) slot.neighbours.push_back(i);
    }
  } else {
    if (!buckets_) buckets_ = std::make_unique<BoxBuckets>();
    for (std::uint32_t i :
         buckets_->overlapping(slot.box, made, [&](std::uint32_t i) -> const Box& { return slots_[i].box; }))
      slot.neighbours.push_back(i);
  }
  for (std::uint32_t i : slot.neighbours) slots_[i].neighbours.push_back(made);
}

std::uint32_t Regions::find(const Box& box) {
  if (last_ < used_) {
    if (slots_[last_].box == box) return last_;
    const std::uint32_t next = slots_[last_].next;
    if (next < used_ && slots_[next].box == box) return next;
  }
  if (used_ < known_ && slots_[used_].box == box) return make_again();
  if (used_ <= kFew) {
    for (std::uint32_t i = 0; i < used_; ++i) {
      if (slots_[i].box == box) return i;
    }
  } else {
    const std::uint32_t hash = hash_of(box);
    const std::size_t mask = index_.size() - 1;
    for (std::size_t at = hash & mask; index_[at].slot != isa::kNone; at = (at + 1) & mask) {
      const auto [known, slot] = index_[at];
      if (known == hash && slot < used_ && slots_[slot].box == box) return slot;
    }
  }
  return make(box);
}

std::uint32_t Regions::make(const Box& box) {
  if (used_ < known_) forget_rest();
  const bool apart = fits_grid(box);
  const auto made = static_cast<std::uint32_t>(used_);
  if (used_ == slots_.size()) slots_.emplace_back();
  Slot& slot = slots_[used_++];
  slot.box = box;
  slot.writer = kNoOp;
  slot.readers.clear();
  slot.neighbours.clear();
  slot.apart = apart;
  if (!apart) find_neighbours(made);
  slot.earlier = static_cast<std::uint32_t>(slot.neighbours.size());
  known_ = used_;
  if (used_ == kFew + 1) put_into_index(0, made);
  if (used_ > kFew + 1) put_into_index(made, made);
  return made;
}

// The slot that came next the last time comes next again.
std::uint32_t Regions::make_again() {
  const auto made = static_cast<std::uint32_t>(used_++);
  Slot& slot = slots_[made];
  slot.writer = kNoOp;
  slot.readers.clear();
  slot.neighbours.resize_down(slot.earlier);
  for (std::uint32_t i : slot.neighbours) slots_[i].neighbours.push_back(made);
  grid_ = slot.apart;
  return made;
}

// Another box comes than the last time.
void Regions::forget_rest() {
  known_ = used_;
  if (buckets_) buckets_->clear();
  if (used_ > kFew) put_into_index(0, static_cast<std::uint32_t>(used_ - 1));
}

// From the first one on, or once the index has become too small, it is made anew.
void Regions::put_into_index(std::uint32_t first, std::uint32_t last) {
  if (first == 0 || 2 * known_ > index_.size()) {
    index_.assign(4 * std::bit_ceil(known_), {0, isa::kNone});
    first = 0;
  }
  for (; first <= last; ++first) {
    const std::uint32_t hash = hash_of(slots_[first].box);
    std::size_t at = hash & (index_.size() - 1);
    while (index_[at].slot != isa::kNone) at = (at + 1) & (index_.size() - 1);
    index_[at] = {hash, first};
  }
}

void Regions::wait_for(const Slot& slot, bool reads, bool writes, Waits& out) {
  if (slot.writer != kNoOp) out.push_back({slot.writer, reads ? Wait::read : Wait::rewrite});
  if (!writes) return;
  for (const Reader& r : slot.readers) out.push_back({r.op, Wait::overwrite});
}

void Regions::touch(const Box& box, OpId op, int stream, bool reads, bool writes, bool ordered, Waits& out) {
  const std::uint32_t id = find(box);
  if (last_ < used_) slots_[last_].next = id;
  last_ = id;
  wait_for(slots_[id], reads, writes, out);
  for (std::uint32_t n : slots_[id].neighbours) wait_for(slots_[n], reads, writes, out);
  for (const Ramp& ramp : ramps_) {
    if (!writes && !ramp.writes) continue;
    if (const std::optional<Time> before = ramp.latest_overlap(box))
      out.push_back({ramp.op, !ramp.writes ? Wait::overwrite : reads ? Wait::read : Wait::rewrite, -*before});
  }
  Slot& slot = slots_[id];
  if (writes) {
    slot.writer = op;
    slot.readers.clear();
  }
  if (!reads) return;
  if (ordered) {
    for (Reader& r : slot.readers) {
      if (r.stream != stream) continue;
      r.op = op;
      return;
    }
  }
  slot.readers.push_back({op, stream});
}

void Regions::forget(FunctionRef<bool(OpId)> is_over) {
  std::vector<Slot> kept;
  for (std::size_t i = 0; i < used_; ++i) {
    Slot& slot = slots_[i];
    const bool over =
        (slot.writer == kNoOp || is_over(slot.writer)) &&
        std::all_of(slot.readers.begin(), slot.readers.end(), [&](const Reader& r) { return is_over(r.op); });
    if (!over) kept.push_back(std::move(slot));
  }
  used_ = known_ = 0;
  last_ = 0;
  grid_ = true;
  if (buckets_) buckets_->clear();
  slots_.clear();
  for (Slot& slot : kept) {
    Slot& again = slots_[find(slot.box)];
    again.writer = slot.writer;
    again.readers = std::move(slot.readers);
  }
  limit_ = std::max(kMany, 2 * used_);
  std::erase_if(ramps_, [&](const Ramp& ramp) { return is_over(ramp.op); });
  ramp_limit_ = std::max(kManyRamps, 2 * ramps_.size());
}

void Regions::clear() {
  used_ = 0;
  last_ = 0;
  grid_ = true;
  ramps_.clear();
}

}  // namespace kiln::timing
