#include "kernels/fft/rader.h"

#include <algorithm>
#include <bit>

#include "kernels/blas/dtypes.h"
#include "kernels/blas/product_block.h"
#include "kernels/fft/complex_view.h"
#include "kernels/fft/host_dft.h"
#include "kernels/fft/two_factor.h"

namespace kiln::kernels {
using namespace isa;

namespace {

constexpr std::int64_t kIndices = 2048;    // numbers that are put in order at once
constexpr std::int64_t kSide = kTile / 2;  // partition where second rows of pairs, or imaginary parts, begin
constexpr DType u32 = DType::uint32;

// Powers of the smallest generator of the numbers below a prime: g^0, g^1, …
std::vector<std::int64_t> powers_of_generator(std::int64_t p) {
  std::vector<std::int64_t> powers;
  for (std::int64_t g = 1;; ++g) {
    powers.assign(1, 1);
    for (std::int64_t v = g % p; v != 1; v = product_mod(v, g, p)) powers.push_back(v);
    if (static_cast<std::int64_t>(powers.size()) == p - 1) return powers;
  }
}

TwoFactorConfig along(const TransformConfig& c, const Way& w, bool positive) {
  return {.n1 = w.n1,
          .n2 = w.n2,
          .positive = positive,
          .prefix = positive ? "backward_" : "forward_",
          .rows = c.rows_of_tables(),
          .precision = c.precision,
          .filter = positive ? "" : "filter"};
}

// Indices are bits in tables of float32. Both parts of a number are neighbours, or `parts` is 1.
void set_index(Table& t, std::int64_t at, std::int64_t from, std::int64_t parts) {
  for (std::int64_t i = 0; i < parts; ++i)
    t(0, parts * at + i) = std::bit_cast<float>(static_cast<std::uint32_t>(parts * from + i));
}

struct Rader {
  Kernel& k;
  const TransformConfig& c;
  View x, y;
  Spectrum pairs;
  std::int64_t m = c.n - 1;

  View tile(std::int64_t rows, std::int64_t numbers) const { return k.sbuf({rows, 2 * numbers}, f32); }
  View loaded(const View& from) const {
    const View to = k.sbuf(from.shape(), f32);
    k.dma_copy({.dst = to, .src = from});
    return to;
  }

  // Some numbers row(r, order(i)) of rows on the partitions.
  View in_order(const View& row, const View& order, const Index& first, std::int64_t count) const {
    const std::int64_t rows = row.dim(0);
    const View at = k.sbuf({rows, count}, u32), out = k.sbuf({rows, count}, f32);
    k.dma_copy({.dst = at, .src = order(all, ds(first, count)).broadcast(0, rows)});
    k.nc_n_gather({.dst = out, .data = row, .indices = at});
    return out;
  }
  void put_in_order(const View& to, const View& row, const View& order) const {
    k.tiles(to.dim(1), kIndices, [&](Index first, std::int64_t count) {
      k.dma_copy({.dst = to(all, ds(first, count)), .src = in_order(row, order, first, count)});
    });
  }

  std::int64_t parts() const { return pairs == Spectrum::whole ? 2 : 1; }
  View order(const char* name, std::int64_t numbers) const { return k.input(name, {1, parts() * numbers}, u32); }

  // Row `which` of each of some pairs.
  View of_pair(const View& v, const Index& row, std::int64_t rows, int which) const {
    const std::int64_t stride = v.stride(0);
    return v.ap({{2 * stride, rows}, {1, v.dim(1)}}, (row * 2 + which) * stride + v.offset());
  }
  // Some numbers of both rows of each pair: the first ones from partition 0 on, the others from 64 on.
  void load_pairs(const View& to, const View& v, const Index& row, std::int64_t rows, const Slice& some) const {
    for (int i = 0; i < 2; ++i)
      k.dma_copy({.dst = to(ds(i * kSide, rows)), .src = of_pair(v, row, rows, i)(all, some)});
  }

  // The partitions that both rows of some pairs have: all at once where there is no gap.
  static std::vector<Piece> sides(std::int64_t rows) {
    return rows == kSide ? std::vector<Piece>{{0, kTile}} : std::vector<Piece>{{0, rows}, {kSide, rows}};
  }

  // Half spectra of pairs as whole ones of rows, real parts from partition 0 on, imaginary ones from 64 on: one row's
  // real parts minus and plus the other one's imaginary ones.
  View joined(const Index& row, std::int64_t rows) const {
    const View z = k.sbuf({kTile, c.n}, f32);
    for (const Piece& p : whole_pieces(c.n / 2 + 1, kIndices / 2)) {
      const View half = k.sbuf({kTile, p.size, 2}, f32), other = k.sbuf({kTile, p.size}, f32);
      load_pairs(half.flatten_dims(1, 2), x, row, rows, ds(2 * p.start, 2 * p.size));
      const std::int64_t skipped = p.start == 0 ? 1 : 0, size = p.size - skipped;
      // What is real counts as real.
      if (skipped) k.memset({.dst = other(all, ds(0, 1)), .value = 0.0});
      for (int i = 0; i < 2 && size > 0; ++i) {
        const Slice numbers = ds(skipped, size);
        const View from = component(half(ds((1 - i) * kSide, rows), numbers), 1);
        k.activation({.dst = other(ds(i * kSide, rows), numbers),
                      .op = ActFn::copy,
                      .data = from,
                      .scale = i == 0 ? -1.0 : 1.0});
      }
      for (const Piece& side : sides(rows)) {
        const Slice some = ds(side.start, side.size);
        const View a = component(half(some), 0), b = other(some);
        const auto two = [&](AluOp op, const View& to, std::int64_t from, Engine engine) {
          const Slice numbers = ds(from, to.dim(1));
          k.tensor_tensor({.dst = to, .data1 = a(all, numbers), .data2 = b(all, numbers), .op = op, .engine = engine});
        };
        two(AluOp::add, z(some, ds(p.start, p.size)), 0, Engine::vector);
        if (size == 0) continue;
        const std::int64_t last = side.start * c.n + c.n - p.start - skipped;
        two(AluOp::subtract, z.ap({{c.n, side.size}, {-1, size}}, last), skipped, Engine::gpsimd);
      }
    }
    return z;
  }

  // Numbers 1 … p - 1 in the order of the powers. Real rows stay apart, as the parts of those that follow each other.
  void before(const View& ordered) const {
    const View indices = order("order_before", m);
    if (pairs != Spectrum::inverse) {
      k.tiles(x.dim(0), kTile, [&](Index row, std::int64_t rows) {
        put_in_order(ordered(ds(row, rows)), loaded(x(ds(row, rows))), indices);
      });
      return;
    }
    k.tiles(c.rows, kSide, [&](Index row, std::int64_t rows) {
      const View z = joined(row, rows);
      k.tiles(m, kIndices, [&](Index first, std::int64_t count) {
        const View out = in_order(z, indices, first, count);
        for (int i = 0; i < 2; ++i)
          k.dma_copy({.dst = of_pair(ordered, row, rows, i)(all, ds(first, count)), .src = out(ds(i * kSide, rows))});
      });
    });
  }

  // All of some numbers times a factor.
  View times(const View& v, double factor) const {
    if (factor != 1) k.tensor_scalar({.dst = v, .data = v, .op0 = AluOp::multiply, .operand0 = factor});
    return v;
  }

  // to = numbers + first, on each partition another one.
  void add_first(const View& to, const View& numbers, const View& first) const {
    k.tensor_scalar({.dst = to, .data = numbers, .op0 = AluOp::add, .operand0 = first});
  }

  // Numbers 0 … p - 1 in their order again, and x(0) added to all of them. What the filter made of the sum of the
  // others is scale / (1 - p) times y(0) without x(0). Results of pairs are real rows that follow each other.
  void after(const View& result, const View& filtered) const {
    const View indices = order("order_after", c.n);
    if (pairs == Spectrum::forward) return split(result, filtered, indices, order("order_mirrored", c.n));
    const std::int64_t each = 2 / parts(), some_rows = kTile / each;
    k.tiles(c.rows, some_rows, [&](Index at, std::int64_t count) {
      const Index row = at * each;
      const std::int64_t rows = count * each;
      const View whole = k.sbuf({rows, parts() * c.n}, f32), start = whole(all, ds(0, parts()));
      const View sums = filtered(ds(at, count), ds(0, 2));
      k.dma_copy({.dst = start, .src = sums});
      k.dma_copy({.dst = whole(all, ds(parts(), parts() * m)), .src = result(ds(row, rows))});
      times(start, static_cast<double>(-m));
      const View first = times(loaded(x(ds(row, rows), ds(0, parts()))), c.scale);
      k.tiles(y.dim(1), kIndices / each, [&](Index from, std::int64_t numbers) {
        const View ordered = in_order(whole, indices, from, numbers), out = k.sbuf({rows, numbers}, f32);
        const auto of_part = [&](const View& v, int i) {
          return component(v.reshape_dim(1, {v.dim(1) / parts(), parts()}), i);
        };
        for (int i = 0; i < parts(); ++i) add_first(of_part(out, i), of_part(ordered, i), first(all, ds(i, 1)));
        k.dma_copy({.dst = y(ds(row, rows), ds(from, numbers)), .src = out});
      });
    });
  }

  // Twice the half spectra of both rows of each pair, from numbers k and p - k, whose real parts lie from partition 0
  // on, and their imaginary ones from 64 on.
  void split(const View& result, const View& filtered, const View& lower, const View& upper) const {
    k.tiles(c.rows, kSide, [&](Index row, std::int64_t rows) {
      const auto side = [&](const View& v, int i) { return v(ds(i * kSide, rows)); };
      const View whole = k.sbuf({kTile, c.n}, f32), first = k.sbuf({kTile, 1}, f32);
      load_pairs(first, x, row, rows, ds(0, 1));
      for (int i = 0; i < 2; ++i) {
        const View start = side(whole(all, ds(0, 1)), i);
        k.dma_copy({.dst = start, .src = filtered(ds(row, rows), ds(i, 1))});
        times(start, static_cast<double>(-m));
        times(side(first, i), 2 * c.scale);
      }
      for (const Piece& p : even_pieces(m, (m + 1) / 2))
        load_pairs(whole(all, ds(1 + p.start, p.size)), result, row, rows, ds(p.start, p.size));
      for (const auto& [at, count] : whole_pieces((c.n + 1) / 2, kIndices / 2)) {
        // gpsimd is free when the last numbers are in order.
        const Engine second = at + count == (c.n + 1) / 2 ? Engine::gpsimd : Engine::vector;
        const View low = in_order(whole, lower, at, count), high = in_order(whole, upper, at, count);
        const View more = k.sbuf({kTile, count}, f32), out = k.sbuf({kTile, count, 2}, f32);
        const auto two = [&](AluOp op, const View& to, const View& a, const View& b, Engine engine) {
          k.tensor_tensor({.dst = to, .data1 = a, .data2 = b, .op = op, .engine = engine});
        };
        for (const Piece& both : sides(rows)) {
          const Slice some = ds(both.start, both.size);
          add_first(more(some), low(some), first(some));
          two(AluOp::add, component(out(some), 0), more(some), high(some), Engine::vector);
        }
        for (int i = 0; i < 2; ++i) {
          const View &a = i == 0 ? low : high, &b = i == 0 ? high : low;
          two(AluOp::subtract, component(side(out, i), 1), side(a, 1 - i), side(b, 1 - i), second);
          k.dma_copy(
              {.dst = of_pair(y, row, rows, i)(all, ds(at * 2, 2 * count)), .src = side(out, i).flatten_dims(1, 2)});
        }
      }
    });
  }
};

}  // namespace

bool is_prime(std::int64_t n) {
  for (std::int64_t f = 2; f * f <= n; ++f) {
    if (n % f == 0) return false;
  }
  return n > 1;
}

Tables rader_tables(const TransformConfig& c, const Way& w, Spectrum pairs) {
  const std::int64_t p = c.n, m = p - 1;
  const std::vector<std::int64_t> powers = powers_of_generator(p);
  const std::int64_t parts = pairs == Spectrum::whole ? 2 : 1;
  Table before("order_before", 1, parts * m, u32), after("order_after", 1, parts * p, u32),
      mirrored("order_mirrored", 1, parts * p, u32);
  std::vector<Complex> taps(static_cast<std::size_t>(m));
  set_index(after, 0, 0, parts);
  set_index(mirrored, 0, 0, parts);
  for (std::int64_t q = 0; q < m; ++q) {
    const std::int64_t power = powers[static_cast<std::size_t>(q)];
    const std::int64_t inverse = powers[static_cast<std::size_t>(q == 0 ? 0 : m - q)];  // g^-q
    set_index(before, q, power, parts);
    set_index(after, inverse, 1 + q, parts);
    set_index(mirrored, p - inverse, 1 + q, parts);
    taps[static_cast<std::size_t>(q)] = c.scale * root(c.positive ? inverse : -inverse, p);
  }
  const std::vector<Complex> spectrum = host_dft(taps);
  Table filter = filter_table(along(c, w, false), [&](std::int64_t k) {
    return spectrum[static_cast<std::size_t>(k)] / static_cast<double>(m);
  });
  Tables tables{std::move(before), std::move(after), std::move(filter)};
  if (pairs == Spectrum::forward) tables.push_back(std::move(mirrored));
  for (const bool positive : {false, true}) {
    for (Table& t : two_factor_tables(along(c, w, positive))) tables.push_back(std::move(t));
  }
  return tables;
}

void rader(Kernel& k, const TransformConfig& c, const Way& w, const View& x, const View& y, Spectrum pairs) {
  const Rader r{k, c, x, y, pairs};
  const bool apart = pairs != Spectrum::whole;  // parts of rows are rows of their own
  const auto maybe_apart = [&](std::int64_t numbers) {
    return apart ? k.hbm({2 * c.rows, numbers}, f32) : k.hbm({c.rows, 2 * numbers}, f32);
  };
  const View ordered = maybe_apart(r.m), filtered = k.hbm({c.rows, 2 * r.m}, f32), result = maybe_apart(r.m);
  r.before(ordered);
  TwoFactorConfig forward = along(c, w, false), backward = along(c, w, true);
  forward.parts_come = backward.parts_go = apart;
  TwoFactor(k, forward).run(ordered, filtered);
  TwoFactor(k, backward).run(filtered, result);
  r.after(result, filtered);
}

}  // namespace kiln::kernels
