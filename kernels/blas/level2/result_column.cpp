#include "kernels/blas/level2/result_column.h"

namespace kiln::kernels {
using namespace isa;

ResultColumn::ResultColumn(Kernel& k, std::int64_t length, int planes, Scalar beta) : k_(k), beta_(beta) {
  scalars_ = broadcast_row(k, k.input("scalars", {1, 4}, DType::float32));
  if (beta != Scalar::zero) y_in_ = k.input("y_in", {length, planes}, DType::float32);
  y_ = k.output("y", {length, planes}, DType::float32);
}

// to = from times the scalar whose parts stand at `first`.
void ResultColumn::scale(const View& to, const View& from, int first) const {
  const std::int64_t m = from.dim(0);
  const View re = scalars_(ds(0, m), ds(first, 1)), im = scalars_(ds(0, m), ds(first + 1, 1));
  k_.tensor_scalar({.dst = to, .data = from, .op0 = AluOp::multiply, .operand0 = re});
  if (from.dim(1) == 1) return;
  const View cross = k_.sbuf({m, 2}, DType::float32);
  k_.tensor_scalar({.dst = cross, .data = from, .op0 = AluOp::multiply, .operand0 = im});
  const View to_re = to(all, ds(0, 1)), to_im = to(all, ds(1, 1));
  k_.tensor_tensor({.dst = to_re, .data1 = to_re, .data2 = cross(all, ds(1, 1)), .op = AluOp::subtract});
  k_.tensor_tensor({.dst = to_im, .data1 = to_im, .data2 = cross(all, ds(0, 1)), .op = AluOp::add});
}

void ResultColumn::store(const View& sums, const Index& i0) const {
  const std::int64_t m = sums.dim(0), planes = sums.dim(1);
  const View out = k_.sbuf({m, planes}, DType::float32);
  scale(out, sums, 0);
  if (beta_ != Scalar::zero) {
    View old = k_.sbuf({m, planes}, DType::float32);
    k_.dma_copy({.dst = old, .src = y_in_(ds(i0, m))});
    if (beta_ == Scalar::given) {
      const View scaled = k_.sbuf({m, planes}, DType::float32);
      scale(scaled, old, 2);
      old = scaled;
    }
    k_.tensor_tensor({.dst = out, .data1 = out, .data2 = old, .op = AluOp::add});
  }
  k_.dma_copy({.dst = y_(ds(i0, m)), .src = out});
}

View zero_column(Kernel& k, std::int64_t m, int planes) {
  const View column = k.sbuf({m, planes}, DType::float32);
  k.memset({.dst = column, .value = 0.0});
  return column;
}

void add_products(Kernel& k, const View& sums, int out, const View& a, const View& b, bool negate) {
  const View product = k.sbuf(a.shape(), DType::float32), part = k.sbuf({a.dim(0), 1}, DType::float32);
  k.tensor_tensor({.dst = product, .data1 = a, .data2 = b, .op = AluOp::multiply});
  k.tensor_reduce({.dst = part, .op = AluOp::add, .data = product, .axis = {1}});
  const View sum = sums(all, ds(out, 1));
  k.tensor_tensor({.dst = sum, .data1 = sum, .data2 = part, .op = negate ? AluOp::subtract : AluOp::add});
}

std::vector<PlaneTerm> plane_terms(int planes, bool conjugate) {
  if (planes == 1) return {{0, 0, 0, false}};
  return {{0, 0, 0, false}, {1, 1, 0, !conjugate}, {0, 1, 1, false}, {1, 0, 1, conjugate}};
}

}  // namespace kiln::kernels
