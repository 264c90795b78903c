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

// Where in its bank an access can begin, as its loops move it: one flag per byte of the bank.
std::vector<bool> bank_positions(const Check& c, const Access& a, std::int64_t first) {
  const std::int64_t size = size_bytes(a.dtype), bank = c.arch().psum_bank_bytes;
  std::vector<bool> at(bank);
  at[first % bank] = true;
  for (const Term& term : c.program().terms_of(a.offset)) {
    const Loop& loop = c.program().loops[term.loop];
    const std::int64_t step = std::abs(term.coefficient * loop.step) * size % bank;
    if (step == 0) continue;
    std::vector<bool> reached = at;
    for (std::int64_t i = 1; i < std::min(loop.trip_count(), bank); ++i) {
      for (std::int64_t p = 0; p < bank; ++p) {
        if (at[p]) reached[(p + i * step) % bank] = true;
      }
    }
    at = std::move(reached);
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
  const std::vector<bool> at = bank_positions(c, a, first);
  return std::none_of(at.begin() + std::max<std::int64_t>(0, bank - count + 1), at.end(),
                      [](bool reached) { return reached; });
}

std::string bank_text(const Check& c, int param) {
  const auto [first, count] = bytes_of(c, param);
  return fmt::format("{} covers bytes {} to {} of its partitions{}", c.row().params[param].name, first, first + count,
                     c.access(param).offset.term_count ? ", moving with a loop" : "");
}

}  // namespace kiln::isa
