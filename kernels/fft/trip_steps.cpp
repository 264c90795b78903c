#include "kernels/fft/trip_steps.h"

#include <algorithm>

#include "kernels/blas/dtypes.h"
#include "kernels/fft/complex_view.h"

namespace kiln::kernels {
using namespace isa;

Table pairs_table(const std::string& name, std::int64_t rows, std::int64_t columns, const TableNumber& number) {
  Table t(name, rows, 2 * columns);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      const Complex w = number(r, c);
      t(r, 2 * c) = static_cast<float>(w.real()), t(r, 2 * c + 1) = static_cast<float>(w.imag());
    }
  }
  return t;
}

void add_product_tables(Tables& tables, const std::string& name, std::int64_t rows, std::int64_t columns, bool of_real,
                        const TableNumber& number) {
  tables.push_back(pairs_table(name + "_re", rows, columns, number));
  if (of_real) return;
  tables.push_back(pairs_table(name + "_im", rows, columns,
                               [&](std::int64_t r, std::int64_t c) { return Complex(0, 1) * number(r, c); }));
}

std::vector<Parts> TripSteps::numbers(const View& v) const {
  const View pairs = v.rank() == 2 ? v.reshape_dim(1, {v.dim(1) / 2, 2}) : v;
  return {parts(component(pairs, 0)), parts(component(pairs, 1))};
}

std::vector<Parts> TripSteps::products(const std::vector<View>& tiles, std::size_t& next, bool of_real) const {
  std::vector<Parts> found;
  for (int i = 0; i < (of_real ? 1 : 2); ++i) found.push_back(parts(tiles[next++]));
  return found;
}

View TripSteps::factors(const std::vector<View>& tiles, std::size_t& next) {
  const View& t = tiles[next++];
  return t.reshape_dim(1, {t.dim(1) / 2, 2});
}

View TripSteps::bank(std::int64_t rows, std::int64_t width) const {
  return k.psum({kTile, kWide}, f32)(ds(0, rows), ds(0, width));
}

std::int64_t TripSteps::in_a_bank(std::int64_t sums, std::int64_t width) const {
  constexpr std::int64_t kFew = 4;
  return sums <= (finely ? 2 * kFew : kFew) ? 1 : std::max<std::int64_t>(1, kWide / width);
}

void TripSteps::multiply(const View& sum, const std::vector<Parts>& data, const std::vector<Parts>& table,
                         const std::function<View(const View&)>& of, std::int64_t column) const {
  for (std::size_t i = 0; i < data.size(); ++i) {
    Parts stationary = data[i], moving = table[i];
    for (View& v : stationary) v = of(v);
    for (View& v : moving) v = v(ds(0, stationary[0].dim(0)), ds(column, sum.dim(1)));
    add_products(k, sum, stationary, moving, precision);
  }
}

void TripSteps::twiddle(const View& to, const View& sum, const View& w, const Piece& some) const {
  const std::int64_t rows = to.dim(0), groups = to.dim(1), size = to.dim(2);
  const auto cut = [&](const View& v) { return v(all, all, ds(some.start, some.size)); };
  const auto times = [&](const View& a, int part) {
    const View product = k.sbuf({rows, groups, some.size, 2}, f32);
    k.tensor_tensor({.dst = product,
                     .data1 = a,
                     .data2 = component(cut(w), part).expand_dim(3).broadcast(3, 2),
                     .op = AluOp::multiply,
                     .engine = Engine::vector});
    return product;
  };
  const View straight = times(cut(sum.reshape_dim(1, {groups, size, 2})), 0);
  const View turned =
      times(sum.ap({{kWide, rows}, {2 * size, groups}, {2, some.size}, {-1, 2}}, sum.offset() + 2 * some.start + 1), 1);
  for (int i = 0; i < 2; ++i)
    k.tensor_tensor({.dst = component(cut(to), i),
                     .data1 = component(straight, i),
                     .data2 = component(turned, i),
                     .op = i == 0 ? AluOp::subtract : AluOp::add,
                     .engine = Engine::gpsimd});
}

void TripSteps::twiddle_in_halves(const View& to, const View& sum, const View& w, std::int64_t size) const {
  const std::int64_t numbers = to.dim(2), early = std::max<std::int64_t>(1, numbers / size / 2) * size;
  if (!finely || early >= numbers) return twiddle(to, sum, w);
  twiddle(to, sum, w, {0, early});
  twiddle(to, sum, w, {early, numbers - early});
}

}  // namespace kiln::kernels
