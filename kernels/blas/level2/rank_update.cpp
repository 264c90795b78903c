// Updates of rank one and two, 128 rows at a time: alpha x is a column, one element per partition, y a row on all
// partitions. Of a triangle only its tiles are touched; on the diagonal a predicate keeps the other side.
#include "kernels/blas/level2/result_column.h"

namespace kiln::kernels {
using namespace isa;
namespace {

constexpr std::int64_t kRows = 128, kWidth = 512;

// A += column(u, factor) row(v); `conjugate_v` of v, `conjugate_factor` of alpha.
struct Product {
  int u, v;
  bool conjugate_v, conjugate_factor;
};

class RankUpdate {
 public:
  RankUpdate(Kernel& k, const RankUpdateConfig& c)
      : k_(k), c_(c), planes_(c.x.planes()), columns_(c.has_y && c.structure == Structure::general ? c.y.n : c.x.n) {
    a_ = k.inout("a", {c.x.n, columns_ * planes_}, DType::float32);
    shapes_ = {c.x};
    vectors_ = {k.input("x", {c.x.storage()}, DType::float32)};
    if (c.has_y) {
      shapes_.push_back(c.y);
      vectors_.push_back(k.input("y", {c.y.storage()}, DType::float32));
    }
    scalars_ = broadcast_row(k, k.input("scalars", {1, 2}, DType::float32));
    if (c.structure == Structure::general) {
      products_ = {{0, 1, c.conjugate, false}};
    } else {
      const bool hermitian = c.structure == Structure::hermitian;
      const int y = c.has_y ? 1 : 0;
      products_ = {{0, y, hermitian, false}};
      if (c.has_y) products_.push_back({1, 0, hermitian, hermitian});
    }
  }

  void run() {
    if (c_.structure == Structure::general) {
      k_.tiles(c_.x.n, kRows, [&](Index i0, std::int64_t m) { block(i0, m, 0, columns_, columns_of(i0, m)); });
      return;
    }
    for (std::int64_t i0 = 0; i0 < c_.x.n; i0 += kRows) {
      const std::int64_t m = std::min(kRows, c_.x.n - i0);
      const std::vector<View> us = columns_of(i0, m);
      if (c_.triangle == Triangle::upper) {
        block(i0, m, i0 + m, columns_, us);
      } else {
        block(i0, m, 0, i0, us);
      }
      diagonal(i0, m, us);
    }
  }

 private:
  View a_view(const Index& i0, std::int64_t m, const Index& j0, std::int64_t n, int plane) const {
    const std::int64_t ld = columns_ * planes_;
    return a_.ap({{ld, m}, {planes_, n}}, i0 * ld + j0 * planes_ + plane);
  }
  // Per product, alpha u: [m, planes].
  std::vector<View> columns_of(const Index& i0, std::int64_t m) const {
    std::vector<View> out;
    for (const Product& p : products_) {
      const View u = k_.sbuf({m, planes_}, DType::float32), scaled = k_.sbuf({m, planes_}, DType::float32);
      for (int plane = 0; plane < planes_; ++plane) {
        k_.dma_copy({.dst = u(all, ds(plane, 1)), .src = tile_of(vectors_[p.u], shapes_[p.u], {i0, m, 1}, plane)});
      }
      const View re = scalars_(ds(0, m), ds(0, 1)), im = scalars_(ds(0, m), ds(1, 1));
      k_.tensor_scalar({.dst = scaled, .data = u, .op0 = AluOp::multiply, .operand0 = re});
      if (planes_ == 2) {
        const View cross = k_.sbuf({m, 2}, DType::float32);
        k_.tensor_scalar({.dst = cross, .data = u, .op0 = AluOp::multiply, .operand0 = im});
        const View s_re = scaled(all, ds(0, 1)), s_im = scaled(all, ds(1, 1));
        const AluOp minus = p.conjugate_factor ? AluOp::add : AluOp::subtract;
        const AluOp plus = p.conjugate_factor ? AluOp::subtract : AluOp::add;
        k_.tensor_tensor({.dst = s_re, .data1 = s_re, .data2 = cross(all, ds(1, 1)), .op = minus});
        k_.tensor_tensor({.dst = s_im, .data1 = s_im, .data2 = cross(all, ds(0, 1)), .op = plus});
      }
      out.push_back(scaled);
    }
    return out;
  }
  View row_of(const Product& p, const Index& j0, std::int64_t n, std::int64_t m, int plane) const {
    const VectorShape& shape = shapes_[p.v];
    const std::int64_t step = shape.inc * planes_;
    const View row = k_.sbuf({m, n}, DType::float32);
    k_.dma_copy({.dst = row, .src = vectors_[p.v].ap({{0, m}, {step, n}}, j0 * step + plane)});
    return row;
  }
  // tile += the products, in one plane.
  void update(const View& tile, int plane, const Index& j0, const std::vector<View>& us) const {
    for (std::size_t i = 0; i < products_.size(); ++i) {
      const Product& p = products_[i];
      // Complex x conj(y): the imaginary part of y counts with the other sign.
      for (const PlaneTerm& t : plane_terms(planes_, false)) {
        if (t.out != plane) continue;
        const bool negate = t.negate != (p.conjugate_v && t.x == 1);
        const View row = row_of(p, j0, tile.dim(1), tile.dim(0), t.x), u = us[i](all, ds(t.a, 1));
        if (!negate) {
          k_.scalar_tensor_tensor(
              {.dst = tile, .data = row, .op0 = AluOp::multiply, .operand0 = u, .op1 = AluOp::add, .operand1 = tile});
        } else {
          k_.scalar_tensor_tensor({.dst = tile,
                                   .data = row,
                                   .op0 = AluOp::multiply,
                                   .operand0 = u,
                                   .op1 = AluOp::subtract,
                                   .operand1 = tile,
                                   .reverse1 = true});
        }
      }
    }
  }
  void block(const Index& i0, std::int64_t m, std::int64_t from, std::int64_t to, const std::vector<View>& us) const {
    if (from >= to) return;
    k_.tiles(to - from, kWidth, [&](Index j, std::int64_t n) {
      for (int plane = 0; plane < planes_; ++plane) {
        const View tile = k_.sbuf({m, n}, DType::float32);
        k_.dma_copy({.dst = tile, .src = a_view(i0, m, j + from, n, plane)});
        update(tile, plane, j + from, us);
        k_.dma_copy({.dst = a_view(i0, m, j + from, n, plane), .src = tile});
      }
    });
  }
  // 1 in the triangle of a tile [m, m].
  View in_triangle(std::int64_t m) const {
    const View ones = k_.sbuf({m, m}, DType::float32), chosen = k_.sbuf({m, m}, DType::float32);
    const View predicate = k_.sbuf({m, m}, DType::uint8);
    const std::int64_t sign = c_.triangle == Triangle::lower ? 1 : -1;
    k_.memset({.dst = ones, .value = 1.0});
    k_.affine_select({.dst = chosen,
                      .pattern = {{-sign, m}},
                      .channel_multiplier = sign,
                      .on_true_tile = ones,
                      .on_false_value = 0.0,
                      .cmp_op = AluOp::greater_equal});
    k_.tensor_copy({.dst = predicate, .src = chosen});
    return predicate;
  }
  void diagonal(std::int64_t i0, std::int64_t m, const std::vector<View>& us) const {
    const View predicate = in_triangle(m);
    for (int plane = 0; plane < planes_; ++plane) {
      const View old = k_.sbuf({m, m}, DType::float32), fresh = k_.sbuf({m, m}, DType::float32);
      k_.dma_copy({.dst = old, .src = a_view(i0, m, i0, m, plane)});
      k_.tensor_copy({.dst = fresh, .src = old});
      update(fresh, plane, i0, us);
      View result = fresh;
      if (c_.structure == Structure::hermitian && plane == 1) {  // its diagonal is real
        result = k_.sbuf({m, m}, DType::float32);
        k_.affine_select({.dst = result,
                          .pattern = {{-1, m}},
                          .channel_multiplier = 1,
                          .on_true_tile = fresh,
                          .on_false_value = 0.0,
                          .cmp_op = AluOp::not_equal});
      }
      k_.tensor_copy_predicated({.dst = old, .src = result, .predicate = predicate});
      k_.dma_copy({.dst = a_view(i0, m, i0, m, plane), .src = old});
    }
  }

  Kernel& k_;
  const RankUpdateConfig& c_;
  int planes_;
  std::int64_t columns_;
  View a_, scalars_;
  std::vector<VectorShape> shapes_;
  std::vector<View> vectors_;
  std::vector<Product> products_;
};

}  // namespace

Program rank_update(const RankUpdateConfig& config, Target target) {
  Kernel k("rank_update", target);
  RankUpdate(k, config).run();
  return k.finish();
}

}  // namespace kiln::kernels
