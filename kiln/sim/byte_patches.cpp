// The part of ByteMap that is about patches.
#include <algorithm>

#include "kiln/sim/byte_map.h"

namespace kiln::sim {
namespace {

constexpr std::size_t kMostPatches = 16;

}  // namespace

// False when the map has to be kept in pages.
bool ByteMap::add_patch(SpacedRanges patch, std::uint8_t value) {
  const auto is_apart = [&](const SpacedRanges& p) { return p.is_apart(patch); };
  if (value == value_) return std::ranges::all_of(patches_, is_apart);
  if (!patches_.empty() && patch_value_ != value) return false;
  if (std::ranges::any_of(patches_, [&](const SpacedRanges& p) { return p.holds(patch); })) return true;
  if (!std::ranges::all_of(patches_, is_apart)) return false;
  const auto becomes_one = [&](SpacedRanges p) {
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

std::int64_t ByteMap::covered(std::int64_t begin, std::int64_t end) const {
  std::int64_t bytes = 0;
  for (const SpacedRanges& patch : patches_) bytes += patch.covered(begin, end);
  return bytes;
}

std::int64_t ByteMap::find_nonzero_in_patches() const {
  std::int64_t first = size_;
  if (value_ == 0) {
    for (const SpacedRanges& patch : patches_) first = std::min(first, patch.begin);
    return first;
  }
  if (patch_value_) return 0;
  for (first = 0; covered(first, first + 1);) ++first;
  return first;
}

}  // namespace kiln::sim
