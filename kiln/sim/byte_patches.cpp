// The part of ByteMap that is about patches.
#include <algorithm>
#include <cstring>
#include <utility>

#include "kiln/sim/byte_map.h"

namespace kiln::sim {
namespace {

constexpr std::size_t kMostPatches = 16;

std::int64_t remainder(std::int64_t a, std::int64_t b) { return ((a % b) + b) % b; }

}  // namespace

std::int64_t ByteMap::Patch::covered(std::int64_t from, std::int64_t to) const {
  from = std::max(from, begin);
  to = std::min(to, end());
  if (from >= to) return 0;
  // Bytes of the patch before a place that lies in its extent.
  const auto before = [&](std::int64_t at) {
    return (at - begin) / step * bytes + std::min(bytes, (at - begin) % step);
  };
  return before(to) - before(from);
}

bool ByteMap::Patch::holds(const Patch& other) const {
  if (covered(other.begin, other.end()) == other.end() - other.begin) return true;
  if (other.count == 1) return false;
  if (count == 1) return begin <= other.begin && other.end() <= end();
  const std::int64_t distance = other.begin - begin;
  return step == other.step && distance >= 0 && distance % step + other.bytes <= bytes &&
         distance / step + other.count <= count;
}

bool ByteMap::Patch::is_apart(const Patch& other) const {
  if (end() <= other.begin || other.end() <= begin) return true;
  if (other.count == 1) return covered(other.begin, other.end()) == 0;
  if (count == 1) return other.covered(begin, end()) == 0;
  const std::int64_t distance = remainder(other.begin - begin, step);
  return step == other.step && distance >= bytes && distance + other.bytes <= step;
}

bool ByteMap::Patch::takes(const Patch& other) {
  const bool same_step = count == other.count && (count == 1 || step == other.step);
  if (same_step && begin + bytes == other.begin) {  // columns beside columns
    *this = joined({begin, bytes + other.bytes, count == 1 ? bytes + other.bytes : step, count});
    return true;
  }
  if (bytes != other.bytes || other.begin < end()) return false;
  const std::int64_t between = count > 1 ? step : other.begin - begin;  // rows below rows
  if (other.begin != begin + between * count || (other.count > 1 && other.step != between)) return false;
  *this = joined({begin, bytes, between, count + other.count});
  return true;
}

ByteMap::Patch ByteMap::joined(Patch patch) {
  if (patch.count == 1 || patch.step == patch.bytes)
    return {patch.begin, patch.bytes * patch.count, patch.bytes * patch.count, 1};
  return patch;
}

// False when the map has to be kept in pages.
bool ByteMap::add_patch(Patch patch, std::uint8_t value) {
  const auto is_apart = [&](const Patch& p) { return p.is_apart(patch); };
  if (value == value_) return std::ranges::all_of(patches_, is_apart);
  if (!patches_.empty() && patch_value_ != value) return false;
  if (std::ranges::any_of(patches_, [&](const Patch& p) { return p.holds(patch); })) return true;
  if (!std::ranges::all_of(patches_, is_apart)) return false;
  const auto becomes_one = [&](Patch p) {
    if (p.takes(patch)) return patch = p, true;
    return patch.takes(p);
  };
  for (auto it = patches_.begin(); it != patches_.end();) {
    if (!becomes_one(*it)) {
      ++it;
    } else {
      patches_.erase(it);
      it = patches_.begin();
    }
  }
  if (patches_.size() >= kMostPatches) return false;
  patch_value_ = value;
  uniform_ = false;
  patches_.push_back(patch);
  if (covered(0, size_) == size_) reset(size_, value);
  return true;
}

void ByteMap::Patch::put(std::uint8_t value, std::int64_t from, std::int64_t to, std::uint8_t* out) const {
  const std::int64_t before = from - begin - bytes;  // ranges that end up to here are behind us
  for (std::int64_t i = before < 0 ? 0 : before / step + 1; i < count && begin + i * step < to; ++i) {
    const std::int64_t first = std::max(begin + i * step, from), last = std::min(begin + i * step + bytes, to);
    if (first < last) std::memset(out + (first - from), value, last - first);
  }
}

std::int64_t ByteMap::covered(std::int64_t begin, std::int64_t end) const {
  std::int64_t bytes = 0;
  for (const Patch& patch : patches_) bytes += patch.covered(begin, end);
  return bytes;
}

std::int64_t ByteMap::find_nonzero_in_patches() const {
  std::int64_t first = size_;
  if (value_ == 0) {
    for (const Patch& patch : patches_) first = std::min(first, patch.begin);
    return first;
  }
  if (patch_value_) return 0;
  for (first = 0; covered(first, first + 1);) ++first;
  return first;
}

}  // namespace kiln::sim
