// ByteMap: one small number per byte of a memory, cheap while large parts agree. A map that holds one value costs
// nothing, and one with a few patches of another value, rows or columns of a tile, costs a line for each. Else, pages
// of 4 KiB that hold one value cost nothing; only pages with mixed values are stored, by lines of 64 bytes as long as
// only whole lines were filled, else byte by byte.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kiln/sim/spaced_ranges.h"

namespace kiln::sim {

class ByteMap {
 public:
  explicit ByteMap(std::int64_t size = 0, std::uint8_t value = 0) { reset(size, value); }
  void reset(std::int64_t size, std::uint8_t value);

  // True when every byte of the map has this value, in constant time.
  bool is_uniform(std::uint8_t value) const { return uniform_ && value_ == value; }

  void fill(std::int64_t begin, std::int64_t end, std::uint8_t value);
  // Prepares for many ranges that lie anywhere, which are filled one by one then.
  void expect_ranges() {
    if (pages_.empty() && !is_uniform(0)) spread();
  }
  void fill(SpacedRanges ranges, std::uint8_t value);
  bool all(std::int64_t begin, std::int64_t end, std::uint8_t value) const;
  bool all(SpacedRanges ranges, std::uint8_t value) const;
  std::uint8_t at(std::int64_t i) const;
  // The values of a range, one after the other.
  void copy(std::int64_t begin, std::int64_t end, std::uint8_t* out) const;
  // The first nonzero value in the range, 0 when there is none.
  std::uint8_t first_nonzero(std::int64_t begin, std::int64_t end) const;
  // Over the whole map: how many bytes are not 0, and the first of them (the size of the map when none).
  std::int64_t count_nonzero() const;
  std::int64_t find_nonzero() const;

 private:
  static constexpr std::int64_t kPage = 4096;
  static constexpr int kLine = 6;  // logarithm of the bytes of a line
  struct Page {
    std::uint8_t value = 0;
    std::uint8_t shift = 0;    // of a stored page: each unit of it stands for 2^shift bytes
    std::int32_t nonzero = 0;  // units of a stored page
    std::unique_ptr<std::uint8_t[]> units;
  };
  bool add_patch(SpacedRanges patch, std::uint8_t value);
  std::int64_t covered(std::int64_t begin, std::int64_t end) const;  // by patches
  std::int64_t find_nonzero_in_patches() const;
  bool fill_lines(std::int64_t begin, std::int64_t end, std::uint8_t value);
  void fill_pages(std::int64_t begin, std::int64_t end, std::uint8_t value);
  void fill_pages_spaced(std::int64_t begin, std::int64_t bytes, std::int64_t step, std::int64_t count,
                         std::uint8_t value);
  void spread();  // from patches to pages
  void fill_page(Page& page, std::int64_t page_size, std::int64_t begin, std::int64_t end, std::uint8_t value);
  void fill_spaced_page(Page& page, std::int64_t page_size, std::int64_t begin, std::int64_t bytes, std::int64_t step,
                        std::int64_t count, std::uint8_t value);
  static void store(Page& page, std::int64_t page_size, int shift);
  static std::int64_t nonzero_bytes(const Page& page, std::int64_t page_size);
  std::int64_t page_size(std::size_t i) const;

  std::int64_t size_ = 0;
  bool uniform_ = true;
  std::uint8_t value_ = 0;  // of all bytes, or of those outside the patches
  std::uint8_t patch_value_ = 0;
  std::vector<SpacedRanges> patches_;  // none meets another; empty: uniform, or in pages
  std::vector<Page> pages_;
  std::size_t clean_pages_ = 0;  // pages that are all 0
};

}  // namespace kiln::sim
