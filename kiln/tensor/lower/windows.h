// What of a volume lies in SBUF while windows slide over it.
#pragma once

#include <vector>

#include "kiln/tensor/ir/window.h"

namespace kiln::tensor {

inline constexpr std::int64_t kVolumeBytes = 49152;  // of a partition; two of them may be under way

// Whether all of a padded volume lies in SBUF, `channels` of it on partitions in blocks of 128.
inline bool fits_whole(std::int64_t channels, const std::vector<Window>& windows, std::int64_t bytes) {
  std::int64_t n = (channels + 127) / 128 * bytes;
  for (const Window& w : windows) n *= w.padded();
  return n <= kVolumeBytes;
}

}  // namespace kiln::tensor
