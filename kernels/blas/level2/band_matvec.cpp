// Product of a band matrix and a vector: element i of the result is the sum over a window of row i (or, transposed, of
// a slanted line of the band) times a window of x that begins at i. Windows overlap in HBM and cost no copy; zeros
// around band and vector make all of them whole.
#include "kernels/blas/level2/clean_band.h"
#include "kernels/blas/level2/result_column.h"

namespace kiln::kernels {
using namespace isa;
namespace {

constexpr std::int64_t kRows = 128, kWidth = 1024;

// Places from … to of each window; `a_plane_1_without` leaves out a place in the imaginary plane.
struct Window {
  bool transpose, conjugate;
  std::int64_t from, to;
  std::int64_t real_at = -1;  // a place whose imaginary part does not count
};

// Where the diagonal stands in a window.
std::int64_t diagonal_place(const BandConfig& c, bool transpose) { return transpose ? c.above : c.below; }

// Without the diagonal, which is at one end.
Window strict(const BandConfig& c, bool transpose, bool conjugate) {
  const std::int64_t width = c.below + c.above + 1, at = diagonal_place(c, transpose);
  if (width == 1) return {transpose, conjugate, 0, 0};
  return at == 0 ? Window{transpose, conjugate, 1, width} : Window{transpose, conjugate, 0, width - 1};
}

std::vector<Window> windows_of(const BandConfig& c) {
  const MatvecConfig& m = c.matrix;
  const std::int64_t width = c.below + c.above + 1;
  switch (m.structure) {
    case Structure::general:
    case Structure::triangular:
      return {{m.transpose, m.conjugate, 0, width}};
    case Structure::unit_triangular:
      return {strict(c, m.transpose, m.conjugate)};
    default: {
      const bool hermitian = m.structure == Structure::hermitian;
      return {{false, m.conjugate, 0, width, hermitian ? diagonal_place(c, false) : -1},
              strict(c, true, hermitian != m.conjugate)};
    }
  }
}

class BandMatvec {
 public:
  BandMatvec(Kernel& k, const BandConfig& c, const View& a, const View& x)
      : k_(k), planes_(c.matrix.x.planes()), width_(c.below + c.above + 1), band_(clean_band(k, a, c)) {
    const std::int64_t longest = std::max(c.matrix.rows, c.matrix.columns) + c.below + c.above;
    x_by_row_ = padded_vector(k, x, c.matrix.x, c.below, longest);
    x_by_column_ = padded_vector(k, x, c.matrix.x, c.above, longest);
    above_ = c.above;
    below_ = c.below;
  }

  void add(const Window& w, const Index& i0, const View& sums) const {
    const auto piece = [&](const Index& t, std::int64_t n) {
      for (const PlaneTerm& term : plane_terms(planes_, w.conjugate)) {
        add_products(k_, sums, term.out, load_band(w, i0, sums.dim(0), t, n, term.a),
                     load_x(w, i0, sums.dim(0), t, n, term.x), term.negate);
      }
    };
    if (w.real_at < 0) {
      if (w.from < w.to) k_.tiles(w.to - w.from, kWidth, [&](Index t, std::int64_t n) { piece(t + w.from, n); });
      return;
    }
    // A hermitian band: its diagonal, at one end, counts with its real part.
    const std::int64_t from = w.real_at == w.from ? w.from + 1 : w.from, to = w.real_at == w.from ? w.to : w.to - 1;
    if (from < to) k_.tiles(to - from, kWidth, [&](Index t, std::int64_t n) { piece(t + from, n); });
    for (int p = 0; p < planes_; ++p) {
      add_products(k_, sums, p, load_band(w, i0, sums.dim(0), w.real_at, 1, 0),
                   load_x(w, i0, sums.dim(0), w.real_at, 1, p), false);
    }
  }
  // sums += x.
  void add_vector(const Index& i0, const View& sums) const {
    const View x = k_.sbuf(sums.shape(), DType::float32);
    k_.dma_copy({.dst = x, .src = x_by_row_(ds(i0 + below_, sums.dim(0)))});
    k_.tensor_tensor({.dst = sums, .data1 = sums, .data2 = x, .op = AluOp::add});
  }

 private:
  View load_band(const Window& w, const Index& i0, std::int64_t m, const Index& t, std::int64_t n, int plane) const {
    const std::int64_t ld = width_ * planes_;
    const View tile = k_.sbuf({m, n}, DType::float32);
    // Transposed: place s of column j is row j - above + s, and there place width - 1 - s.
    k_.dma_copy({.dst = tile,
                 .src = w.transpose ? band_.ap({{ld, m}, {ld - planes_, n}},
                                               i0 * ld + t * (ld - planes_) + (width_ - 1) * planes_ + plane)
                                    : band_.ap({{ld, m}, {planes_, n}}, (i0 + above_) * ld + t * planes_ + plane)});
    return tile;
  }
  View load_x(const Window& w, const Index& i0, std::int64_t m, const Index& t, std::int64_t n, int plane) const {
    const View tile = k_.sbuf({m, n}, DType::float32);
    const View& x = w.transpose ? x_by_column_ : x_by_row_;
    k_.dma_copy({.dst = tile, .src = x.ap({{planes_, m}, {planes_, n}}, (i0 + t) * planes_ + plane)});
    return tile;
  }

  Kernel& k_;
  int planes_;
  std::int64_t width_, above_ = 0, below_ = 0;
  View band_, x_by_row_, x_by_column_;
};

}  // namespace

Program band_matvec(const BandConfig& c, Target target) {
  Kernel k("band_matvec", target);
  const MatvecConfig& m = c.matrix;
  const int planes = m.x.planes();
  const std::int64_t width = (c.below + c.above + 1) * planes, length = m.transpose ? m.columns : m.rows;
  const View a = k.input("a", {m.rows, width}, DType::float32);
  const View x = k.input("x", {m.x.storage()}, DType::float32);
  const ResultColumn result(k, length, planes, m.beta);
  const BandMatvec product(k, c, a, x);
  k.tiles(length, kRows, [&](Index i0, std::int64_t rows) {
    const View sums = zero_column(k, rows, planes);
    for (const Window& w : windows_of(c)) product.add(w, i0, sums);
    if (m.structure == Structure::unit_triangular) product.add_vector(i0, sums);
    result.store(sums, i0);
  });
  return k.finish();
}

}  // namespace kiln::kernels
