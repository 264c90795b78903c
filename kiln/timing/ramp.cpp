#include "kiln/timing/ramp.h"

#include <algorithm>
#include <span>

namespace kiln::timing {

namespace {

using Axes = std::span<const Ramp::Axis>;

constexpr std::int64_t kTries = 64;  // passes of an outer loop that are looked into one by one

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

// From where to where the axis must go for `box` and `other` to overlap: k = first … last; none when first > last.
struct Range {
  std::int64_t first, last;
};
Range overlaps(const Box& box, const Ramp::Axis& axis, const Box& other, std::int64_t from) {
  Range r{from, axis.count};
  for (int d = 0; d < box.rank; ++d) {
    // lo + k * step < other.hi and hi + k * step > other.lo
    const std::int64_t below = other.hi[d] - 1 - box.lo[d], above = other.lo[d] + 1 - box.hi[d];
    const std::int64_t s = axis.step[d];
    if (s == 0) {
      if (below < 0 || above > 0) return {1, 0};
      continue;
    }
    r.last = std::min(r.last, s > 0 ? floor_div(below, s) : floor_div(above, s));
    r.first = std::max(r.first, s > 0 ? -floor_div(-above, s) : -floor_div(-below, s));
  }
  return r;
}

// All places of the box along the axes, as one.
Box hull(Box box, Axes axes) {
  for (const Ramp::Axis& axis : axes) {
    for (int d = 0; d < box.rank; ++d) {
      const std::int64_t far = axis.count * axis.step[d];
      box.lo[d] += std::min<std::int64_t>(far, 0);
      box.hi[d] += std::max<std::int64_t>(far, 0);
    }
  }
  return box;
}

Box moved(Box box, const Ramp::Axis& axis, std::int64_t k) {
  for (int d = 0; d < box.rank; ++d) {
    box.lo[d] += k * axis.step[d];
    box.hi[d] += k * axis.step[d];
  }
  return box;
}

// `from`: 0 when the box may stay where it is on all of the axes, 1 when it has to move on one of them.
std::optional<Time> latest(const Box& box, Axes axes, const Box& other, std::int64_t from) {
  const Ramp::Axis& axis = axes[0];
  const Axes inner = axes.subspan(1);
  const Range r = overlaps(hull(box, inner), axis, other, inner.empty() ? from : 0);
  if (r.first > r.last) return std::nullopt;
  if (inner.empty()) return r.first * axis.period;
  for (std::int64_t k = r.first; k <= std::min(r.last, r.first + kTries); ++k) {
    const std::optional<Time> rest = latest(moved(box, axis, k), inner, other, k > 0 ? 0 : from);
    if (rest) return k * axis.period + *rest;
  }
  return r.last > r.first + kTries ? std::optional<Time>(r.first * axis.period) : std::nullopt;
}

}  // namespace

std::optional<Time> Ramp::latest_overlap(const Box& other) const { return latest(box, axes, other, 1); }

}  // namespace kiln::timing
