#include "kiln/isa/instructions/shared/psum_bank.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace kiln::isa {
namespace {

struct Bytes {
  std::int64_t first, count;
};

Bytes bytes_of(const Check& c, int param) {
  const Access& a = c.access(param);
  const std::int64_t size = size_bytes(a.dtype);
  const std::int64_t base = c.tensor(param).address ? c.tensor(param).address->byte_offset : 0;
  const Range r = element_range(c.program(), a), moves = range_of(c.program(), a.offset);
  return {base + r.min * size, ((r.max - moves.max) - (r.min - moves.min) + 1) * size};
}

// Where in its bank an access can begin, as its loops move it: bytes of the bank, each once.
std::vector<std::int64_t> bank_positions(const Check& c, const Access& a, std::int64_t first) {
  const std::int64_t size = size_bytes(a.dtype), bank = c.arch().psum_bank_bytes;
  std::vector<std::int64_t> at{first % bank};
  std::vector<bool> reached(bank);
  reached[first % bank] = true;
  for (const Term& term : c.program().terms_of(a.offset)) {
    const Loop& loop = c.program().loops[term.loop];
    const std::int64_t step = std::abs(term.coefficient * loop.step) * size % bank;
    if (step == 0) continue;
    const std::int64_t passes = std::min(loop.trip_count(), bank);
    for (std::size_t known = at.size(), n = 0; n < known; ++n) {
      for (std::int64_t i = 1; i < passes; ++i) {
        const std::int64_t moved = (at[n] + i * step) % bank;
        if (!reached[moved]) at.push_back(moved);
        reached[moved] = true;
      }
    }
  }
  return at;
}

}  // namespace

bool lies_in_one_bank(const Check& c, int param) {
  const Access& a = c.access(param);
  const std::int64_t bank = c.arch().psum_bank_bytes;
  const auto [first, count] = bytes_of(c, param);
  if (first % bank + count > bank) return false;
  if (!a.offset.term_count) return true;
  const std::vector<std::int64_t> at = bank_positions(c, a, first);
  return std::none_of(at.begin(), at.end(), [&](std::int64_t p) { return p + count > bank; });
}

std::string bank_text(const Check& c, int param) {
  const auto [first, count] = bytes_of(c, param);
  return fmt::format("{} covers bytes {} to {} of its partitions{}", c.row().params[param].name, first, first + count,
                     c.access(param).offset.term_count ? ", moving with a loop" : "");
}

}  // namespace kiln::isa
