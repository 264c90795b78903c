#include "kernels/blas/split.h"

#include <cmath>

#include "kernels/blas/product_block.h"

namespace kiln::kernels {
using namespace isa;

int parts_of(Precision precision) {
  return precision == Precision::bf16x6 ? 3 : precision == Precision::bf16x3 ? 2 : 1;
}

DType part_dtype(Precision precision, DType dtype) { return precision == Precision::native ? dtype : DType::bfloat16; }

std::vector<std::pair<int, int>> products_of(Precision precision) {
  const int parts = parts_of(precision);
  std::vector<std::pair<int, int>> products;
  for (int order = parts - 1; order >= 0; --order) {
    for (int i = 0; i <= order; ++i) products.emplace_back(i, order - i);
  }
  return products;
}

double product_error(Precision precision) {
  if (precision == Precision::native) return 0;
  const int parts = parts_of(precision);
  return (parts + 1) * std::ldexp(1.0, -8 * parts);
}

void split(Kernel& k, const View& x, const std::vector<View>& parts) {
  evict(k, parts[0], x, 1);
  View rest = x;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const bool is_last = i + 1 == parts.size();
    const View left = is_last ? parts[i] : k.sbuf(x.shape(), DType::float32);
    k.tensor_tensor(
        {.dst = left, .data1 = rest, .data2 = parts[i - 1], .op = AluOp::subtract, .engine = Engine::vector});
    if (!is_last) evict(k, parts[i], left, 1);
    rest = left;
  }
}

}  // namespace kiln::kernels
