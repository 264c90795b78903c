// Product of a matrix and a vector, 128 rows of the result at a time, one per partition. Rows of the matrix that lie
// along the sum are multiplied by the vector engine with x on every partition; rows that lie across it are the
// stationary operand of the tensor engine, which needs no transposed load. Of a triangle only its tiles are read; a
// symmetric matrix is its triangle and, transposed, the same without the diagonal.
#include "kernels/blas/level2/result_column.h"

namespace kiln::kernels {
using namespace isa;
namespace {

constexpr std::int64_t kRows = 128, kWidth = 1024;

// One triangle, or all, of the stored matrix, as it is or transposed.
struct Part {
  bool transpose, conjugate;
  bool is_triangle;
  bool lower = false;  // of op(A)
  enum { whole, none, unit } diagonal = whole;
  bool real_diagonal = false;  // hermitian: imaginary parts of the diagonal do not count
};

std::vector<Part> parts_of(const MatvecConfig& c) {
  const bool lower = c.triangle == Triangle::lower;
  switch (c.structure) {
    case Structure::general:
      return {{c.transpose, c.conjugate, false}};
    case Structure::triangular:
      return {{c.transpose, c.conjugate, true, lower != c.transpose}};
    case Structure::unit_triangular:
      return {{c.transpose, c.conjugate, true, lower != c.transpose, Part::unit}};
    default: {
      const bool hermitian = c.structure == Structure::hermitian;
      // With `conjugate`, the conjugate of the whole matrix.
      return {{false, c.conjugate, true, lower, Part::whole, hermitian},
              {true, hermitian != c.conjugate, true, !lower, Part::none}};
    }
  }
}

class Matvec {
 public:
  Matvec(Kernel& k, const MatvecConfig& c)
      : k_(k),
        c_(c),
        planes_(c.x.planes()),
        a_(k.input("a", {c.rows, c.columns * planes_}, DType::float32)),
        x_(k.input("x", {c.x.storage()}, DType::float32)) {}

  // sums += the part's rows i0 … i0 + m times x.
  void add(const Part& part, const Index& i0, const View& sums) const {
    const std::int64_t m = sums.dim(0), length = part.transpose ? c_.rows : c_.columns;
    if (!part.is_triangle) return add_range(part, i0, 0, length, sums);
    const std::int64_t at = i0.constant();
    if (part.lower) {
      add_range(part, i0, 0, at, sums);
    } else {
      add_range(part, i0, at + m, length, sums);
    }
    add_diagonal(part, at, sums);
  }

 private:
  View element(const Index& row, const Index& column, std::int64_t rows, std::int64_t columns, int plane) const {
    const std::int64_t ld = c_.columns * planes_;
    return a_.ap({{ld, rows}, {planes_, columns}}, row * ld + column * planes_ + plane);
  }
  // Columns j0 … j0 + n of rows i0 … i0 + m of op(A): [m, n], or as stored [n, m].
  View load(const Part& part, const Index& i0, std::int64_t m, const Index& j0, std::int64_t n, int plane) const {
    const View tile = part.transpose ? k_.sbuf({n, m}, DType::float32) : k_.sbuf({m, n}, DType::float32);
    k_.dma_copy({.dst = tile, .src = part.transpose ? element(j0, i0, n, m, plane) : element(i0, j0, m, n, plane)});
    return tile;
  }
  View x_column(const Index& j0, std::int64_t n, int plane) const {
    const View column = k_.sbuf({n, 1}, DType::float32);
    k_.dma_copy({.dst = column, .src = tile_of(x_, c_.x, {j0, n, 1}, plane)});
    return column;
  }
  View x_rows(const Index& j0, std::int64_t n, std::int64_t m, int plane) const {
    const std::int64_t step = c_.x.inc * planes_;
    const View rows = k_.sbuf({m, n}, DType::float32);
    k_.dma_copy({.dst = rows, .src = x_.ap({{0, m}, {step, n}}, j0 * step + plane)});
    return rows;
  }

  void add_range(const Part& part, const Index& i0, std::int64_t from, std::int64_t to, const View& sums) const {
    if (from >= to) return;
    const std::int64_t m = sums.dim(0);
    if (!part.transpose) {
      k_.tiles(to - from, kWidth, [&](Index j, std::int64_t n) {
        add_rows(
            part, [&](int plane) { return load(part, i0, m, j + from, n, plane); }, j + from, n, sums);
      });
      return;
    }
    for (const PlaneTerm& t : plane_terms(planes_, part.conjugate)) {
      const View product = k_.psum({m, 1}, DType::float32);
      k_.tiles(to - from, kRows, [&](Index j, std::int64_t n) {
        k_.nc_matmul(
            {.dst = product, .stationary = load(part, i0, m, j + from, n, t.a), .moving = x_column(j + from, n, t.x)});
      });
      add_product(sums, t, product);
    }
  }

  void add_rows(const Part& part, const std::function<View(int)>& tile_of_plane, const Index& j0, std::int64_t n,
                const View& sums) const {
    std::vector<View> a, x;
    for (int p = 0; p < planes_; ++p) {
      a.push_back(tile_of_plane(p));
      x.push_back(x_rows(j0, n, sums.dim(0), p));
    }
    for (const PlaneTerm& t : plane_terms(planes_, part.conjugate)) {
      add_products(k_, sums, t.out, a[t.a], x[t.x], t.negate);
    }
  }

  void add_product(const View& sums, const PlaneTerm& t, const View& product) const {
    const View sum = sums(all, ds(t.out, 1));
    k_.tensor_tensor({.dst = sum, .data1 = sum, .data2 = product, .op = t.negate ? AluOp::subtract : AluOp::add});
  }

  // The tile [m, m] on the diagonal, zero outside of the triangle.
  View diagonal_tile(const Part& part, std::int64_t at, std::int64_t m, int plane) const {
    const View tile = load(part, at, m, at, m, plane), masked = k_.sbuf({m, m}, DType::float32);
    const bool strict = part.diagonal != Part::whole || (part.real_diagonal && plane == 1);
    // The tile is op(A) itself, or its transpose: lower where rows minus columns is not negative.
    const bool lower = part.lower != part.transpose;
    const std::int64_t sign = lower ? 1 : -1;
    k_.affine_select({.dst = masked,
                      .pattern = {{-sign, m}},
                      .channel_multiplier = sign,
                      .on_true_tile = tile,
                      .on_false_value = 0.0,
                      .cmp_op = strict ? AluOp::greater : AluOp::greater_equal});
    return masked;
  }

  void add_diagonal(const Part& part, std::int64_t at, const View& sums) const {
    const std::int64_t m = sums.dim(0);
    if (!part.transpose) {
      add_rows(
          part, [&](int plane) { return diagonal_tile(part, at, m, plane); }, at, m, sums);
    } else {
      for (const PlaneTerm& t : plane_terms(planes_, part.conjugate)) {
        const View product = k_.psum({m, 1}, DType::float32);
        k_.nc_matmul({.dst = product, .stationary = diagonal_tile(part, at, m, t.a), .moving = x_column(at, m, t.x)});
        add_product(sums, t, product);
      }
    }
    if (part.diagonal != Part::unit) return;
    for (int p = 0; p < planes_; ++p) {
      const View sum = sums(all, ds(p, 1));
      k_.tensor_tensor({.dst = sum, .data1 = sum, .data2 = x_column(at, m, p), .op = AluOp::add});
    }
  }

  Kernel& k_;
  const MatvecConfig& c_;
  int planes_;
  View a_, x_;
};

}  // namespace

Program matvec(const MatvecConfig& c, Target target) {
  Kernel k("matvec", target);
  const int planes = c.x.planes();
  const std::int64_t length = c.transpose ? c.columns : c.rows;
  const Matvec product(k, c);
  const ResultColumn result(k, length, planes, c.beta);
  const std::vector<Part> parts = parts_of(c);
  const auto block = [&](const Index& i0, std::int64_t m) {
    const View sums = zero_column(k, m, planes);
    for (const Part& part : parts) product.add(part, i0, sums);
    result.store(sums, i0);
  };
  if (c.structure == Structure::general) {
    k.tiles(length, kRows, block);
  } else {
    // How many tiles a row of a triangle has depends on the row, so each block of rows is a statement of its own.
    for (std::int64_t i0 = 0; i0 < length; i0 += kRows) block(i0, std::min(kRows, length - i0));
  }
  return k.finish();
}

}  // namespace kiln::kernels
