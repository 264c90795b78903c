// A vector of results comes of a few vectors where they lie: what each of them has of it is a mask and an order, which
// are the same again after `count` vectors.
#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>

#include "kiln/num/fast/fast.h"
#include "kiln/num/plain/plain.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/num/fast/interleave.cpp"  // NOLINT: the name is Highway's
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace kiln::fast {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<std::uint32_t>;
using Signed = hn::RebindToSigned<Tag>;
using Vec = hn::Vec<Tag>;
constexpr std::size_t kLanes = hn::MaxLanes(Tag());
constexpr std::size_t kMostWindows = 8, kMostPhases = 8;  // beyond these, elements are as well moved one by one

// Elements that follow each other, and which of them come to lie in which lanes of a result.
struct Window {
  std::ptrdiff_t first;
  alignas(64) std::array<std::int32_t, kLanes> order, read, written;
};

// A vector of results, or the first lanes of one.
struct Phase {
  std::size_t lanes = kLanes, windows = 0;
  std::array<Window, kMostWindows> window;

  // From an element of a row on. False: there are too many windows.
  bool find(const Interleaved& from, std::size_t first) {
    std::array<std::ptrdiff_t, kLanes> place;
    std::size_t run = first % from.count;
    std::ptrdiff_t at = static_cast<std::ptrdiff_t>(first / from.count) * from.step;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      place[lane] = at + static_cast<std::ptrdiff_t>(run) * from.between;
      if (++run == from.count) run = 0, at += from.step;
    }
    std::array<bool, kLanes> is_found = {};
    for (windows = 0;; ++windows) {
      std::optional<std::ptrdiff_t> next;
      for (std::size_t lane = 0; lane < lanes; ++lane)
        if (!is_found[lane]) next = std::min(next.value_or(place[lane]), place[lane]);
      if (!next) return true;
      if (windows == kMostWindows) return false;
      Window& w = window[windows] = Window{*next, {}, {}, {}};
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        const std::ptrdiff_t behind = place[lane] - *next;
        if (is_found[lane] || behind >= static_cast<std::ptrdiff_t>(kLanes)) continue;
        w.order[lane] = static_cast<std::int32_t>(behind);
        w.read[static_cast<std::size_t>(behind)] = w.written[lane] = -1;
        is_found[lane] = true;
      }
    }
  }
};

// The same vector of all rows, and those that come so many elements later, with its masks in registers.
struct Places {
  const Interleaved& from;
  std::uint32_t* out;
  std::ptrdiff_t out_step;
  std::size_t times, elements;  // vectors of a row
  std::ptrdiff_t step;          // by which they move on where they come from
};

template <std::size_t kWindows, bool kWhole>
void put_phase(const Phase& phase, const Places& p) {
  const Tag d;
  const Signed di;
  const auto exists = hn::FirstN(d, phase.lanes);
  decltype(hn::IndicesFromVec(d, hn::Zero(di))) order[kWindows];
  hn::Mask<Tag> read[kWindows], written[kWindows];
  for (std::size_t w = 0; w < kWindows; ++w) {
    order[w] = hn::IndicesFromVec(d, hn::Load(di, phase.window[w].order.data()));
    read[w] = hn::MaskFromVec(hn::BitCast(d, hn::Load(di, phase.window[w].read.data())));
    written[w] = hn::MaskFromVec(hn::BitCast(d, hn::Load(di, phase.window[w].written.data())));
  }
  for (std::size_t row = 0; row < p.from.rows; ++row) {
    const auto r = static_cast<std::ptrdiff_t>(row);
    const auto* at = static_cast<const std::uint32_t*>(p.from.data) + r * p.from.row_step;
    std::uint32_t* to = p.out + r * p.out_step;
    for (std::size_t i = 0; i < p.times; ++i, at += p.step, to += p.elements) {
      const auto of = [&](std::size_t w) HWY_ATTR {
        return hn::TableLookupLanes(hn::MaskedLoad(read[w], d, at + phase.window[w].first), order[w]);
      };
      Vec result = of(0);
#pragma GCC unroll 8
      for (std::size_t w = 1; w < kWindows; ++w) result = hn::IfThenElse(written[w], of(w), result);
      if constexpr (kWhole)
        hn::StoreU(result, d, to);
      else
        hn::BlendedStore(result, exists, d, to);
    }
  }
}

template <bool kWhole, std::size_t... kIndex>
void put_windows(const Phase& phase, const Places& p, std::index_sequence<kIndex...>) {
  static constexpr std::array<void (*)(const Phase&, const Places&), sizeof...(kIndex)> kWays = {
      &put_phase<kIndex + 1, kWhole>...};
  kWays[phase.windows - 1](phase, p);
}

void put(const Phase& phase, const Places& p) {
  constexpr std::make_index_sequence<kMostWindows> kAll;
  phase.lanes == kLanes ? put_windows<true>(phase, p, kAll) : put_windows<false>(phase, p, kAll);
}

// False: the elements are better moved one by one.
bool interleave(const Interleaved& from, void* out, std::ptrdiff_t out_step) {
  const std::size_t width = from.count * from.n, phases = from.count / std::gcd(from.count, kLanes);
  const std::size_t whole = std::min(phases, width / kLanes), left = width % kLanes;
  if (whole == 0 || phases > kMostPhases) return false;
  std::array<Phase, kMostPhases> found;
  for (std::size_t i = 0; i < whole; ++i) {
    if (!found[i].find(from, i * kLanes)) return false;
  }
  const std::size_t elements = phases * kLanes;
  Places p{from,     static_cast<std::uint32_t*>(out),
           out_step, 0,
           elements, static_cast<std::ptrdiff_t>(elements / from.count) * from.step};
  for (std::size_t i = 0; i < whole; ++i, p.out += kLanes) {
    p.times = (width / kLanes - i - 1) / phases + 1;
    put(found[i], p);
  }
  if (left == 0) return true;
  Phase last;
  last.lanes = left;
  if (!last.find(from, width - left)) return false;
  p.out = static_cast<std::uint32_t*>(out) + (width - left), p.times = 1;
  put(last, p);
  return true;
}

}  // namespace

void interleave_or_plain(const Interleaved& from, void* out, std::ptrdiff_t out_step) {
  if (!interleave(from, out, out_step)) plain::interleave(from, out, out_step);
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::fast
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::fast {

HWY_EXPORT(interleave_or_plain);

void interleave(const Interleaved& from, void* out, std::ptrdiff_t out_step) {
  HWY_DYNAMIC_DISPATCH(interleave_or_plain)(from, out, out_step);
}

}  // namespace kiln::fast
#endif
