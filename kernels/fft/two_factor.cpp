#include "kernels/fft/two_factor.h"

#include <algorithm>
#include <map>

#include "kernels/blas/dtypes.h"
#include "kernels/blas/product_block.h"
#include "kernels/fft/complex_view.h"
#include "kernels/fft/core_share.h"
#include "kernels/fft/two_factor_shape.h"

namespace kiln::kernels {
using namespace isa;
using namespace two_factor;

namespace {

constexpr std::int64_t kColumnRows = 64;  // rows of the matrix whose results are stored transposed together

// The first rows and columns of a table.
Parts cut(Parts table, std::int64_t rows, std::int64_t columns) {
  for (View& v : table) v = v(ds(0, rows), ds(0, columns));
  return table;
}
// Some of the results of each of `copies` transforms, pairs of columns.
Parts some_columns(Parts table, std::int64_t copies, std::int64_t size, const Piece& some) {
  if (some.size == size) return table;
  for (View& v : table) v = v.reshape_dim(1, {copies, 2 * size})(all, all, ds(2 * some.start, 2 * some.size));
  return table;
}
Parts selected(Parts parts, std::int64_t i) {
  for (View& v : parts) v = v.select(1, i);
  return parts;
}

// Groups of p q rows whose results fill a bank in the second product.
std::int64_t together(const TwoFactorConfig& c) {
  const std::int64_t some = std::max<std::int64_t>(1, kWide / (first_copies(c) * first_results(c)));
  return some > 1 && c.spectrum == Spectrum::forward ? some / 2 * 2 : some;
}

// Of a stationary operand [contracted, u, others] or [contracted, u, q, others].
std::int64_t others(const View& part) { return part.rank() == 4 ? part.dim(2) * part.dim(3) : part.dim(2); }

}  // namespace

std::int64_t TwoFactorConfig::q() const {
  if (by_columns) return 1;
  const std::int64_t room = spectrum == Spectrum::inverse ? kImaginary / rows_loaded(*this)
                            : spectrum == Spectrum::forward
                                ? std::min(kTile / n2, kImaginary / (whole_rows(*this) + n2 % 2))
                                : kTile / n2;
  return std::max<std::int64_t>(1, std::min(room, tiles_of(rows, p())));
}

bool is_possible(const TwoFactorConfig& c) {
  if (c.n1 < 1 || c.n2 < 1 || c.n1 > kTile || c.n2 > kTile) return false;
  if (c.spectrum == Spectrum::whole) return !c.folded || (c.by_columns ? c.n2 : c.n1) % 2 == 0;
  if (c.spectrum == Spectrum::forward) return !c.by_columns && c.n2 > 1;
  return !c.by_columns && c.half_rows() >= 1 && rows_loaded(c) <= kImaginary;
}

// What is in PSUM is read by the vector engine alone.
View times_pairs(Kernel& k, const View& re, const View& im, const View& w) {
  const View out = k.sbuf({w.dim(0), w.dim(1), 2}, f32);
  times_pairs(k, out, re, im, w);
  return out;
}

void times_pairs(Kernel& k, const View& out, const View& re, const View& im, const View& w) {
  const std::int64_t rows = w.dim(0), width = w.dim(1);
  const auto times = [&](const View& a, int i) {
    const View to = k.sbuf({rows, width}, f32);
    k.tensor_tensor({.dst = to, .data1 = a, .data2 = component(w, i), .op = AluOp::multiply, .engine = Engine::vector});
    return to;
  };
  const auto join = [&](int i, AluOp op) {
    const View a = times(re, i), b = times(im, 1 - i);
    k.tensor_tensor({.dst = component(out, i), .data1 = a, .data2 = b, .op = op, .engine = Engine::gpsimd});
  };
  join(0, AluOp::subtract);
  join(1, AluOp::add);
}

TwoFactor::TwoFactor(Kernel& k, const TwoFactorConfig& c) : k_(k), c_(c), warm_up_(k, c.warm_up) {
  const Tables parts = parts_of(c), packed = two_factor_tables(c);
  View tiles[2];
  std::int64_t used[2] = {0, 0};
  for (int i = 0; i < 2; ++i) tiles[i] = k.sbuf({packed[i].rows, packed[i].columns}, f32);
  k.dma_copy({.dst = tiles[0], .src = packed[0].declare(k)});
  late_to_ = tiles[1], late_from_ = packed[1].declare(k);
  // The first rows come before them where nothing else does.
  if (c.precision != Precision::native || c.by_columns || c.folded) load_late();
  std::map<std::string, View> views;
  for (const Table& t : parts) {
    const int i = is_early(c, t) ? 0 : 1;
    views[t.name.substr(c.prefix.size())] = tiles[i](ds(0, t.rows), ds(used[i], t.columns));
    used[i] += t.columns;
  }
  const auto table = [&](const char* name) {
    const View v = views[name];
    return v.rank() == 0 ? Parts() : parts_of_tile(k, v, c.precision);
  };
  cosine_ = views["cosine"], sine_ = views["sine"];
  first_[0] = table("first_re"), first_[1] = table("first_im");
  second_[0] = table("second_cos"), second_[1] = table("second_minus_sin"), second_[2] = table("second_sin");
  second_[3] = folds_out(c) ? table("second_im_cos") : second_[0];
  middle_ = table("middle");
  if (!c.filter.empty()) filter_ = resident(k, c.filter, c.q() * c.n2, 2 * c.n1).reshape_dim(1, {c.n1, 2});
  keep_ = views["first_keep"], weight_ = views["weight"], alternating_ = views["alternating"];
  if (c.spectrum != Spectrum::inverse || rest_loaded(c) == 0) return;
  zero_ = k.sbuf({1, together(c) * c.p() * 2 * c.n1}, f32);
  k.memset({.dst = zero_, .value = 0.0});
}

void TwoFactor::load_late() const {
  if (!has_late_) k_.dma_copy({.dst = late_to_, .src = late_from_});
  has_late_ = true;
}

// Shares of `rows` rows from `first` on: as many as fill a bank of the second product, in a loop, then what is left.
void TwoFactor::shares(const Index& first, std::int64_t rows,
                       const std::function<void(const Index&, const Share&)>& body) const {
  const std::int64_t p = c_.p(), q = c_.q(), u = together(c_), all_rows = u * q * p;
  if (rows / all_rows > 0) k_.loop(rows / all_rows, [&](Index i) { body(i * all_rows + first, {u, q, p}); });
  Index at = first + rows / all_rows * all_rows;
  const std::int64_t left = rows % all_rows;
  for (const Share& s : {Share{left / (q * p), q, p}, Share{1, left % (q * p) / p, p}, Share{1, 1, left % p}}) {
    if (s.rows() == 0) continue;
    body(at, s);
    at += s.rows();
  }
}

// The same with less in the first share and in the last one: products begin when their rows are there, and nothing is
// under way any more while the last results are stored.
void TwoFactor::tapered_shares(std::int64_t rows, const std::function<void(const Index&, const Share&)>& body) const {
  constexpr std::int64_t kFewShares = 3;
  const std::int64_t p = c_.p(), q = c_.q(), most = together(c_), groups = rows / (q * p);
  const std::int64_t end = groups >= 4 && most >= 4 ? 2 : 1,
                     begin = c_.spectrum == Spectrum::inverse && groups >= 4 * most ? most : end,
                     middle = groups - begin - end;
  if (groups < 2) return shares(0, rows, body);
  std::int64_t at = 0;
  const auto share = [&](std::int64_t u) {
    body(at * q * p, {u, q, p});
    at += u;
  };
  share(begin);
  if (tiles_of(middle, most) > kFewShares) {
    shares(at * q * p, middle * q * p, body);
    at += middle;
  } else if (middle > 0) {
    const std::int64_t unit = middle % 2 == 0 && most % 2 == 0 ? 2 : 1;
    const std::int64_t some = std::clamp<std::int64_t>(tiles_of(middle, 2 * unit), 1, most / unit);
    for (const Piece& u : even_pieces(middle / unit, some)) share(u.size * unit);
  }
  share(end);
  shares(at * q * p, rows % (q * p), body);
}

Piece TwoFactor::whole() const { return {0, first_results(c_)}; }
Piece TwoFactor::piece_of_core(int core) const { return share_of(first_results(c_), core); }

void TwoFactor::run(const View& x, const View& y) const { c_.by_columns ? turned(x, y) : natural(x, y, whole()); }

void TwoFactor::natural(const View& x, const View& y, const Piece& some) const {
  const std::int64_t come = c_.parts_come ? 2 : 1, go = c_.parts_go ? 2 : 1;
  tapered_shares(x.dim(0) / come, [&](const Index& row, const Share& s) {
    const View from = x(ds(row * come, s.rows() * come)), to = y(ds(row * go, s.rows() * go));
    const std::vector<View> parts = load(from, s);
    load_late();
    const View b = first(parts, s, some);
    if (c_.spectrum == Spectrum::forward) {
      const bool has_middle_apart = !has_begun_row(c_) && some.start == 0;
      if (has_middle_apart && c_.middle_first) store_middle(to, b, s, some);
      store_half(to, second_half(b, s, some), s, some);
      if (has_middle_apart && !c_.middle_first) store_middle(to, b, s, some);
      return;
    }
    if (c_.parts_go) return second_to_parts(to, b, s);
    const bool real = c_.spectrum == Spectrum::inverse;
    const std::int64_t rows = real ? s.p * c_.n1 : s.q * c_.n2, columns = b.dim(1);
    const View out = real ? k_.sbuf({rows, columns}, f32) : k_.sbuf({rows, columns, 2}, f32);
    if (filter_.rank() > 0)
      second_filtered(out, b, s, some);
    else
      second(out, b, s, has_middle(c_) ? load_middle(from, s) : View(), some);
    store(to, out, s, some);
  });
}

// Results of several rows of the matrix are neighbours in y.
void TwoFactor::turned(const View& x, const View& y) const {
  k_.tiles(x.dim(0), kColumnRows, [&](Index row, std::int64_t rows) {
    const View out = k_.sbuf({c_.n2, c_.n1, rows, 2}, f32);
    shares(0, rows, [&](const Index& inside, const Share& s) {
      const View b = first(load(x(ds(row + inside, s.rows())), s), s, whole());
      second(out(all, all, ds(inside, s.rows())), b, s, View(), whole());
    });
    const View to = y(all, ds(row * 2, 2 * rows)).reshape_dim(0, {c_.n2, c_.n1});
    k_.dma_copy({.dst = to, .src = out.flatten_dims(2, 3)});
  });
}

void TwoFactor::run_to_planes(const View& x, const View& re, const View& im) const {
  k_.tiles(x.dim(0), kColumnRows, [&](Index row, std::int64_t rows) {
    const View out[] = {k_.sbuf({c_.n2, c_.n1, rows}, f32), k_.sbuf({c_.n2, c_.n1, rows}, f32)};
    shares(0, rows, [&](const Index& inside, const Share& s) {
      const View b = first(load(x(ds(row + inside, s.rows())), s), s, whole());
      second_sums(b, false, [&](int which, const View& sum) {
        evict(k_, out[which](all, all, ds(inside, s.rows())), sum.reshape_dim(1, {s.rows(), c_.n1}).permute({0, 2, 1}),
              1);
      });
    });
    for (int i = 0; i < 2; ++i)
      k_.dma_copy({.dst = (i == 0 ? re : im)(all, ds(row, rows)).reshape_dim(0, {c_.n2, c_.n1}), .src = out[i]});
  });
}

// First products of all rows, then second ones for some k1 of all of them, whose results are stored meanwhile: runs in
// memory are as long as the rows are many.
void TwoFactor::run_to_folded(const View& x, const View& y, const Index& row, std::int64_t n0, const Piece& k1) const {
  const std::int64_t rows = n0 / 2 + 1;
  const View b = k_.sbuf({c_.n2, rows, k1.size, 2}, f32);
  shares(0, rows, [&](const Index& inside, const Share& s) {
    first(load(x(ds(inside, s.rows())), s), s, b(all, ds(inside, s.rows())).flatten_dims(1, 2), k1);
  });
  for (const Piece& some : even_pieces(k1.size, std::max<std::int64_t>(1, kWide / rows)))
    fold(b(all, all, ds(some.start, some.size)), y, row, n0, k1.start + some.start);
}

// Second products of [n2, rows, some k1, 2]. Where n0 is even its middle row is its own conjugate.
void TwoFactor::fold(const View& b, const View& y, const Index& row, std::int64_t n0, std::int64_t k1) const {
  const std::int64_t rows = b.dim(1), many = b.dim(2), half = c_.n2 / 2, mirrored = n0 / 2, direct = n0 - mirrored;
  const View out = k_.sbuf({folded_size(c_.n2), many, rows, 2}, f32);
  second_sums(b, false, [&](int which, const View& sum) {
    const View to = component(out, which);
    evict(k_, to(ds(0, half)), sum(ds(0, half)).reshape_dim(1, {rows, many}).permute({0, 2, 1}), 1);
    // The conjugates, with rows and k1 in the other order.
    const View other =
        sum.ap({{kWide, half}, {-1, many}, {-many, rows}}, sum.offset() + kImaginary * kWide + rows * many - 1);
    evict(k_, to(ds(kImaginary, half)), other, 2);
  });
  const auto places = [&](std::int64_t first, std::int64_t count) {
    return y.ap({{2 * n0 * c_.n1, half}, {2 * n0, many}, {1, 2 * count}}, row * y.stride(0) + (y.offset() + 2 * first));
  };
  k_.dma_copy({.dst = places(k1 * n0, direct), .src = out(ds(0, half), all, ds(0, direct)).flatten_dims(2, 3)});
  const View upper = out(ds(kImaginary, half), all, ds(rows - 1 - mirrored, mirrored)).flatten_dims(2, 3);
  k_.dma_copy({.dst = places((c_.n1 - k1 - many) * n0 + direct, mirrored), .src = upper});
  if (k1 > 0) return;
  const View last = out(ds(kImaginary + half - 1, 1), ds(many - 1, 1), ds(rows - 1, 1)).flatten_dims(1, 3);
  k_.dma_copy({.dst = y(ds(row, 1), ds(n0 * c_.n(), 2)), .src = last});
}

// Some rows of one half spectrum, [contracted, n2, rows, 2].
View TwoFactor::load_folded(const View& x, const Index& row, std::int64_t n0, const Piece& rows) const {
  const std::int64_t half = c_.n1 / 2;
  const View tile = k_.sbuf({folded_size(c_.n1), c_.n2, rows.size, 2}, f32),
             raw = k_.sbuf({folded_size(c_.n1), c_.n2, rows.size, 2}, f32);
  // Its table has zeros there, but they are read.
  const std::int64_t gap = half % 32 == 0 ? half : 0;  // where an engine can begin
  if (half < kImaginary) k_.memset({.dst = tile(ds(gap, kImaginary - gap)), .value = 0.0, .engine = Engine::gpsimd});
  const auto load = [&](const View& to, std::int64_t first) {
    const View from = x.ap({{2 * c_.n2 * n0, half}, {2 * n0, c_.n2}, {1, 2 * rows.size}},
                           row * x.stride(0) + (x.offset() + 2 * first));
    k_.dma_copy({.dst = to.flatten_dims(2, 3), .src = from});
  };
  load(raw(ds(kImaginary, half)), n0 + 1 - rows.start - rows.size);  // first: it is turned while the other comes
  load(tile(ds(0, half)), rows.start);
  turn(tile(ds(kImaginary, half)), raw);
  if (rows.start > 0) return tile;
  // What is real counts as real: the first number, and the last.
  const View ends = component(tile(all, ds(0, 1), ds(0, 1)), 1);
  k_.tensor_scalar({.dst = ends, .data = ends, .op0 = AluOp::multiply, .operand0 = keep_});
  return tile;
}

// Conjugates of [half of n1, n2, rows, 2], in the other order.
void TwoFactor::turn(const View& to, const View& raw) const {
  const std::int64_t rows = raw.dim(2), numbers = c_.n2 * rows;
  for (int i = 0; i < 2; ++i) {
    const View turned = raw.ap({{2 * numbers, to.dim(0)}, {-2 * rows, c_.n2}, {-2, rows}},
                               kImaginary * 2 * numbers + 2 * (numbers - 1) + i);
    if (i == 0)
      k_.tensor_copy({.dst = component(to, i), .src = turned, .engine = Engine::vector});
    else
      k_.activation({.dst = component(to, i), .op = ActFn::copy, .data = turned, .scale = -1.0});
  }
}

// Rows come in two pieces: products of the first one do not wait for the other.
void TwoFactor::run_from_folded(const View& x, const Index& row, const View& y, const View& factors, std::int64_t n0,
                                const Piece& k0) const {
  const std::int64_t rows = k0.size, share = together(c_) * c_.q() * c_.p();
  const std::int64_t early = rows / 2 < share ? rows : rows / 2 / share * share;
  for (const Piece& p : {Piece{k0.start, early}, Piece{k0.start + early, rows - early}}) {
    if (p.size == 0) continue;
    const View spectrum = load_folded(x, row, n0, p);
    shares(0, p.size, [&](const Index& inside, const Share& s) {
      std::vector<View> parts;
      for (int i = 0; i < 2; ++i) {
        const View some = component(spectrum, i)(all, all, ds(inside, s.rows()));
        parts.push_back(some.reshape_dim(2, {s.u, s.q}).permute({0, 2, 3, 1}));
      }
      const Slice places_of = ds(inside + p.start, s.rows());
      const View w = k_.sbuf({s.q * c_.n2, s.u * c_.n1, 2}, f32);
      k_.dma_copy({.dst = w.flatten_dims(1, 2), .src = places(factors(places_of), s, whole())});
      View re;
      second_sums(first(parts, s, whole()), false, [&](int which, const View& sum) {
        if (which == 0)
          re = sum;
        else
          store(y(places_of), times_pairs(k_, re, sum, w), s, whole());
      });
    });
  }
}

// The stationary operands of the first product, [contracted, u, others] each.
std::vector<View> TwoFactor::load(const View& x, const Share& s) const {
  if (c_.spectrum == Spectrum::inverse) return {load_half(x, s)};
  if (c_.parts_come) return load_parts(x, s);
  const bool real = c_.spectrum == Spectrum::forward;
  const std::int64_t width = real ? c_.n2 : 2 * c_.n2;
  const View tile = k_.sbuf({s.p * c_.n1, s.u, s.q, width}, f32);
  const View src =
      x.reshape_dim(1, {c_.n1, width}).reshape_dim(0, {s.u, s.q, s.p}).flatten_dims(2, 3).permute({2, 0, 1, 3});
  k_.dma_copy({.dst = tile, .src = src});
  if (real) return {tile.flatten_dims(2, 3)};
  const View pairs = tile.flatten_dims(2, 3).reshape_dim(2, {s.q * c_.n2, 2});
  return {component(pairs, 0), component(pairs, 1)};
}

// Every second row of some.
static View of_part(const View& x, int part) { return x.reshape_dim(0, {x.dim(0) / 2, 2}).select(1, part); }

std::vector<View> TwoFactor::load_parts(const View& x, const Share& s) const {
  std::vector<View> parts;
  for (int i = 0; i < 2; ++i) {
    const View tile = k_.sbuf({s.p * c_.n1, s.u, s.q, c_.n2}, f32);
    const View src = of_part(x, i).reshape_dim(1, {c_.n1, c_.n2}).reshape_dim(0, {s.u, s.q, s.p});
    for (std::int64_t p = 0; p < s.p; ++p)
      k_.dma_copy({.dst = tile(ds(p * c_.n1, c_.n1)), .src = src.select(2, p).permute({2, 0, 1, 3})});
    parts.push_back(tile.flatten_dims(2, 3));
  }
  return parts;
}

void TwoFactor::second_filtered(const View& out, const View& b, const Share& s, const Piece& some) const {
  const std::int64_t rows = out.dim(0), many = s.u * s.p;
  const View pairs = out.reshape_dim(1, {many, some.size});
  View re;
  second_sums(b, false, [&](int which, const View& sum) {
    const View numbers = sum.reshape_dim(1, {many, some.size});
    if (which == 0) {
      re = numbers;
      return;
    }
    const auto times = [&](const View& a, int part) {
      const View to = k_.sbuf({rows, many, some.size}, f32);
      const View w = component(filter_(ds(0, rows), ds(some.start, some.size)), part).expand_dim(1).broadcast(1, many);
      k_.tensor_tensor({.dst = to, .data1 = a, .data2 = w, .op = AluOp::multiply, .engine = Engine::vector});
      return to;
    };
    for (int i = 0; i < 2; ++i) {
      const View a = times(re, i), c = times(numbers, 1 - i);
      k_.tensor_tensor({.dst = component(pairs, i),
                        .data1 = a,
                        .data2 = c,
                        .op = i == 0 ? AluOp::subtract : AluOp::add,
                        .engine = Engine::gpsimd});
    }
  });
}

void TwoFactor::second_to_parts(const View& y, const View& b, const Share& s) const {
  second_sums(b, false, [&](int which, const View& sum) {
    const View out = k_.sbuf({sum.dim(0), sum.dim(1)}, f32);
    evict(k_, out, sum, 1);
    k_.dma_copy({.dst = places(of_part(y, which), s, whole(), 1), .src = out});
  });
}

// Half a spectrum with the parts of its numbers on partitions of their own.
View TwoFactor::load_half(const View& x, const Share& s) const {
  const std::int64_t rows = c_.half_rows(), loaded = rows_loaded(c_), rest = rest_loaded(c_), used = s.q * loaded;
  const std::int64_t many = s.halves(), size = s.u / many;
  const View tile = k_.sbuf({kTile, size, s.p, 2 * c_.n1}, f32);
  const View matrix = x.reshape_dim(0, {s.u, s.q, s.p});
  const View parts = k_.sbuf({kTile, s.u, s.p * c_.n1}, f32);
  const bool at_once = rest == 0 && (used == kImaginary || many == 1);  // rows leave no gap
  if (at_once) {
    const View whole =
        x(all, ds(0, 2 * c_.n1 * rows)).reshape_dim(1, {rows, 2 * c_.n1}).reshape_dim(0, {size, many, s.q, s.p});
    k_.dma_copy({.dst = tile(ds(0, many * used)), .src = whole.permute({1, 2, 4, 0, 3, 5}).flatten_dims(0, 1)});
  }
  // Its table has zeros there, but they are read.
  if (used < kImaginary) k_.memset({.dst = parts, .value = 0.0, .engine = Engine::gpsimd});
  for (std::int64_t half = 0; half < many; ++half) {
    const View to = tile(ds(half * kImaginary, used));
    for (std::int64_t c = 0; c < s.q && !at_once; ++c) {
      const View some = matrix.select(1, c)(ds(half, size, many));
      const View whole =
          some(all, all, ds(0, 2 * c_.n1 * rows)).reshape_dim(2, {rows, 2 * c_.n1}).permute({2, 0, 1, 3});
      k_.dma_copy({.dst = to(ds(c * loaded, rows)), .src = whole});
      if (rest == 0) continue;
      const View last = to(ds(c * loaded + rows, 1));
      k_.dma_copy({.dst = last(all, all, all, ds(0, 2 * rest)),
                   .src = some(all, all, ds(2 * c_.n1 * rows, 2 * rest)).expand_dim(0)});
      const std::int64_t missing = 2 * (c_.n1 - rest);
      k_.dma_copy({.dst = last(all, all, all, ds(2 * rest, missing)),
                   .src = zero_(ds(0, 1), ds(0, size * s.p * missing)).reshape_dim(1, {size, s.p, missing})});
    }
    weigh(to.flatten_dims(1, 2), half * kImaginary);
    const View pairs = to.flatten_dims(1, 3).reshape_dim(1, {size, s.p * c_.n1, 2});
    for (int i = 0; i < 2; ++i)
      evict(k_, parts(ds(i * kImaginary, used), ds(half, size, many)), component(pairs, i),
            static_cast<std::size_t>(s.u == 1 ? i : 1));
  }
  return parts(ds(0, kImaginary + used));
}

// The middle number of each row on the partitions of its results, [p n1, u q].
View TwoFactor::load_middle(const View& x, const Share& s) const {
  const View tile = k_.sbuf({s.p * c_.n1, s.u * s.q}, f32);
  const View middle = x(all, ds(c_.n(), 1)).flatten_dims(0, 1).reshape_dim(0, {s.u * s.q, s.p});
  k_.dma_copy({.dst = tile, .src = middle.permute({1, 0}).expand_dim(1).broadcast(1, c_.n1)});
  return tile;
}

void TwoFactor::weigh(const View& tile, std::int64_t first) const {
  const std::int64_t middle = c_.n() % 2 == 0 && !has_middle(c_) ? c_.n() / 2 % c_.n1 : 0;
  for (int i = 0; i < (middle ? 2 : 1); ++i) {
    const View column = tile(all, all, ds(i == 0 ? 0 : 2 * middle, 2));
    k_.tensor_scalar(
        {.dst = column, .data = column, .op0 = AluOp::multiply, .operand0 = weight_(ds(first, tile.dim(0)), ds(i, 1))});
  }
}

// The first product and the factors behind it: [others, u * columns, 2].
View TwoFactor::first(const std::vector<View>& parts, const Share& s, const Piece& some) const {
  const std::int64_t copies = c_.spectrum == Spectrum::inverse ? s.q : s.p;
  const View b = k_.sbuf({others(parts[0]), s.u * copies * some.size, 2}, f32);
  first(parts, s, b, some);
  return b;
}

// Some of the numbers of each result.
void TwoFactor::first(const std::vector<View>& parts, const Share& s, const View& b, const Piece& some) const {
  const bool swapped = c_.spectrum == Spectrum::inverse;
  const std::int64_t copies = swapped ? s.q : s.p, columns = copies * some.size, rows = others(parts[0]);
  const std::int64_t contracted = parts[0].dim(0), group = std::clamp<std::int64_t>(kWide / (2 * columns), 1, s.u);
  const std::int64_t size = first_results(c_);
  std::vector<Parts> data;
  for (const View& part : parts) data.push_back(parts_of_tile(k_, part, c_.precision));
  for (const Piece& g : whole_pieces(s.u, group)) {
    const View sum = k_.psum({kTile, kWide}, f32)(ds(0, rows), ds(0, g.size * 2 * columns));
    warm_up_.before(sum(all, ds(0, 2 * columns)));
    for (std::int64_t i = 0; i < g.size; ++i) {
      const View to = sum(all, ds(i * 2 * columns, 2 * columns));
      for (std::size_t which = 0; which < data.size(); ++which)
        add(some.size == size ? to : to.reshape_dim(1, {copies, 2 * some.size}), selected(data[which], g.start + i),
            some_columns(cut(first_[which], contracted, 2 * copies * size), copies, size, some));
    }
    twiddle(b(all, ds(g.start * columns, g.size * columns)).flatten_dims(1, 2), sum, g.size * copies, some);
  }
}

void TwoFactor::twiddle(const View& to, const View& sum, std::int64_t many, const Piece& some) const {
  const std::int64_t rows = sum.dim(0), size = some.size;
  const auto pairs = [&](const View& v) { return v.reshape_dim(1, {many, size, 2}); };
  const auto table = [&](const View& t) {
    return t(ds(0, rows), ds(2 * some.start, 2 * size)).reshape_dim(1, {size, 2}).expand_dim(1).broadcast(1, many);
  };
  const View turned = k_.sbuf({rows, many, size, 2}, f32), straight = k_.sbuf({rows, many, size, 2}, f32);
  const View a = pairs(sum), sine = table(sine_);
  const auto times = [&](const View& dst, const View& x, const View& y) {
    k_.tensor_tensor({.dst = dst, .data1 = x, .data2 = y, .op = AluOp::multiply, .engine = Engine::vector});
  };
  times(straight, a, table(cosine_));
  times(component(turned, 0), component(a, 1), component(sine, 0));
  times(component(turned, 1), component(a, 0), component(sine, 1));
  k_.tensor_tensor({.dst = pairs(to), .data1 = straight, .data2 = turned, .op = AluOp::add, .engine = Engine::gpsimd});
}

// The second product. `out` is [results, columns, 2], or [results, columns] where they are real; by columns [k2, k1,
// rows of the matrix, 2].
void TwoFactor::second(const View& out, const View& b, const Share& s, const View& middle, const Piece& some) const {
  const bool real = c_.spectrum == Spectrum::inverse;
  const auto away = [&](int which, const View& from) {
    if (real && !has_middle(c_)) return evict(k_, out, from, 1);
    if (real) return add_middle(out, from, middle, some);
    if (!c_.by_columns) return evict(k_, component(out, which), from, 1);
    evict(k_, component(out, which), from.reshape_dim(1, {s.rows(), c_.n1}).permute({0, 2, 1}), 1);
  };
  second_sums(b, real, away);
}

// The sums of real parts, and of imaginary ones, where there are some.
void TwoFactor::second_sums(const View& b, bool real, const std::function<void(int, const View&)>& away) const {
  const std::int64_t rows = b.dim(0), columns = b.rank() == 3 ? b.dim(1) : b.dim(1) * b.dim(2),
                     results = folds_out(c_)                      ? folded_size(c_.n2)
                               : c_.spectrum == Spectrum::forward ? kImaginary + rows / c_.n2 * whole_rows(c_)
                                                                  : rows;
  const auto bank = [&](std::int64_t width) { return k_.psum({kTile, kWide}, f32)(ds(0, results), ds(0, width)); };
  const auto table = [&](int which) { return cut(second_[which], rows, results); };
  if (!real && b.rank() == 3 && 2 * columns <= kWide && !folds_out(c_) && c_.precision == Precision::native) {
    // One product for both where one bank has room: few columns take as long as their table takes to load.
    const View both = bank(2 * columns), sums[] = {both(all, ds(0, columns)), both(all, ds(columns, columns))};
    add(both.reshape_dim(1, {2, columns}), table(0), {b.permute({0, 2, 1})});
    for (int i = 0; i < 2; ++i) add(sums[i], table(i + 1), {component(b, 1 - i)});
    for (int i = 0; i < 2; ++i) away(i, sums[i]);
    return;
  }
  const Parts data[] = {parts_of_tile(k_, component(b, 0), c_.precision),
                        parts_of_tile(k_, component(b, 1), c_.precision)};
  for (int which = 0; which < (real ? 1 : 2); ++which) {
    const View sum = bank(columns);
    add(sum, table(which == 0 ? 0 : 3), data[which]);
    add(sum, table(which + 1), data[1 - which]);
    away(which, sum);
  }
}

// out = from + the middle numbers [rows, u q] with alternating signs: their product does not wait for the sums.
void TwoFactor::add_middle(const View& out, const View& from, const View& middle, const Piece& some) const {
  const std::int64_t rows = middle.dim(0), many = middle.dim(1);
  const View added = k_.sbuf({rows, many, some.size}, f32);
  k_.tensor_tensor({.dst = added,
                    .data1 = alternating_(ds(0, rows), ds(some.start, some.size)).expand_dim(1).broadcast(1, many),
                    .data2 = middle.expand_dim(2).broadcast(2, some.size),
                    .op = AluOp::multiply,
                    .engine = Engine::gpsimd});
  k_.tensor_tensor(
      {.dst = out, .data1 = from, .data2 = added.flatten_dims(1, 2), .op = AluOp::add, .engine = Engine::vector});
}

// Half a spectrum of some k1: those up to n1 / 2 as they come, the others as conjugates from the partitions from 64 on,
// with k1 in the other order. Both have 64 rows at most, so every second group goes to the partitions from 64 on: a
// store is as fast as the partitions that it reads are many.
View TwoFactor::second_half(const View& b, const Share& s, const Piece& some) const {
  const std::int64_t many = s.halves(), groups = s.u / many, wide = s.p * some.size;
  const std::int64_t mirrored = s.q * whole_rows(c_),
                     direct = has_begun_row(c_) ? c_.q() * whole_rows(c_) + s.q : mirrored;
  const Piece turned = mirror_images(some);
  const View out = k_.sbuf({kTile, groups, s.p, c_.n1, 2}, f32);
  second_sums(b, false, [&](int which, const View& sum) {
    for (std::int64_t half = 0; half < many; ++half) {
      const auto part = [&](std::int64_t rows, const Piece& k1) {
        return component(out(ds(half * kImaginary, rows), all, all, ds(k1.start, k1.size)), which);
      };
      const View by_group = sum.reshape_dim(1, {s.u, s.p, some.size})(ds(0, direct), ds(half, groups, many));
      evict(k_, part(direct, some), by_group, static_cast<std::size_t>(which + 1));
      if (turned.size == 0) continue;
      const std::int64_t last = c_.n1 - turned.start - some.start;  // column of the first of them
      const View other = sum.ap({{kWide, mirrored}, {many * wide, groups}, {some.size, s.p}, {-1, turned.size}},
                                sum.offset() + kImaginary * kWide + half * wide + last);
      if (which == 0)
        k_.tensor_copy({.dst = part(mirrored, turned), .src = other, .engine = Engine::vector});
      else
        k_.activation({.dst = part(mirrored, turned), .op = ActFn::copy, .data = other, .scale = -1.0});
    }
  });
  return out;
}

// The numbers k1 whose results are the conjugates of those of some others.
Piece TwoFactor::mirror_images(const Piece& some) const {
  const std::int64_t first = std::max<std::int64_t>(1, some.start),
                     end = std::min(some.start + some.size, (c_.n1 + 1) / 2);
  return {c_.n1 + 1 - end, std::max<std::int64_t>(0, end - first)};
}

void TwoFactor::store_half(const View& y, const View& out, const Share& s, const Piece& some) const {
  const std::int64_t rows = whole_rows(c_), many = s.halves(), used = s.q * rows;
  const View matrix =
      y(all, ds(0, 2 * c_.n1 * rows)).reshape_dim(0, {s.u / many, many, s.q, s.p}).reshape_dim(4, {rows, 2 * c_.n1});
  const auto store_columns = [&](const Piece& k1) {
    const View from = out(all, all, all, ds(k1.start, k1.size)).flatten_dims(3, 4);
    // Groups take turns, so that both halves are one store where they leave no gap.
    const View places = matrix.slice(5, 2 * k1.start, 2 * k1.size).permute({1, 2, 4, 0, 3, 5});
    if (used == kImaginary || many == 1) {
      k_.dma_copy({.dst = places.flatten_dims(0, 1), .src = from(ds(0, many * used))});
      return;
    }
    for (std::int64_t half = 0; half < many; ++half)
      k_.dma_copy({.dst = places.select(0, half), .src = from(ds(half * kImaginary, used))});
  };
  const Piece turned = mirror_images(some);
  if (some.size == whole().size)
    store_columns({0, c_.n1});
  else
    for (const Piece& k1 : {some, turned})
      if (k1.size) store_columns(k1);
  const std::int64_t numbers = c_.n2 % 2 == 1 ? some.size : some.start == 0 ? 1 : 0;  // in a row that is begun
  if (!has_begun_row(c_) || numbers == 0) return;
  const View begun =
      y(all, ds(2 * (c_.n1 * rows + some.start), 2 * numbers)).reshape_dim(0, {s.u / many, many, s.q, s.p});
  for (std::int64_t half = 0; half < many; ++half) {
    const View from = out(ds(half * kImaginary + c_.q() * rows, s.q), all, all, ds(some.start, numbers));
    k_.dma_copy({.dst = begun.select(1, half).permute({1, 0, 2, 3}), .src = from.flatten_dims(3, 4)});
  }
}

// The middle number, which is real.
void TwoFactor::store_middle(const View& y, const View& b, const Share& s, const Piece& some) const {
  const std::int64_t many = s.u * s.p;
  const View sum = k_.psum({kTile, kWide}, f32)(ds(0, s.q), ds(0, many));
  const View first = component(b, 0).reshape_dim(1, {many, some.size}).select(2, 0);
  add(sum, cut(middle_, b.dim(0), s.q), parts_of_tile(k_, first, c_.precision));
  const View out = k_.sbuf({s.q, many, 2}, f32);
  k_.memset({.dst = out, .value = 0.0, .engine = Engine::gpsimd});
  evict(k_, component(out, 0), sum, 1);
  const View to = y(all, ds(c_.n(), 2)).reshape_dim(0, {s.u, s.q, s.p}).permute({1, 0, 2, 3});
  k_.dma_copy({.dst = to, .src = out.reshape_dim(1, {s.u, s.p})});
}

void TwoFactor::store(const View& y, const View& out, const Share& s, const Piece& some) const {
  if (c_.spectrum == Spectrum::inverse) {
    const View to =
        y.reshape_dim(1, {c_.n1, c_.n2}).reshape_dim(0, {s.u, s.q, s.p}).flatten_dims(2, 3).permute({2, 0, 1, 3});
    k_.dma_copy({.dst = to.slice(3, some.start, some.size), .src = out.reshape_dim(1, {s.u, s.q, some.size})});
    return;
  }
  k_.dma_copy({.dst = places(y, s, some), .src = out.flatten_dims(1, 2)});
}

// Rows of whole spectra as their results lie on the chip.
View TwoFactor::places(const View& y, const Share& s, const Piece& some, std::int64_t parts) const {
  return y.reshape_dim(0, {s.u, s.q, s.p})
      .reshape_dim(3, {c_.n2, parts * c_.n1})
      .slice(4, parts * some.start, parts * some.size)
      .permute({1, 3, 0, 2, 4});
}

}  // namespace kiln::kernels
