#include "kernels/fft/transform.h"

#include <optional>

#include "kernels/blas/config_rules.h"
#include "kernels/blas/dtypes.h"
#include "kernels/blas/gemm_loops.h"
#include "kernels/fft/bluestein.h"
#include "kernels/fft/core_share.h"
#include "kernels/fft/factored.h"
#include "kernels/fft/half_trip.h"
#include "kernels/fft/long_real.h"
#include "kernels/fft/one_trip.h"
#include "kernels/fft/rader.h"
#include "kernels/fft/real_factored.h"
#include "kernels/fft/row_pairs.h"
#include "kernels/fft/tangle.h"
#include "kiln/rewrite/dma_starts.h"

namespace kiln::kernels {
using namespace isa;

namespace {

TwoFactorConfig half(const TransformConfig& c, const Way& w) {
  return {.n1 = w.n1,
          .n2 = w.n2,
          .spectrum = c.spectrum,
          .positive = c.positive,
          .scale = c.scale,
          .rows = c.rows_of_tables(),
          .precision = c.precision,
          .middle_first = w.finely,
          .warm_up = w.warm_up};
}

Factored whole(const TransformConfig& c, const Way& w) {
  return {w, c.positive, c.scale, "", c.rows_of_tables(), c.precision};
}

bool is_long(const Way& w) { return w.kind == Way::Kind::two_factor && w.n2 > kTile; }
LongReal long_config(const TransformConfig& c, const Way& w) {
  return {w.n1, w.n2, c.spectrum, c.positive, c.scale, c.precision, w.warm_up};
}

OneTrip in_one_trip(const TransformConfig& c, const Way& w) {
  return {w, c.spectrum, c.positive, c.scale, "", c.precision};
}

bool is_half_trip(const TransformConfig& c, const Way& w) {
  return w.is_one_trip() && !w.halved && c.spectrum == Spectrum::inverse;
}
HalfTrip half_trip_of(const TransformConfig& c, const Way& w) { return {w, c.scale, c.precision}; }

RealFactored real(const TransformConfig& c, const Way& w) {
  return {w, c.spectrum, c.positive, c.scale, c.rows_of_tables(), c.precision};
}

// Some numbers of the results.
void direct(Kernel& k, const TransformConfig& c, const View& x, const View& y, const Piece& some) {
  const GemmConfig product{.m = c.rows, .n = some.size, .k = c.x_width(), .precision = c.precision};
  const Epilogue epilogue(k, product.alpha, product.beta);
  GemmOperands operands;
  operands.a = {x, false};
  operands.b = {k.input("matrix", {c.x_width(), c.y_width()}, f32)(all, ds(some.start, some.size)), true};
  operands.to = y(all, ds(some.start, some.size));
  GemmLoops(k, product, epilogue, operands).run();
}

}  // namespace

Table transform_matrix(const TransformConfig& c, const std::string& name) {
  Table t(name, c.x_width(), c.y_width());
  const bool backward = c.spectrum == Spectrum::inverse, forward = c.spectrum == Spectrum::forward;
  const std::int64_t in = backward ? c.n / 2 + 1 : c.n, out = forward ? c.n / 2 + 1 : c.n;
  for (std::int64_t j = 0; j < in; ++j) {
    // Of half a spectrum every number but the first and the middle one stands for two.
    const double weight = backward && j != 0 && 2 * j != c.n ? 2 : 1;
    for (std::int64_t k = 0; k < out; ++k) {
      const std::int64_t turns = product_mod(j, k, c.n);
      const Complex w = weight * c.scale * root(c.positive || backward ? turns : -turns, c.n);
      const auto re = static_cast<float>(w.real()), im = static_cast<float>(w.imag());
      if (forward) {
        t(j, 2 * k) = re, t(j, 2 * k + 1) = im;
      } else if (backward) {
        t(2 * j, k) = re, t(2 * j + 1, k) = -im;
      } else {
        t(2 * j, 2 * k) = re, t(2 * j, 2 * k + 1) = im, t(2 * j + 1, 2 * k) = -im, t(2 * j + 1, 2 * k + 1) = re;
      }
    }
  }
  return t;
}

// Half spectra in one trip are halved where they are loaded.
static bool is_halved_in_hbm(const TransformConfig& c, const Way& w) {
  return w.halved && !(w.is_one_trip() && c.spectrum == Spectrum::inverse);
}

// The complex transform of a way that is halved, the way that it goes, and what joins its numbers.
static TransformConfig half_length(const TransformConfig& c) {
  const bool forward = c.spectrum == Spectrum::forward;
  return {c.n / 2,      c.rows,     Spectrum::whole, c.positive || !forward, forward ? c.scale / 2 : c.scale,
          c.table_rows, c.precision};
}
static Way as_complex(Way w) {
  w.halved = w.paired = false;
  return w;
}
// The complex transform of a way that is paired.
static TransformConfig half_rows(const TransformConfig& c) {
  const bool forward = c.spectrum == Spectrum::forward;
  return {c.n,
          pairs_of(c.rows),
          Spectrum::whole,
          c.positive || !forward,
          forward ? c.scale / 2 : c.scale,
          pairs_of(c.rows_of_tables()),
          c.precision};
}
static TangleConfig tangle_of(const TransformConfig& c) { return {c.n / 2, c.spectrum, c.positive}; }

// Rader's algorithm joins rows where it puts their numbers in order, if none is left alone.
static bool joins_by_rader(const TransformConfig& c, const Way& w) {
  return w.paired && w.kind == Way::Kind::rader && c.rows_of_tables() % 2 == 0;
}

Tables transform_tables(const TransformConfig& c, const Way& w) {
  if (is_halved_in_hbm(c, w)) {
    Tables tables = transform_tables(half_length(c), as_complex(w));
    tables.push_back(tangle_table(tangle_of(c)));
    return tables;
  }
  if (joins_by_rader(c, w)) return rader_tables(half_rows(c), as_complex(w), c.spectrum);
  if (w.paired) return transform_tables(half_rows(c), as_complex(w));
  if (w.kind == Way::Kind::direct) return {transform_matrix(c, "matrix")};
  if (w.kind == Way::Kind::bluestein) return bluestein_tables(c, w);
  if (w.kind == Way::Kind::rader) return rader_tables(c, w);
  if (c.spectrum == Spectrum::whole) return factored_tables(whole(c, w));
  if (is_half_trip(c, w)) return half_trip_tables(half_trip_of(c, w));
  if (w.is_one_trip()) return one_trip_tables(in_one_trip(c, w));
  if (is_long(w)) return long_real_tables(long_config(c, w));
  return w.kind == Way::Kind::three_factor ? real_factored_tables(real(c, w)) : two_factor_tables(half(c, w));
}

static void transform_rows(Kernel& k, const TransformConfig& c, const Way& w, const View& x, const View& y);

static void halved(Kernel& k, const TransformConfig& c, const Way& w, const View& x, const View& y) {
  const View spectrum = k.hbm({c.rows, c.n}, f32);
  if (c.spectrum == Spectrum::inverse) tangle(k, tangle_of(c), x, spectrum);
  const bool forward = c.spectrum == Spectrum::forward;
  transform_rows(k, half_length(c), as_complex(w), forward ? x : spectrum, forward ? spectrum : y);
  if (forward) tangle(k, tangle_of(c), spectrum, y);
}

namespace {

// Pairs of rows in three factors: groups of them share the partitions in the first, and each pair is taken apart while
// the tensor engine transforms the next one. Real numbers are joined where they are loaded, and taken apart where they
// are stored; a row that is left alone is joined with zeros.
struct PairedRows {
  Kernel& k;
  const TransformConfig& c;
  const ThreeFactors& transforms;
  View x, y, joined, result;
  bool forward = c.spectrum == Spectrum::forward;

  // Pairs from `start` on.
  struct PairGroup {
    TransformConfig c;
    std::int64_t start, size;
    bool has_alone() const { return c.rows % 2 == 1; }
  };
  PairGroup group(const Piece& p) const {
    TransformConfig some = c;
    some.rows = std::min(2 * p.size, c.rows - 2 * p.start);
    return {some, p.start, p.size};
  }
  View of_rows(const View& v, const PairGroup& g) const { return v(ds(2 * g.start, g.c.rows)); }
  View of_pairs(const View& v, const PairGroup& g) const { return v(ds(g.start, g.size)); }

  void join(const PairGroup& g) const {
    if (!forward || g.has_alone()) join_rows(k, g.c, of_rows(x, g), of_pairs(joined, g));
  }
  View columns(const PairGroup& g) const {
    return !forward || g.has_alone() ? transforms.columns(of_pairs(joined, g))
                                     : transforms.columns_of_pairs(of_rows(x, g));
  }
  // The results of one pair of a group, and taking them apart.
  bool is_split(const PairGroup& pair) const { return forward || pair.has_alone(); }
  void row(const View& between, const PairGroup& g, const PairGroup& pair) const {
    if (is_split(pair))
      transforms.row(between, pair.start - g.start, of_pairs(result, pair));
    else
      transforms.row_to_pair(between, pair.start - g.start, of_rows(y, pair));
  }
  void split(const PairGroup& pair) const {
    if (is_split(pair)) split_rows(k, pair.c, of_pairs(result, pair), of_rows(y, pair));
  }

  // Pairs of short rows are taken apart some at a time: each DMA takes a while to begin.
  void run(std::int64_t together) const {
    constexpr std::int64_t kNumbersApart = 98304;
    const std::int64_t at_once = forward ? std::clamp<std::int64_t>(kNumbersApart / c.n, 1, together) : 1;
    const std::vector<Piece> pieces = whole_pieces(pairs_of(c.rows), together);
    std::optional<PairGroup> before;  // pairs that are not taken apart yet
    join(group(pieces[0]));
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const PairGroup g = group(pieces[i]);
      const View between = columns(g);
      if (i + 1 < pieces.size()) join(group(pieces[i + 1]));
      for (const Piece& some : whole_pieces(g.size, at_once)) {
        for (std::int64_t p = 0; p < some.size; ++p) row(between, g, group({g.start + some.start + p, 1}));
        if (before) split(*before);
        before = group({g.start + some.start, some.size});
      }
    }
    split(*before);
  }
};

}  // namespace

static void paired_in_groups(Kernel& k, const TransformConfig& c, const Way& w, const View& x, const View& y) {
  const TransformConfig pairs = half_rows(c);
  const ThreeFactors transforms(k, whole(pairs, as_complex(w)));
  const auto scratch = [&] { return k.hbm({pairs.rows, 2 * c.n}, f32); };
  const View joined = scratch(), result = scratch();
  PairedRows{k, c, transforms, x, y, joined, result}.run(std::max<std::int64_t>(1, kTile / w.n0));
}

// Real rows are the parts of complex ones as they come, and half spectra as they go, unless one row is left alone.
static void paired_in_one_trip(Kernel& k, const TransformConfig& c, const Way& w, const View& x, const View& y) {
  const TransformConfig pairs = half_rows(c);
  const bool forward = c.spectrum == Spectrum::forward, all_paired = c.rows % 2 == 0;
  OneTripSteps steps{.parts_come = forward && all_paired, .parts_go = !forward && all_paired};
  const auto scratch = [&] { return k.hbm({pairs.rows, 2 * c.n}, f32); };
  const View joined = steps.parts_come ? x : scratch(), result = steps.parts_go ? y : scratch();
  if (!steps.parts_come) steps.before = [&](const Index& pair) { join_pair(k, c, x, joined, pair); };
  if (!steps.parts_go) steps.after = [&](const Index& pair) { split_pair(k, c, result, y, pair); };
  one_trip(k, in_one_trip(pairs, as_complex(w)), joined, result, pairs.rows, steps);
}

// The first and the last step of a convolution are those that join rows and take them apart.
static void paired(Kernel& k, const TransformConfig& c, const Way& w, const View& x, const View& y) {
  const TransformConfig whole = half_rows(c);
  if (w.kind == Way::Kind::bluestein) {
    bluestein(
        k, whole, as_complex(w), [&](const View& z, const View& chirp) { join_rows(k, c, x, z, chirp); },
        [&](const View& z, const View& chirp) { split_rows(k, c, z, y, chirp); });
    return;
  }
  if (joins_by_rader(c, w)) return rader(k, whole, as_complex(w), x, y, c.spectrum);
  if (w.is_one_trip()) return paired_in_one_trip(k, c, w, x, y);
  if (w.kind == Way::Kind::three_factor) return paired_in_groups(k, c, w, x, y);
  const View joined = k.hbm({whole.rows, 2 * c.n}, f32), result = k.hbm({whole.rows, 2 * c.n}, f32);
  join_rows(k, c, x, joined);
  transform_rows(k, whole, as_complex(w), joined, result);
  split_rows(k, c, result, y);
}

// All rows of x, c.rows of them.
static void transform_rows(Kernel& k, const TransformConfig& c, const Way& w, const View& x, const View& y) {
  if (is_halved_in_hbm(c, w))
    halved(k, c, w, x, y);
  else if (w.paired)
    paired(k, c, w, x, y);
  else if (w.kind == Way::Kind::direct)
    direct(k, c, x, y, {0, c.y_width()});
  else if (w.kind == Way::Kind::rader)
    rader(k, c, w, x, y);
  else if (w.kind == Way::Kind::bluestein)
    bluestein(k, c, w, x, y);
  else if (c.spectrum == Spectrum::whole)
    factored(k, whole(c, w), x, y);
  else if (is_half_trip(c, w))
    half_trip(k, half_trip_of(c, w), x, y);
  else if (w.is_one_trip())
    one_trip(k, in_one_trip(c, w), x, y);
  else if (w.kind == Way::Kind::three_factor)
    real_factored(k, real(c, w), x, y);
  else if (is_long(w))
    long_real(k, long_config(c, w), x, y);
  else
    TwoFactor(k, half(c, w)).run(x, y);
}

static Program finished(Kernel& k, const Way& w) {
  Program program = k.finish();
  if (w.by_software) rewrite::start_by_software(program, arch(program.target));
  return program;
}

Program transform(const TransformConfig& c, const Way& w, Target target) {
  require_sizes("transform", {c.n, c.rows});
  Kernel k("transform", target);
  const View x = k.input("x", {c.rows, c.x_width()}, f32), y = k.output("y", {c.rows, c.y_width()}, f32);
  transform_rows(k, c, w, x, y);
  return finished(k, w);
}

bool is_shareable(const TransformConfig& c, const Way& w) {
  const bool is_one = w.kind != Way::Kind::rader && !is_long(w) && w.n3 == 1 && c.y_width() > 1;
  return c.rows > (joins_by_rader(c, w) ? 2 : 1) || (c.rows == 1 && is_one);
}

// What one of two cores does of a single row.
static void row_on_core(Kernel& k, const TransformConfig& c, const Way& w, const View& x, const View& y, int core) {
  if (w.kind == Way::Kind::direct) {
    direct(k, c, x, y, share_of(c.y_width(), core));
  } else if (w.kind == Way::Kind::bluestein) {
    bluestein_on_core(k, c, w, x, y, core);
  } else if (c.spectrum == Spectrum::whole) {
    factored_on_core(k, whole(c, w), x, y, core);
  } else if (is_half_trip(c, w)) {
    half_trip_on_core(k, half_trip_of(c, w), x, y, core);
  } else if (w.is_one_trip()) {
    one_trip_on_core(k, in_one_trip(c, w), x, y, core);
  } else if (w.kind == Way::Kind::three_factor) {
    real_factored_on_core(k, real(c, w), x, y, core);
  } else {
    const TwoFactor rows(k, half(c, w));
    rows.run(x, y, rows.piece_of_core(core));
  }
}
static void halved_on_core(Kernel& k, const TransformConfig& c, const Way& w, const View& x, const View& y, int core) {
  const View between = shared_tensor(k, "half", {1, c.n});
  const bool forward = c.spectrum == Spectrum::forward;
  if (!forward) tangle_on_core(k, tangle_of(c), x, between, core);
  if (!forward) meet(k, between);
  row_on_core(k, half_length(c), as_complex(w), forward ? x : between, forward ? between : y, core);
  if (forward) meet(k, between);
  if (forward) tangle_on_core(k, tangle_of(c), between, y, core);
}

// Two rows that are computed together stay so.
static std::int64_t rows_of_first_core(const TransformConfig& c, const Way& w) {
  return w.paired && c.rows > 2 ? 2 * pairs_of(pairs_of(c.rows)) : pairs_of(c.rows);
}

std::vector<Program> transform_pair(const TransformConfig& c, const Way& w, Target target) {
  require_sizes("transform_pair", {c.n, c.rows, is_shareable(c, w) ? 1 : 0});
  std::vector<Program> cores;
  for (int core = 0; core < 2; ++core) {
    Kernel k("transform", target);
    k.pair();
    const View x = k.input("x", {c.rows, c.x_width()}, f32), y = k.output("y", {c.rows, c.y_width()}, f32);
    if (c.rows == 1) {
      (is_halved_in_hbm(c, w) ? halved_on_core : row_on_core)(k, c, w, x, y, core);
    } else {
      TransformConfig share = c;
      share.table_rows = c.rows;
      const std::int64_t half = rows_of_first_core(c, w), first = core == 0 ? 0 : half;
      share.rows = core == 0 ? half : c.rows - half;
      transform_rows(k, share, w, x(ds(first, share.rows)), y(ds(first, share.rows)));
    }
    cores.push_back(finished(k, w));
  }
  return cores;
}

}  // namespace kiln::kernels
