#include "kiln/sim/spaced_ranges.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace kiln::sim {
namespace {

using Step = SpacedRanges::Step;

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// Bytes of the ranges from a step on, of which the first one begins at 0, before a place.
std::int64_t bytes_before(const SpacedRanges& r, int first, std::int64_t place) {
  if (place <= 0) return 0;
  if (first == r.rank) return std::min(place, r.bytes);
  std::int64_t inner = r.bytes;
  for (int d = first + 1; d < r.rank; ++d) inner *= r.steps[d].count;
  const Step& s = r.steps[first];
  const std::int64_t whole = place / s.step;
  if (whole >= s.count) return inner * s.count;
  return inner * whole + bytes_before(r, first + 1, place - whole * s.step);
}

// Whether the ranges of `p` from step i on hold those of `q` from step j on, which begin `distance` behind them.
bool holds_from(const SpacedRanges& p, int i, const SpacedRanges& q, int j, std::int64_t distance) {
  if (distance < 0) return false;
  const std::int64_t last = distance + q.span(j) - 1;
  if (i == p.rank) return last < p.bytes;
  const Step& s = p.steps[i];
  if (last / s.step >= s.count) return false;
  if (distance / s.step == last / s.step) return holds_from(p, i + 1, q, j, distance % s.step);
  return j < q.rank && q.steps[j].step % s.step == 0 && holds_from(p, i, q, j + 1, distance);
}

// Whether none of them meets another one.
bool are_apart(const SpacedRanges& p, int i, const SpacedRanges& q, int j, std::int64_t distance) {
  constexpr std::int64_t kFew = 4;
  if (distance >= p.span(i) || -distance >= q.span(j)) return true;
  if (i == p.rank && j == q.rank) return false;
  const std::int64_t step_p = i < p.rank ? p.steps[i].step : 0, step_q = j < q.rank ? q.steps[j].step : 0;
  if (step_p < step_q) return are_apart(q, j, p, i, -distance);
  if (step_p == step_q) {
    const std::int64_t behind = distance - floor_div(distance, step_p) * step_p;
    return are_apart(p, i + 1, q, j + 1, behind) && are_apart(p, i + 1, q, j + 1, behind - step_p);
  }
  const std::int64_t first = std::max<std::int64_t>(0, floor_div(distance, step_p));
  const std::int64_t last = std::min(p.steps[i].count - 1, floor_div(distance + q.span(j) - 1, step_p));
  if (last - first >= kFew) return false;
  for (std::int64_t k = first; k <= last; ++k) {
    if (!are_apart(p, i + 1, q, j, distance - k * step_p)) return false;
  }
  return true;
}

bool are_same(const SpacedRanges& p, const SpacedRanges& q) {
  return p.rank == q.rank && std::equal(p.steps, p.steps + p.rank, q.steps);
}

SpacedRanges without(SpacedRanges r, int step) {
  std::copy(r.steps + step + 1, r.steps + r.rank, r.steps + step);
  --r.rank;
  return r;
}

bool are_nested(const SpacedRanges& r) {
  for (int d = 0; d < r.rank; ++d) {
    if (r.steps[d].step < r.span(d + 1)) return false;
  }
  return true;
}

// Both as one, where those of `q` go on with a step of `p`, which is the only one that they need not have.
bool go_on(SpacedRanges& p, const SpacedRanges& q, int step) {
  const bool q_has_it = p.rank == q.rank;
  if (q_has_it && p.steps[step].step != q.steps[step].step) return false;
  if (!are_same(without(p, step), q_has_it ? without(q, step) : q)) return false;
  const Step& s = p.steps[step];
  const std::int64_t count_q = q_has_it ? q.steps[step].count : 1;
  const bool behind = q.begin == p.begin + s.step * s.count, before = p.begin == q.begin + s.step * count_q;
  if (!behind && !before) return false;
  SpacedRanges both = p;
  both.begin = std::min(p.begin, q.begin);
  both.steps[step].count += count_q;
  if (!are_nested(both)) return false;
  p = both;
  return true;
}

void put_from(const SpacedRanges& r, int first, std::int64_t begin, std::uint8_t value, std::int64_t from,
              std::int64_t to, std::uint8_t* out) {
  if (first == r.rank) {
    const std::int64_t left = std::max(begin, from), right = std::min(begin + r.bytes, to);
    if (left < right) std::memset(out + (left - from), value, right - left);
    return;
  }
  const Step& s = r.steps[first];
  const std::int64_t before = from - begin - r.span(first + 1);  // those that end up to here are behind us
  for (std::int64_t i = before < 0 ? 0 : before / s.step + 1; i < s.count && begin + i * s.step < to; ++i)
    put_from(r, first + 1, begin + i * s.step, value, from, to, out);
}

}  // namespace

bool SpacedRanges::repeat(std::int64_t step, std::int64_t count) {
  if (count == 1) return true;
  if (rank == kMostSteps || step < span(0)) return false;
  std::copy_backward(steps, steps + rank, steps + rank + 1);
  steps[0] = {step, count};
  ++rank;
  return true;
}

void SpacedRanges::join() {
  int n = 0;
  for (int d = 0; d < rank; ++d) {
    const Step s = steps[d];
    if (s.count == 1) continue;
    if (n > 0 && steps[n - 1].step == s.step * s.count)
      steps[n - 1] = {s.step, steps[n - 1].count * s.count};
    else
      steps[n++] = s;
  }
  rank = n;
  for (; rank > 0 && steps[rank - 1].step == bytes; --rank) bytes *= steps[rank - 1].count;
}

std::int64_t SpacedRanges::span(int first_step) const {
  std::int64_t all = bytes;
  for (int d = first_step; d < rank; ++d) all += steps[d].step * (steps[d].count - 1);
  return all;
}

std::int64_t SpacedRanges::covered(std::int64_t from, std::int64_t to) const {
  return from < to ? bytes_before(*this, 0, to - begin) - bytes_before(*this, 0, from - begin) : 0;
}

bool SpacedRanges::holds(const SpacedRanges& other) const {
  return holds_from(*this, 0, other, 0, other.begin - begin);
}

bool SpacedRanges::is_apart(const SpacedRanges& other) const {
  return are_apart(*this, 0, other, 0, other.begin - begin);
}

bool SpacedRanges::takes(const SpacedRanges& other) {
  if (are_same(*this, other) && begin + bytes == other.begin) {  // columns beside columns
    bytes += other.bytes;
    return join(), true;
  }
  if (bytes != other.bytes) return false;
  if (rank == 0 && other.rank == 0 && begin < other.begin) {
    steps[rank++] = {other.begin - begin, 2};
    return join(), true;
  }
  SpacedRanges more = rank >= other.rank ? *this : other;
  const SpacedRanges& less = rank >= other.rank ? other : *this;
  if (more.rank > less.rank + 1) return false;
  for (int d = 0; d < more.rank; ++d) {
    if (!go_on(more, less, d)) continue;
    *this = more;
    return join(), true;
  }
  return false;
}

void SpacedRanges::put(std::uint8_t value, std::int64_t from, std::int64_t to, std::uint8_t* out) const {
  put_from(*this, 0, begin, value, from, to, out);
}

}  // namespace kiln::sim
