// TwoFactor: transforms of length n = n1 n2 of the rows of a matrix, both factors at most 128, on the tensor engine;
// one trip through SBUF.
//
// With j = j1 n2 + j2 and k = k1 + n1 k2, x(j) -> Σ x(j) e^(± 2 pi i j k / n) is
//   a(j2, k1) = Σ_j1 x(j1, j2) e^(± 2 pi i j1 k1 / n1)
//   b(j2, k1) = a(j2, k1) e^(± 2 pi i j2 k1 / n)
//   y(k2, k1) = Σ_j2 e^(± 2 pi i j2 k2 / n2) b(j2, k1)
// The data are the stationary operand of the first product, which so turns them: j2 is on the partitions then, where
// the second product needs it. Its result lies as it is stored. Short factors share the 128 partitions: P = 128 / n1
// rows of the matrix in the first product, Q = 128 / n2 in the second, through tables that are block diagonal.
//
// Real rows take less than half the products: they are real operands of the first one, of which k1 = 0 … n1 / 2 are
// enough. Of those the results of k2 < n2 / 2 are numbers of half a spectrum, and of the others conjugates of the rest:
// a table puts them on partitions from 64 on, the other way round. Rows of half a spectrum take half: both parts of a
// number share the partitions in the first product, and the last one has real results.
#pragma once

#include "kernels/blas/product_block.h"
#include "kernels/blas/split.h"
#include "kernels/fft/table.h"
#include "kernels/fft/warm_up.h"

namespace kiln::kernels {

enum class Spectrum : std::uint8_t {
  whole,    // complex rows in and out
  forward,  // real rows in, n / 2 + 1 complex numbers out
  inverse,  // n / 2 + 1 complex numbers in, real rows out
};

struct TwoFactorConfig {
  std::int64_t n1 = 1, n2 = 1;
  Spectrum spectrum = Spectrum::whole;
  bool positive = false;    // the sign of the exponent; `inverse` always has the positive one
  double scale = 1;         // of the result
  bool by_columns = false;  // the result is stored transposed; `whole` only
  bool folded = false;      // rows of a real transform, as run_folded has them; `whole` only
  std::string prefix = {};  // of the names of tables
  std::int64_t rows = 128;  // of the matrix: tables have no room for more than come
  Precision precision = Precision::native;
  // Real rows of x, or of y, that follow each other are the parts of a row; `whole` only, not by columns.
  bool parts_come = false, parts_go = false;
  std::string filter = {};    // the table that filter_table makes, of what results are multiplied with; as parts_come
  bool middle_first = false;  // middle numbers of real rows, which many rows take long to store, before the others
  std::int64_t warm_up = 0;   // columns of zeros before the first product (warm_up.h)

  std::int64_t n() const { return n1 * n2; }
  std::int64_t p() const {
    return folded && !by_columns ? 1 : std::clamp<std::int64_t>(rows, 1, std::max<std::int64_t>(1, 128 / n1));
  }
  std::int64_t q() const;
  // Of half a spectrum that comes: whole rows of n1, and what is left.
  std::int64_t half_rows() const { return (n() / 2 + 1) / n1; }
  std::int64_t half_rest() const { return (n() / 2 + 1) % n1; }
};

// (re, im) w for numbers in two tiles [partitions, width], PSUM or SBUF, and factors as pairs; the result is pairs too.
isa::View times_pairs(isa::Kernel& k, const isa::View& re, const isa::View& im, const isa::View& w);
void times_pairs(isa::Kernel& k, const isa::View& out, const isa::View& re, const isa::View& im, const isa::View& w);

// Whether there is such a kernel: factors of at most 128, n2 more than one where results are half a spectrum, and at
// least a whole row of n1 where operands are. Folded rows have an even factor where they are cut: n2 by columns, else
// n1.
bool is_possible(const TwoFactorConfig& config);

Tables two_factor_tables(const TwoFactorConfig& config);
// What result k is multiplied with.
Table filter_table(const TwoFactorConfig& config, const std::function<Complex(std::int64_t)>& factor);

class TwoFactor {
 public:
  // Declares the tables and loads them.
  TwoFactor(isa::Kernel& k, const TwoFactorConfig& config);
  // y = the transforms of the rows of x, in HBM. Complex numbers are neighbours: [rows, 2 n], half a spectrum
  // [rows, 2 (n / 2 + 1)], real rows [rows, n]; by columns y is [n, 2 rows].
  void run(const isa::View& x, const isa::View& y) const;
  // By columns, with real and imaginary parts in matrices of their own, [n, rows] each.
  void run_to_planes(const isa::View& x, const isa::View& re, const isa::View& im) const;
  // The same of one row for some of the numbers that a run of results has: k1 of results k1 + n1 k2, or j2 of real ones
  // j1 n2 + j2; not by columns. piece_of_core has those of one of two cores.
  void run(const isa::View& x, const isa::View& y, const Piece& some) const { natural(x, y, some); }
  Piece piece_of_core(int core) const;

  // The rows k0 = 0 … n0 / 2 of a real transform of length n0 n. Their numbers k < n / 2 are k0 + n0 k of half a
  // spectrum, in order; the others are the conjugates of n0 (n - k) - k0. By columns: x [n0 / 2 + 1, 2 n] to row `row`
  // of half spectra, a whole tensor [rows, n0 n + 2] or known rows of it.
  void run_to_folded(const isa::View& x, const isa::View& y, const isa::Index& row, std::int64_t n0) const {
    run_to_folded(x, y, row, n0, {0, c_.n1});
  }
  // The same for some k1 of numbers k = k1 + n1 k2.
  void run_to_folded(const isa::View& x, const isa::View& y, const isa::Index& row, std::int64_t n0,
                     const Piece& k1) const;
  // Else: such a row to y [n0 / 2 + 1, 2 n], times factors of the same shape.
  void run_from_folded(const isa::View& x, const isa::Index& row, const isa::View& y, const isa::View& factors,
                       std::int64_t n0) const {
    run_from_folded(x, row, y, factors, n0, {0, n0 / 2 + 1});
  }
  // The same for some k0.
  void run_from_folded(const isa::View& x, const isa::Index& row, const isa::View& y, const isa::View& factors,
                       std::int64_t n0, const Piece& k0) const;

 private:
  // u q p rows of the matrix that are computed together.
  struct Share {
    std::int64_t u, q, p;
    std::int64_t rows() const { return u * q * p; }
    // Of half a spectrum two groups have room on the partitions side by side.
    std::int64_t halves() const { return u % 2 == 0 ? 2 : 1; }
  };
  void shares(const isa::Index& first, std::int64_t rows,
              const std::function<void(const isa::Index&, const Share&)>& body) const;
  void tapered_shares(std::int64_t rows, const std::function<void(const isa::Index&, const Share&)>& body) const;
  void load_late() const;
  std::vector<isa::View> load_parts(const isa::View& x, const Share& s) const;
  void second_filtered(const isa::View& out, const isa::View& b, const Share& s, const Piece& some) const;
  void second_to_parts(const isa::View& y, const isa::View& b, const Share& s) const;
  void natural(const isa::View& x, const isa::View& y, const Piece& some) const;
  void turned(const isa::View& x, const isa::View& y) const;
  std::vector<isa::View> load(const isa::View& x, const Share& s) const;
  isa::View load_folded(const isa::View& x, const isa::Index& row, std::int64_t n0, const Piece& rows) const;
  void turn(const isa::View& to, const isa::View& raw) const;
  isa::View load_half(const isa::View& x, const Share& s) const;
  void weigh(const isa::View& tile, std::int64_t first) const;
  isa::View first(const std::vector<isa::View>& parts, const Share& s, const Piece& some) const;
  void add(const isa::View& sum, const Parts& stationary, const Parts& moving) const {
    add_products(k_, sum, stationary, moving, c_.precision);
  }
  void first(const std::vector<isa::View>& parts, const Share& s, const isa::View& b, const Piece& some) const;
  void fold(const isa::View& b, const isa::View& y, const isa::Index& row, std::int64_t n0, std::int64_t k1) const;
  void twiddle(const isa::View& to, const isa::View& sum, std::int64_t many, const Piece& some) const;
  void add_middle(const isa::View& out, const isa::View& from, const isa::View& middle, const Piece& some) const;
  isa::View load_middle(const isa::View& x, const Share& s) const;
  void second(const isa::View& out, const isa::View& b, const Share& s, const isa::View& middle,
              const Piece& some) const;
  void second_sums(const isa::View& b, bool real, const std::function<void(int, const isa::View&)>& away) const;
  isa::View second_half(const isa::View& b, const Share& s, const Piece& some) const;
  Piece mirror_images(const Piece& some) const;
  void store_half(const isa::View& y, const isa::View& out, const Share& s, const Piece& some) const;
  void store_middle(const isa::View& y, const isa::View& b, const Share& s, const Piece& some) const;
  void store(const isa::View& y, const isa::View& out, const Share& s, const Piece& some) const;
  isa::View places(const isa::View& y, const Share& s, const Piece& some, std::int64_t parts = 2) const;
  Piece whole() const;  // all of the numbers that a run of results has

  isa::Kernel& k_;
  TwoFactorConfig c_;
  WarmUp warm_up_;
  Parts first_[2], second_[4], middle_;  // of real numbers and imaginary ones
  isa::View late_to_, late_from_;
  mutable bool has_late_ = false;
  isa::View filter_, cosine_, sine_, weight_, keep_, zero_, alternating_;
};

}  // namespace kiln::kernels
