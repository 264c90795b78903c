// What max8, nc_find_index8 and nc_match_replace8 share: they look for eight values in each partition.
#pragma once

#include <cstdint>

#include "kiln/isa/inst_view.h"

namespace kiln::isa {

inline constexpr std::int64_t kSearched = 8;  // values per partition
inline constexpr std::int64_t kMinSearchSize = 8, kMaxSearchSize = 16384;
inline constexpr int kMaxSearchRank = 3;

inline bool has_search_size(const InstView& v, int param) {
  return v.free_size(param) >= kMinSearchSize && v.free_size(param) <= kMaxSearchSize;
}
// Eight values for each partition of `data`.
inline bool has_eight(const InstView& v, int param, int data) {
  return v.partitions(param) == v.partitions(data) && v.free_size(param) == kSearched;
}

inline constexpr std::int64_t kNotFound = 0xffffffff;  // all ones, also after cutting to 16 bits

// The first position from `from` on that equals the value, or kNotFound. NaN equals nothing; zeros of both
// signs are equal.
std::int64_t find_first(const float* x, std::int64_t from, std::int64_t n, float value);

// found[j] = the first position of vals[j] that no equal value has taken, for j = 0 … 7, or 7 … 0 when
// `backward`.
void find_eight(const float* x, std::int64_t n, const float* vals, bool backward, std::uint32_t* found);

}  // namespace kiln::isa
