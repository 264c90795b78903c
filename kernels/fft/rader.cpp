#include "kernels/fft/rader.h"

#include <algorithm>
#include <bit>

#include "kernels/blas/dtypes.h"
#include "kernels/blas/product_block.h"
#include "kernels/fft/complex_view.h"
#include "kernels/fft/factored.h"
#include "kernels/fft/host_dft.h"
#include "kernels/fft/pointwise.h"

namespace kiln::kernels {
using namespace isa;

namespace {

constexpr std::int64_t kIndices = 2048;  // numbers that are put in order at once
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

Factored along(const TransformConfig& c, const Way& w, bool positive) {
  return {{Way::Kind::two_factor, 1, w.n1, w.n2}, positive,           1,
          positive ? "backward_" : "forward_",    c.rows_of_tables(), c.precision};
}

// Indices are bits in tables of float32. Of each number both parts move, from places and to places that are neighbours
// or `p` apart.
void set_index(Table& t, std::int64_t at, std::int64_t from, std::int64_t apart_at = 0, std::int64_t apart_from = 0) {
  const auto place = [](std::int64_t number, std::int64_t part, std::int64_t apart) {
    return apart ? number + part * apart : 2 * number + part;
  };
  for (std::int64_t i = 0; i < 2; ++i)
    t(0, place(at, i, apart_at)) = std::bit_cast<float>(static_cast<std::uint32_t>(place(from, i, apart_from)));
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

  // to(r, i) = row(r, order(i)) for rows on the partitions.
  void put_in_order(const View& to, const View& row, const View& order) const {
    const std::int64_t rows = row.dim(0);
    k.tiles(to.dim(1), kIndices, [&](Index first, std::int64_t count) {
      const View at = k.sbuf({rows, count}, u32), out = k.sbuf({rows, count}, f32);
      k.dma_copy({.dst = at, .src = order(all, ds(first, count)).broadcast(0, rows)});
      k.nc_n_gather({.dst = out, .data = row, .indices = at});
      k.dma_copy({.dst = to(all, ds(first, count)), .src = out});
    });
  }

  View order(const char* name, std::int64_t numbers) const { return k.input(name, {1, 2 * numbers}, u32); }

  // Row `which` of each of some pairs.
  View of_pair(const View& v, const Index& row, std::int64_t rows, int which) const {
    const std::int64_t stride = v.stride(0);
    return v.ap({{2 * stride, rows}, {1, v.dim(1)}}, (row * 2 + which) * stride + v.offset());
  }

  // Rows on the partitions. Real ones of a pair are one behind the other; half spectra are joined.
  View rows_of(const Index& row, std::int64_t rows) const {
    if (pairs == Spectrum::whole) return loaded(x(ds(row, rows)));
    if (pairs == Spectrum::inverse) return joined(row, rows);
    const View to = tile(rows, c.n);
    for (int i = 0; i < 2; ++i) k.dma_copy({.dst = to(all, ds(i * c.n, c.n)), .src = of_pair(x, row, rows, i)});
    return to;
  }
  View joined(const Index& row, std::int64_t rows) const {
    const View z = k.sbuf({rows, c.n, 2}, f32);
    const auto two = [&](AluOp op, const View& to, int i, const View& a, int j, const View& b, Engine engine) {
      k.tensor_tensor({.dst = component(to, i),
                       .data1 = component(a, j),
                       .data2 = component(b, 1 - j),
                       .op = op,
                       .engine = engine});
    };
    for (const Piece& p : whole_pieces(c.n / 2 + 1, kIndices / 2)) {
      View half[2];
      for (int i = 0; i < 2; ++i)
        half[i] = loaded(of_pair(x, row, rows, i)(all, ds(2 * p.start, 2 * p.size))).reshape_dim(1, {p.size, 2});
      const View lower = z(all, ds(p.start, p.size));
      two(AluOp::subtract, lower, 0, half[0], 0, half[1], Engine::vector);
      two(AluOp::add, lower, 1, half[0], 1, half[1], Engine::gpsimd);
      const std::int64_t skipped = p.start == 0 ? 1 : 0, first = p.start + skipped, size = p.size - skipped;
      if (skipped) {  // what is real counts as real
        for (int i = 0; i < 2; ++i)
          k.tensor_copy({.dst = component(z(all, ds(0, 1)), i), .src = component(half[i](all, ds(0, 1)), 0)});
      }
      if (size == 0) continue;
      const View upper = z.ap({{2 * c.n, rows}, {-2, size}, {1, 2}}, 2 * (c.n - first));
      const View a = half[0](all, ds(skipped, size)), b = half[1](all, ds(skipped, size));
      two(AluOp::add, upper, 0, a, 0, b, Engine::vector);
      two(AluOp::subtract, upper, 1, b, 0, a, Engine::gpsimd);
    }
    return z.flatten_dims(1, 2);
  }

  // Numbers 1 … p - 1 in the order of the powers.
  void before(const View& ordered) const {
    const View indices = order("order_before", m);
    k.tiles(c.rows, kTile,
            [&](Index row, std::int64_t rows) { put_in_order(ordered(ds(row, rows)), rows_of(row, rows), indices); });
  }

  // x(0) of some rows, or of both rows of each pair.
  View first_numbers(const Index& row, std::int64_t rows) const {
    if (pairs == Spectrum::whole) return loaded(x(ds(row, rows), ds(0, 2)));
    const View to = tile(rows, 1);
    for (int i = 0; i < 2; ++i) k.dma_copy({.dst = to(all, ds(i, 1)), .src = of_pair(x, row, rows, i)(all, ds(0, 1))});
    return to;
  }

  // The first number joins what the filter made of the sum of the others, and makes y(0) with that sum. The filter has
  // the scale in it, these two have not.
  void add_first(const View& spectrum, const View& filtered, const View& sums) const {
    const auto scaled = [&](const View& number) {
      if (c.scale != 1) k.tensor_scalar({.dst = number, .data = number, .op0 = AluOp::multiply, .operand0 = c.scale});
      return number;
    };
    const auto add = [&](const View& to, const View& a, const View& b) {
      const View sum = tile(a.dim(0), 1);
      k.tensor_tensor({.dst = sum, .data1 = a, .data2 = b, .op = AluOp::add, .engine = Engine::vector});
      k.dma_copy({.dst = to, .src = sum});
    };
    k.tiles(c.rows, kTile, [&](Index row, std::int64_t rows) {
      const auto first = [&](const View& v) { return v(ds(row, rows), ds(0, 2)); };
      const View number = scaled(first_numbers(row, rows));
      add(first(sums), number, scaled(loaded(first(spectrum))));
      add(first(filtered), number, loaded(first(filtered)));
    });
  }

  void after(const View& result, const View& sums) const {
    const View indices = order("order_after", c.n);
    const View mirrored = pairs == Spectrum::forward ? order("order_mirrored", c.n) : View();
    k.tiles(c.rows, kTile, [&](Index row, std::int64_t rows) {
      const View whole = tile(rows, c.n);
      k.dma_copy({.dst = whole(all, ds(0, 2)), .src = sums(ds(row, rows))});
      k.dma_copy({.dst = whole(all, ds(2, 2 * m)), .src = result(ds(row, rows))});
      if (pairs == Spectrum::whole) put_in_order(y(ds(row, rows)), whole, indices);
      if (pairs == Spectrum::forward) split(row, whole, indices, mirrored);
      for (int i = 0; i < 2 && pairs == Spectrum::inverse; ++i)
        put_in_order(of_pair(y, row, rows, i), whole, indices(all, ds(i * c.n, c.n)));
    });
  }

  // Twice the half spectra of both rows of each pair, from numbers k and p - k.
  void split(const Index& row, const View& whole, const View& lower, const View& upper) const {
    const std::int64_t rows = whole.dim(0);
    k.tiles(c.n + 1, kIndices, [&](Index first, std::int64_t count) {
      const auto numbers = [&](const View& order) {
        const View at = k.sbuf({rows, count}, u32), out = k.sbuf({rows, count / 2, 2}, f32);
        k.dma_copy({.dst = at, .src = order(all, ds(first, count)).broadcast(0, rows)});
        k.nc_n_gather({.dst = out.flatten_dims(1, 2), .data = whole, .indices = at});
        return out;
      };
      const View low = numbers(lower), high = numbers(upper);
      const auto store = [&](int which, const View& a, int i, const View& b, int j) {
        const View out = k.sbuf({rows, count / 2, 2}, f32);
        k.tensor_tensor({.dst = component(out, 0),
                         .data1 = component(low, which),
                         .data2 = component(high, which),
                         .op = AluOp::add,
                         .engine = Engine::vector});
        k.tensor_tensor({.dst = component(out, 1),
                         .data1 = component(a, i),
                         .data2 = component(b, j),
                         .op = AluOp::subtract,
                         .engine = Engine::gpsimd});
        k.dma_copy({.dst = of_pair(y, row, rows, which)(all, ds(first, count)), .src = out.flatten_dims(1, 2)});
      };
      store(0, low, 1, high, 1);
      store(1, high, 0, low, 0);
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
  Table before("order_before", 1, 2 * m, u32), after("order_after", 1, 2 * p, u32),
      mirrored("order_mirrored", 1, 2 * p, u32), filter("filter", 1, 2 * m);
  const std::int64_t before_apart = pairs == Spectrum::forward ? p : 0,
                     after_apart = pairs == Spectrum::inverse ? p : 0;
  std::vector<Complex> taps(static_cast<std::size_t>(m));
  set_index(after, 0, 0, after_apart);
  set_index(mirrored, 0, 0);
  for (std::int64_t q = 0; q < m; ++q) {
    const std::int64_t power = powers[static_cast<std::size_t>(q)];
    const std::int64_t inverse = powers[static_cast<std::size_t>(q == 0 ? 0 : m - q)];  // g^-q
    set_index(before, q, power, 0, before_apart);
    set_index(after, inverse, 1 + q, after_apart);
    set_index(mirrored, p - inverse, 1 + q);
    taps[static_cast<std::size_t>(q)] = c.scale * root(c.positive ? inverse : -inverse, p);
  }
  const std::vector<Complex> spectrum = host_dft(taps);
  for (std::int64_t q = 0; q < m; ++q) {
    const Complex v = spectrum[static_cast<std::size_t>(q)] / static_cast<double>(m);
    filter(0, 2 * q) = static_cast<float>(v.real()), filter(0, 2 * q + 1) = static_cast<float>(v.imag());
  }
  Tables tables{std::move(before), std::move(after), std::move(filter)};
  if (pairs == Spectrum::forward) tables.push_back(std::move(mirrored));
  for (const bool positive : {false, true}) {
    for (Table& t : factored_tables(along(c, w, positive))) tables.push_back(std::move(t));
  }
  return tables;
}

void rader(Kernel& k, const TransformConfig& c, const Way& w, const View& x, const View& y, Spectrum pairs) {
  const Rader r{k, c, x, y, pairs};
  const auto scratch = [&] { return k.hbm({c.rows, 2 * r.m}, f32); };
  const View ordered = scratch(), spectrum = scratch(), filtered = scratch(), result = scratch();
  const View sums = k.hbm({c.rows, 2}, f32);
  r.before(ordered);
  factored(k, along(c, w, false), ordered, spectrum);
  multiply_rows(k, spectrum, filtered, k.input("filter", {1, 2 * r.m}, f32));
  r.add_first(spectrum, filtered, sums);
  factored(k, along(c, w, true), filtered, result);
  r.after(result, sums);
}

}  // namespace kiln::kernels
