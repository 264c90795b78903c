#include "kernels/fft/way.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/blas/product_block.h"
#include "kernels/fft/bluestein.h"
#include "kernels/fft/half_trip.h"
#include "kernels/fft/long_real.h"
#include "kernels/fft/one_trip.h"
#include "kernels/fft/rader.h"
#include "kernels/fft/real_factored.h"
#include "kernels/fft/row_pairs.h"

namespace kiln::kernels {
namespace {

constexpr std::int64_t kMostDirect = 1024, kShortest = 64;
// That are timed.
constexpr std::size_t kMostPairs = 12, kMostTriples = 8, kMostQuadruples = 2, kMostConvolutions = 4, kMostRaders = 3,
                      kMostHalves = 6, kMostPaired = 7, kMostLongReal = 3, kMostOneTrips = 4, kMostHalfTrips = 6;

struct Rated {
  Way way;
  double work;
};

// Pairs that are likely to be fast: rows of at least 512 bytes both ways, partitions well filled.
double work_of(std::int64_t n1, std::int64_t n2) {
  const double filled = static_cast<double>(kTile / n1 * n1) * static_cast<double>(kTile / n2 * n2) / (kTile * kTile);
  const double shortness =
      std::max(0.0, 64.0 / static_cast<double>(n1) - 1) + std::max(0.0, 64.0 / static_cast<double>(n2) - 1);
  return 1 / filled + 0.5 * shortness;
}

void sort_and_cut(std::vector<Rated>& rated, std::size_t most) {
  std::stable_sort(rated.begin(), rated.end(), [](const Rated& a, const Rated& b) { return a.work < b.work; });
  if (rated.size() > most) rated.resize(most);
}

std::vector<Rated> pairs(const TransformConfig& c) {
  std::vector<Rated> found;
  for (std::int64_t n1 = 2; n1 <= std::min(kTile, c.n / 2); ++n1) {
    if (c.n % n1) continue;
    const TwoFactorConfig t{.n1 = n1, .n2 = c.n / n1, .spectrum = c.spectrum};
    if (is_possible(t)) found.push_back({{Way::Kind::two_factor, 1, n1, t.n2}, work_of(n1, t.n2)});
  }
  sort_and_cut(found, kMostPairs);
  return found;
}

// Real rows in two factors of which one is longer than the partitions are many: the shorter that is, the fewer
// products.
std::vector<Rated> long_reals(const TransformConfig& c) {
  std::vector<Rated> found;
  for (std::int64_t n1 = kTile; n1 >= kTile / 2; --n1) {
    const std::int64_t n2 = c.n / n1;
    if (c.n % n1 == 0 && n2 > kTile && is_possible(LongReal{.n1 = n1, .n2 = n2, .spectrum = c.spectrum}))
      found.push_back({{Way::Kind::two_factor, 1, n1, n2}, static_cast<double>(n2)});
  }
  sort_and_cut(found, kMostLongReal);
  return found;
}

// Three factors that fill the partitions best; the first is the batch of the others, stored in runs of its length.
std::vector<Rated> triples(std::int64_t n, const std::function<bool(const Way&)>& fits = {}) {
  std::vector<Rated> found;
  for (std::int64_t n0 = 2; n0 <= kTile; ++n0) {
    if (n % n0) continue;
    for (std::int64_t n1 = 2; n1 <= kTile; ++n1) {
      if (n / n0 % n1 || n / n0 / n1 > kTile || n / n0 / n1 < 2) continue;
      const std::int64_t n2 = n / n0 / n1;
      const double run = std::max(0.0, 64.0 / static_cast<double>(n0) - 1);
      const Way way{Way::Kind::three_factor, n0, n1, n2};
      if (!fits || fits(way)) found.push_back({way, work_of(n1, n2) + 128.0 / static_cast<double>(n0) + run});
    }
  }
  sort_and_cut(found, kMostTriples);
  return found;
}

// Three factors, the last of them short, in one trip through SBUF; longer rows have no room there.
std::vector<Rated> one_trips(const TransformConfig& c) {
  constexpr std::int64_t kLongestTrip = 1 << 19, kShortFactor = 64;
  std::vector<Rated> found;
  if (c.n > kLongestTrip || c.spectrum == Spectrum::inverse) return found;  // half spectra are halved

  for (std::int64_t n2 = 2; n2 <= kShortFactor; ++n2) {
    for (std::int64_t n0 = 2; n0 <= kTile && c.n % n2 == 0; ++n0) {
      if (c.n / n2 % n0 || c.n / n2 / n0 > kTile) continue;
      const OneTrip trip{
          .way = {.kind = Way::Kind::three_factor, .n0 = n0, .n1 = c.n / n2 / n0, .n2 = n2, .one_trip = true},
          .spectrum = c.spectrum};
      // Over what it takes where all partitions are in use.
      if (is_possible(trip)) found.push_back({trip.way, columns_of(trip) * kTile / (12.0 * static_cast<double>(c.n))});
    }
  }
  sort_and_cut(found, kMostOneTrips);
  return found;
}

// Half spectra likewise, the first factor short.
std::vector<Rated> half_trips(const TransformConfig& c) {
  constexpr std::int64_t kLongestTrip = 1 << 19, kShortFactor = 64;
  std::vector<Rated> found;
  if (c.n > kLongestTrip || c.spectrum != Spectrum::inverse) return found;
  for (std::int64_t n0 = 3; n0 <= kShortFactor; ++n0) {
    for (std::int64_t n1 = 2; n1 <= kTile && c.n % n0 == 0; ++n1) {
      if (c.n / n0 % n1 || c.n / n0 / n1 > kTile) continue;
      const HalfTrip trip{
          .way = {.kind = Way::Kind::three_factor, .n0 = n0, .n1 = n1, .n2 = c.n / n0 / n1, .one_trip = true}};
      if (is_possible(trip)) found.push_back({trip.way, columns_of(trip)});
    }
  }
  sort_and_cut(found, kMostHalfTrips);
  return found;
}

// The longest transforms: a first factor with room for three others.
std::vector<Rated> quadruples(std::int64_t n) {
  std::vector<Rated> found;
  for (std::int64_t n3 = kTile; n3 >= 2; --n3) {
    if (n % n3 || n / n3 > kTile * kTile * kTile) continue;
    for (Rated r : triples(n / n3)) {
      r.way.kind = Way::Kind::four_factor, r.way.n3 = n3;
      r.work += 128.0 / static_cast<double>(n3);
      found.push_back(r);
    }
  }
  sort_and_cut(found, kMostQuadruples);
  return found;
}

// Lengths from `least` on that are short products of small primes, for those that are too long to look at every number.
std::vector<std::int64_t> smooth_lengths(std::int64_t least) {
  std::vector<std::int64_t> found;
  for (const std::int64_t odd : {1, 3, 5, 7, 9, 15, 21, 25, 27, 35, 45}) {
    std::int64_t m = odd;
    while (m < least) m *= 2;
    found.push_back(m);
  }
  std::sort(found.begin(), found.end());
  found.resize(2);
  return found;
}

void add_convolution(std::vector<Rated>& found, std::vector<Rated> of_m, std::int64_t m, std::int64_t least) {
  for (Rated& r : of_m) {
    r.way.kind = Way::Kind::bluestein;
    r.work *= static_cast<double>(m) / static_cast<double>(least);
    found.push_back(r);
  }
}

// Convolutions whose lengths have factors and are not much longer than they must be.
std::vector<Rated> convolutions(const TransformConfig& c) {
  std::vector<Rated> found;
  const std::int64_t least = numbers_in(c) + numbers_out(c) - 1;
  const auto add_factors = [&](std::int64_t m) {
    if (m <= kTile * kTile) return add_convolution(found, pairs({.n = m}), m, least);
    add_convolution(found, one_trips({.n = m}), m, least);
    add_convolution(found, triples(m), m, least);
  };
  if (least > kTile * kTile * kTile) {
    for (const std::int64_t m : smooth_lengths(least)) add_convolution(found, quadruples(m), m, least);
  } else {
    for (std::int64_t m = least; m <= least + least / 3 + 64 && found.size() < 64; ++m) add_factors(m);
  }
  sort_and_cut(found, kMostConvolutions);
  return found;
}

std::vector<Rated> raders(const TransformConfig& c) {
  if (c.spectrum != Spectrum::whole || c.n > kLongestRader || !is_prime(c.n)) return {};
  std::vector<Rated> found = pairs({.n = c.n - 1});
  for (Rated& r : found) r.way.kind = Way::Kind::rader;
  sort_and_cut(found, kMostRaders);
  return found;
}

// Real rows of even length by complex ones of half of it.
std::vector<Way> halves(const TransformConfig& c) {
  if (c.n % 2) return {};
  std::vector<Way> found = ways({.n = c.n / 2});
  if (found.size() > kMostHalves) found.resize(kMostHalves);
  for (Way& w : found) w.halved = true;
  return found;
}

// Real rows by complex ones, half as many: of odd lengths, and of even ones in one trip.
std::vector<Way> paired(const TransformConfig& c) {
  if (c.rows < 2) return {};
  std::vector<Way> found = ways({.n = c.n, .rows = pairs_of(c.rows)});
  std::erase_if(found, [&](const Way& w) { return w.kind == Way::Kind::direct || (c.n % 2 == 0 && !w.is_one_trip()); });
  if (found.size() > kMostPaired) found.resize(kMostPaired);
  for (Way& w : found) w.paired = true;
  return found;
}

}  // namespace

std::int64_t TransformConfig::x_width() const {
  return spectrum == Spectrum::whole ? 2 * n : spectrum == Spectrum::forward ? n : 2 * (n / 2 + 1);
}
std::int64_t TransformConfig::y_width() const {
  return spectrum == Spectrum::whole ? 2 * n : spectrum == Spectrum::forward ? 2 * (n / 2 + 1) : n;
}

std::string Way::name() const {
  const auto named = [&]() -> std::string {
    switch (kind) {
      case Kind::direct:
        return "direct";
      case Kind::two_factor:
        return fmt::format("two_factor {}x{}", n1, n2);
      case Kind::three_factor:
        return fmt::format("three_factor {}x{}x{}{}", n0, n1, n2, one_trip ? " in one trip" : "");
      case Kind::four_factor:
        return fmt::format("four_factor {}x{}x{}x{}", n3, n0, n1, n2);
      case Kind::bluestein:
        return fmt::format("bluestein {}", product());
      case Kind::rader:
        return fmt::format("rader {}x{}", n1, n2);
    }
    return "";
  };
  return (halved ? "halved " : paired ? "paired " : "") + named();
}

std::vector<Way> ways(const TransformConfig& c) {
  std::vector<Way> found;
  if (c.n > kLongest) return found;
  const auto add = [&](const std::vector<Rated>& some) {
    for (const Rated& r : some) found.push_back(r.way);
  };
  if (c.n <= kMostDirect) found.push_back({Way::Kind::direct});
  if (c.n <= kShortest) return found;
  const std::size_t before = found.size();
  add(pairs(c));
  if (c.spectrum == Spectrum::whole && (c.n > kTile * kTile || found.size() == before)) {
    add(one_trips(c));
    add(triples(c.n));
  }
  if (c.n > kTile * kTile * kTile && c.spectrum == Spectrum::whole) add(quadruples(c.n));
  if (found.size() > before) return found;
  if (c.spectrum != Spectrum::whole) {
    add(long_reals(c));
    add(one_trips(c));
    add(half_trips(c));
    add(triples(c.n, [&](const Way& w) { return is_possible(RealFactored{w, c.spectrum}); }));
    const std::vector<Way> some = halves(c);
    found.insert(found.end(), some.begin(), some.end());
  }
  if (found.size() == before) add(convolutions(c));
  add(raders(c));
  if (c.spectrum != Spectrum::whole) {
    const std::vector<Way> some = paired(c);
    found.insert(found.end(), some.begin(), some.end());
  }
  return found;
}

}  // namespace kiln::kernels
