#include "kernels/fft/host/row_errors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <span>

#include "kernels/blas/product_block.h"
#include "kernels/fft/host/row_sums.h"

namespace kiln::fft {
namespace {

using kernels::Precision;
using kernels::Spectrum;
using kernels::Way;

// Squares of errors, in units of 1e-14: of a sum that the tensor engine adds up, for each of its products; of a factor,
// its tables and the step behind it; of a step between transforms.
struct ErrorShare {
  double product, factor, step;
};
ErrorShare error_share(Precision precision) {
  return precision == Precision::native ? ErrorShare{0.0315, 0.16, 0.2} : ErrorShare{0.0035, 0.31, 0.2};
}

// Of a transform in factors; longer ones are several sums.
double square_of_factors(const Way& w, const ErrorShare& share) {
  double square = 0;
  for (const std::int64_t n : {w.n3, w.n0, w.n1, w.n2}) {
    const auto sums = static_cast<double>(kernels::tiles_of(n, kernels::kTile));
    if (n > 1) square += share.product * static_cast<double>(std::min(n, kernels::kTile)) + share.factor * sums;
  }
  return square;
}

double square_of(const kernels::TransformConfig& c, const Way& w) {
  const ErrorShare share = error_share(c.precision);
  if (w.kind == Way::Kind::direct) {
    const std::int64_t width = c.x_width(), sums = kernels::tiles_of(width, kernels::kTile);
    return share.product * static_cast<double>(std::min(width, kernels::kTile)) +
           share.factor * static_cast<double>(sums) / 2;
  }
  const bool is_convolution = w.kind == Way::Kind::bluestein || w.kind == Way::Kind::rader;
  const double square = square_of_factors(w, share);
  return (is_convolution ? 2 * square + 3 * share.step : square) + (w.halved ? share.step : 0);
}

constexpr double kNear = 0.9;  // of what is promised, where errors are expected rather than known

// Beside a large number the other row of a pair has 1e-7 of that.
constexpr double kMostBeside = 3.5;

// Rows with few numbers that are much larger than the others: times the mean square of each part.
constexpr double kPeak = 40, kPeakShare = 0.25;
bool has_peak(const Size& s, std::int64_t count, std::int64_t parts) {
  const double most = std::min(kPeak / static_cast<double>(parts), kPeakShare * static_cast<double>(count));
  return s.largest * s.largest > most * s.square;
}

constexpr std::size_t kCompared = 512, kEnough = 64;  // numbers of a row that are compared, and too few of them
constexpr int kFewRepeated = 6;
// Sums of up to 128 times the same number are exact where it has so few bits.
constexpr int kFreeBits = 7;
// Of a magnitude.
bool has_many_bits(std::uint32_t bits) {
  constexpr std::uint32_t kInfinity = 0x7f800000;
  return bits < kInfinity && bits % (1u << kFreeBits) != 0;
}

// Places all over rows of a width, the same ones each time.
const std::vector<std::int64_t>& some_places(std::int64_t width) {
  static thread_local std::vector<std::int64_t> places;
  static thread_local std::int64_t known = 0;
  if (known == width) return places;
  known = width;
  places.clear();
  std::uint64_t state = 1;
  for (std::size_t i = 0; i < kCompared; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    places.push_back(static_cast<std::int64_t>((state >> 33) % static_cast<std::uint64_t>(width)));
  }
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

// Whether most numbers of a row are nearly nothing beside its peaks: what was summed up is smooth, or tones, and
// nothing random makes the errors of its sums differ.
constexpr double kLittle = 1e-7;
bool is_pure(const float* row, std::int64_t count, std::int64_t parts, const Size& s) {
  std::vector<double> squares;
  for (const std::int64_t at : some_places(count)) {
    double square = 0;
    for (std::int64_t part = 0; part < parts; ++part) square += std::pow(row[at * parts + part], 2.0);
    squares.push_back(square);
  }
  const auto middle = squares.begin() + static_cast<std::int64_t>(squares.size() / 2);
  std::nth_element(squares.begin(), middle, squares.end());
  return *middle < kLittle * s.square;
}

// Numbers from all over a row; of one that is mostly zeros the first ones. Those that differ by less than what a sum of
// them is rounded to are the same.
class SomeNumbers {
 public:
  SomeNumbers(const float* row, std::int64_t width) {
    for (const std::int64_t at : some_places(width)) look(row[at]);
    if (count_ >= kEnough) return;
    count_ = 0;
    for (std::int64_t i = 0; i < width && count_ < kCompared; ++i) look(row[i]);
  }
  std::span<const std::uint32_t> all() const { return {seen_.data(), count_}; }

 private:
  void look(float v) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(std::abs(v));
    seen_[count_] = bits >> (kFreeBits - 1);
    count_ += has_many_bits(bits);  // without a branch, which would be guessed wrong
  }

  std::array<std::uint32_t, kCompared + 1> seen_;
  std::size_t count_ = 0;
};

// Numbers of a row, found by themselves. The table is that of the rows before, whose numbers have other marks.
class Seen {
 public:
  Seen() : table_(of_thread().places), mark_(++of_thread().mark) {
    if (mark_ < 1u << kMarkBits) return;
    table_.fill(0);
    mark_ = of_thread().mark = 1;
  }
  // Whether the number was there.
  bool add(std::uint32_t v) {
    const std::uint32_t entry = v << kMarkBits | mark_;
    std::size_t at = v * 2654435761u >> (32 - kPlacesBits);
    while (table_[at] != entry) {
      if (table_[at] % (1u << kMarkBits) != mark_) {
        table_[at] = entry;
        return false;
      }
      at = (at + 1) % table_.size();
    }
    return true;
  }

 private:
  static constexpr int kMarkBits = kFreeBits, kPlacesBits = 12;  // numbers have kFreeBits less than 32
  using Places = std::array<std::uint32_t, std::size_t{1} << kPlacesBits>;
  struct Kept {
    Places places{};
    std::uint32_t mark = 0;
  };
  static Kept& of_thread() {
    static thread_local Kept kept;
    return kept;
  }

  Places& table_;
  std::uint32_t mark_;
};

// Whether so few numbers of a row meet another one in a small table that they cannot repeat: mostly so, and seen sooner
// than which ones do. Of rows that are mostly zeros nothing is said.
bool are_apart(const float* row, std::int64_t width) {
  constexpr int kPlacesBits = 15, kWordBits = 6;
  std::array<std::uint64_t, std::size_t{1} << (kPlacesBits - kWordBits)> taken = {};
  std::uint64_t count = 0, met = 0;
  for (const std::int64_t at : some_places(width)) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(std::abs(row[at]));
    const std::uint32_t place = (bits >> (kFreeBits - 1)) * 2654435761u >> (32 - kPlacesBits);
    const std::uint64_t counts = has_many_bits(bits);  // 0 or 1: without a branch, which would be guessed wrong
    const std::uint32_t bit = place % (1u << kWordBits);
    std::uint64_t& word = taken[place >> kWordBits];
    met += word >> bit & counts;
    word |= counts << bit;
    count += counts;
  }
  return count >= kEnough && met < kFewRepeated;
}

// Whether numbers of a row are the same again and again but for their signs.
bool repeats(const float* row, std::int64_t width) {
  if (are_apart(row, width)) return false;
  const SomeNumbers some(row, width);
  Seen seen;
  int repeated = 0;
  for (const std::uint32_t v : some.all()) {
    if (seen.add(v) && ++repeated >= kFewRepeated) return true;
  }
  return false;
}

// Products that are added up for a number, in all sums together and in the longest one.
struct Summed {
  std::int64_t all = 0, most = 0;
  void add(std::int64_t n) { all += n, most = std::max(most, n); }
};
Summed summed(const kernels::TransformConfig& c, const Way& w) {
  Summed s;
  if (w.kind == Way::Kind::direct)  // parts of a complex number take turns
    s.add(std::min(c.x_width(), kernels::kTile) / (c.spectrum == Spectrum::forward ? 1 : 2));
  else
    for (const std::int64_t n : {w.n3, w.n0, w.n1, w.n2}) s.add(n > 1 ? std::min(n, kernels::kTile) : 0);
  return s;
}
// Sums of the same number so often are as far off as 1e-6 of the result.
bool has_long_sums(const Summed& s) {
  constexpr std::int64_t kFewSummed = 96, kShortSum = 64;
  return s.all > kFewSummed || s.most > kShortSum;
}

// The largest errors of complex results, times those of any, where steps make numbers random and where not.
constexpr double kMixed = 0.83, kUnmixed = 1.2;

struct LookedAt {
  const kernels::TransformConfig& c;
  const Way& w;
  const float* x;
  const float* y;
  const std::vector<Size>& sizes;
  std::int64_t parts = c.spectrum == Spectrum::inverse ? 1 : 2, count = c.y_width() / parts;
  // Chirps, and the order of a generator's powers, leave nothing alike.
  bool is_mixed = w.kind == Way::Kind::bluestein || w.kind == Way::Kind::rader;
  double expected = expected_error(c, w) * (is_mixed ? kMixed : parts == 2 ? kUnmixed : 1);
  bool may_be_biased = !is_mixed && has_long_sums(summed(c, w));

  bool is_zero(std::int64_t row) const {
    const float* const from = x + row * c.x_width();
    return std::all_of(from, from + c.x_width(), [](float v) { return v == 0; });
  }
  const Size& size(std::int64_t row) const { return sizes[static_cast<std::size_t>(row)]; }
  bool is_biased(std::int64_t row, const Size& s) const {
    if (!may_be_biased) return false;
    const float* const from = x + row * c.x_width();
    if (has_peak(s, count, parts) && (is_pure(y + row * c.y_width(), count, parts, s) || repeats(from, c.x_width())))
      return true;
    return is_inexact(s, kNotRandom * expected, count, parts == 1) &&
           (comes_of_peak(c, from) || repeats(from, c.x_width()));
  }
  bool is_alone_inexact(std::int64_t row) const {
    const Size& s = size(row);
    return is_inexact(s, expected, count, parts == 1) || is_biased(row, s);
  }
  // Errors of a pair are those of a complex row with the numbers of both.
  bool are_inexact(std::int64_t row) const {
    const Size &a = size(row), &b = size(row + 1);
    const double least = std::min(a.largest, b.largest);
    if (is_zero(row) || is_zero(row + 1)) return is_alone_inexact(is_zero(row) ? row + 1 : row);
    // Both rows are made of two results each, or of one part of each.
    const Size both{least, (a.square + b.square) / 2, (a.weighed + b.weighed) / 2};
    return is_inexact(both, expected, count, parts == 1) || a.largest + b.largest > kMostBeside * least ||
           is_biased(row, a) || is_biased(row + 1, b);
  }
};

}  // namespace

bool comes_of_peak(const kernels::TransformConfig& config, const float* row) {
  const std::int64_t parts = config.spectrum == Spectrum::forward ? 1 : 2, count = config.x_width() / parts;
  return has_peak(size_of(row, count, parts), count, parts);
}

double expected_error(const kernels::TransformConfig& config, const Way& way) {
  return std::sqrt(square_of(config, way)) * 1e-7;
}

Size size_of(const float* numbers, std::int64_t count, std::int64_t parts) {
  const RowSums sums = row_sums(numbers, count, parts);
  const double most = std::sqrt(static_cast<double>(sums.largest));
  if (most > 1e-8 && most < 1e8) return {most, sums.squares / static_cast<double>(count), sums.fourths / sums.squares};
  Size s;  // fourth powers leave the range of float32, or there is something that is not finite
  double fourth = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    double square = 0;
    for (std::int64_t part = 0; part < parts; ++part) square += std::pow(numbers[i * parts + part], 2.0);
    s.square += square / static_cast<double>(count);
    s.largest = std::max(s.largest, std::sqrt(square));
    fourth += square * square;
  }
  if (s.square > 0) s.weighed = fourth / static_cast<double>(count) / s.square;
  return s;
}

bool is_inexact(const Size& size, double expected, std::int64_t count, bool real) {
  const double spread = std::log(static_cast<double>(std::max<std::int64_t>(count, 2)));
  // The largest one of as many random errors, as it was seen, too, where results are waves of two values.
  const double most = real ? 1.2 * std::sqrt(2 * spread) + 0.4 : 1.25 * std::sqrt(spread) + 0.6;
  return most * expected * std::sqrt(size.weighed) > kNear * kMostError * size.largest;  // false with NaN
}

bool are_looked_at(const kernels::TransformConfig& config) {
  return config.precision == Precision::native && config.n >= 2 && config.n <= kLongestExact;
}

std::vector<Size> sizes_of(const kernels::TransformConfig& config, const float* y) {
  const std::int64_t parts = config.spectrum == Spectrum::inverse ? 1 : 2;
  std::vector<Size> sizes;
  for (std::int64_t r = 0; r < config.rows; ++r)
    sizes.push_back(size_of(y + r * config.y_width(), config.y_width() / parts, parts));
  return sizes;
}

bool are_finite(const std::vector<Size>& sizes) {
  return std::all_of(sizes.begin(), sizes.end(), [](const Size& s) { return std::isfinite(s.square); });
}

std::vector<std::int64_t> inexact_rows(const kernels::TransformConfig& config, const Way& way, const float* x,
                                       const float* y, const std::vector<Size>& sizes) {
  std::vector<std::int64_t> found;
  const LookedAt rows{config, way, x, y, sizes};
  for (std::int64_t r = 0; r < config.rows; r += way.paired ? 2 : 1) {
    const bool is_pair = way.paired && r + 1 < config.rows;
    if (!(is_pair ? rows.are_inexact(r) : rows.is_alone_inexact(r))) continue;
    for (std::int64_t i = r; i < r + (is_pair ? 2 : 1); ++i) {
      if (!is_pair || !rows.is_zero(i)) found.push_back(i);  // zeros beside a row need no other plan
    }
  }
  return found;
}

std::vector<std::int64_t> inexact_by_long_sums(std::int64_t rows, const Rows& x, const Rows& y) {
  // The largest square over the mean of all.
  constexpr double kFlat = 2.2, kFlatReal = 4, kPeaked = 32;
  const auto peak = [](const Rows& of, std::int64_t row) {
    const Size s = size_of(of.data + row * of.count * of.parts, of.count, of.parts);
    return s.largest * s.largest / s.square;  // NaN of nothing
  };
  std::vector<std::int64_t> found;
  for (std::int64_t r = 0; r < rows; ++r) {
    if (peak(y, r) < (y.parts == 2 ? kFlat : kFlatReal) || peak(x, r) > kPeaked) found.push_back(r);
  }
  return found;
}

}  // namespace kiln::fft
