#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"
#include "kiln/isa/text/text_words.h"

namespace kiln::isa::instruction::memset {
namespace {
using namespace args::memset;

constexpr Rule kIntegerValue{1, "an integer dst takes an integer value, or 0.0",
                             "write 2 instead of 2.0, or give dst a float dtype"};
constexpr Rule kPackedZero{2, "a packed dst takes the value 0",
                           "fill an unpacked tile and quantise it with quantize_mx"};
constexpr Rule kValueRange{3, "an integer value lies in the range of dst's dtype",
                           "choose a value that dst's dtype can hold", Mark::undocumented};

constexpr Rule kRules[] = {kIntegerValue, kPackedZero, kValueRange};

void check(Check& c) {
  const DType t = c.dtype(dst);
  const auto found = [&] {
    const std::string number = c.is_integer(value) ? fmt::to_string(c.integer(value)) : real_text(c.real(value));
    return fmt::format("value is {}, dst is {}", number, name(t));
  };
  if (is_packed(t)) c.require(kPackedZero, c.real(value) == 0, found);
  if (!is_integer(t)) return;
  c.require(kIntegerValue, c.is_integer(value) || c.real(value) == 0, found);
  if (c.is_integer(value)) c.require(kValueRange, to_int(t, from_int(t, c.integer(value))) == c.integer(value), found);
}

std::uint32_t element(const Run& r, DType t) {
  if (is_packed(t)) return 0;
  if (is_integer(t)) return r.is_integer(value) ? from_int(t, r.integer(value)) : 0;  // 0.0
  return from_float(t, static_cast<float>(r.real(value)));
}

template <class Word>
void fill_rows(const Tile& d, std::uint32_t bits) {
  for (std::int64_t row = 0; row < d.rows; ++row)
    std::fill_n(reinterpret_cast<Word*>(d.row(row)), d.free_size, static_cast<Word>(bits));
}

void run(Run& r) {
  Tile d = r.tile(dst);
  if (d.is_dense()) flatten(d);
  const std::uint32_t bits = element(r, d.dtype);
  if (bits == 0 && d.row_is_contiguous()) {
    for (std::int64_t row = 0; row < d.rows; ++row) std::memset(d.row(row), 0, d.free_size * d.element_bytes());
    return;
  }
  if (d.row_is_contiguous() && d.element_bytes() == 1) return fill_rows<std::uint8_t>(d, bits);
  if (d.row_is_contiguous() && d.element_bytes() == 2) return fill_rows<std::uint16_t>(d, bits);
  std::uint32_t chunk[kChunk];
  std::fill_n(chunk, std::min<std::size_t>(kChunk, d.free_size), bits);
  for (std::int64_t row = 0; row < d.rows; ++row) {
    for (std::int64_t first = 0; first < d.free_size; first += kChunk)
      store_row_bits(r, d, row, first, std::min<std::size_t>(kChunk, d.free_size - first), chunk);
  }
}

Cost cost(const CostQuery& q) {
  const bool half = q.engine() == Engine::vector && q.real(value) == 0 &&
                    (q.dtype(dst) == DType::bfloat16 || q.dtype(dst) == DType::float16);
  return {.cycles = q.stream(static_cast<double>(q.free_size(dst)), half ? 2 : 1)};
}

bool zeroes(const InstView& v) { return v.real(value) == 0; }

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description = "dst[p, f] = cvt(value): exactly for integers, through float32 for floats.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track_none,
    .cost_text = "max(64, N); max(64, N/2) for zero into bfloat16 and float16; gpsimd: 150 + N",
    .facts = {.zeroes = zeroes},
};

}  // namespace kiln::isa::instruction::memset
