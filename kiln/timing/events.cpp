#include "kiln/timing/events.h"

#include <limits>

namespace kiln::timing {

namespace {

constexpr Time kMost = std::numeric_limits<std::uint32_t>::max();
constexpr Time kMostWaited = (Time{1} << 40) - 1;

bool is_count(double bytes) {
  return bytes >= 0 && bytes <= static_cast<double>(kMost) &&
         bytes == static_cast<double>(static_cast<std::uint32_t>(bytes));
}

}  // namespace

bool Events::fits(const Event& e) {
  const Time waited = e.start - e.issue, lasts = e.end - e.start;
  if (waited < 0 || waited > kMostWaited || lasts < 0 || lasts > kMost) return false;
  if (e.kind == Kind::transfer) return e.occupied == lasts && is_count(e.hbm_bytes);
  return e.hbm_bytes == 0 && e.occupied >= 0 && e.occupied <= kMost;
}

void Events::replace(std::size_t id, const Event& e) {
  Kept& kept = kept_[id];
  kept.inst = e.inst;
  kept.because = e.because;
  kept.lane = e.lane;
  kept.kind = static_cast<std::uint8_t>(e.kind) & 3;
  kept.wait = static_cast<std::uint8_t>(e.wait) & 15;
  kept.start = e.start;
  if (kept.odd) odd_.erase(id);
  kept.odd = !fits(e);
  if (kept.odd) {
    odd_[id] = {e.issue, e.end, e.occupied, e.hbm_bytes};
  } else {
    const Time waited = e.start - e.issue;
    kept.waited_low = static_cast<std::uint32_t>(waited);
    kept.waited_high = static_cast<std::uint8_t>(waited >> 32);
    kept.lasts = static_cast<std::uint32_t>(e.end - e.start);
    kept.occupied_or_moved =
        e.kind == Kind::transfer ? static_cast<std::uint32_t>(e.hbm_bytes) : static_cast<std::uint32_t>(e.occupied);
  }
  if (e.repeats != repeats_of(id)) set_repeats(id, e.repeats);
}

void Events::push_back(const Event& event) {
  static_assert(kWaitCount <= 16 && sizeof(Kept) == kBytesEach);
  kept_.emplace_back();
  if (!repeats_.empty()) repeats_.push_back(1);
  replace(size() - 1, event);
}

Event Events::operator[](std::size_t id) const {
  const Kept& kept = kept_[id];
  Event e{.inst = kept.inst,
          .because = kept.because,
          .lane = kept.lane,
          .kind = static_cast<Kind>(kept.kind),
          .wait = static_cast<Wait>(kept.wait)};
  e.start = kept.start;
  e.repeats = repeats_of(id);
  if (kept.odd) {
    const Odd& odd = odd_.at(id);
    e.issue = odd.issue;
    e.end = odd.end;
    e.occupied = odd.occupied;
    e.hbm_bytes = odd.hbm_bytes;
    return e;
  }
  e.issue = kept.start - (static_cast<Time>(kept.waited_high) << 32 | kept.waited_low);
  e.end = kept.start + kept.lasts;
  const bool moves = e.kind == Kind::transfer;
  e.occupied = moves ? kept.lasts : kept.occupied_or_moved;
  e.hbm_bytes = moves ? kept.occupied_or_moved : 0;
  return e;
}

void Events::set_repeats(std::size_t id, std::int64_t repeats) {
  if (repeats_.empty()) repeats_.assign(size(), 1);
  repeats_[id] = repeats;
}

void Events::append(const Events& others, LaneId first_lane, EventId first_event) {
  reserve(size() + others.size());
  for (Event event : others) {
    event.lane = static_cast<LaneId>(event.lane + first_lane);
    if (event.because != isa::kNone) event.because += first_event;
    push_back(event);
  }
}

void Events::shorten(std::size_t count) {
  kept_.resize(count);
  if (!repeats_.empty()) repeats_.resize(count);
  std::erase_if(odd_, [&](const auto& odd) { return odd.first >= count; });
  for (Kept& kept : kept_) {
    if (kept.because >= count) kept.because = isa::kNone;
  }
}

}  // namespace kiln::timing
