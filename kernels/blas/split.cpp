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

void split(Kernel& k, const View& x, const Parts& parts) {
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

void split_chunk(Kernel& k, const View& chunk, std::int64_t rows, const Parts& parts) {
  const auto cut = [&](const Slice& partitions, const Slice& tiles) {
    Parts some;
    for (const View& part : parts) some.push_back(part(partitions, tiles));
    split(k, chunk(partitions, tiles), some);
  };
  if (rows / kTile > 0) cut(all, ds(0, rows / kTile));
  if (rows % kTile) cut(ds(0, rows % kTile), ds(rows / kTile, 1));
}

Parts parts_of_tile(Kernel& k, const View& x, Precision precision) {
  if (precision == Precision::native) return {x};
  Parts parts;
  for (int i = 0; i < parts_of(precision); ++i) parts.push_back(k.sbuf(x.shape(), DType::bfloat16));
  split(k, x, parts);
  return parts;
}

Parts parts_of_chunk(Kernel& k, const View& chunk, std::int64_t rows, Precision precision) {
  if (precision == Precision::native) return {chunk};
  Parts parts;
  for (int i = 0; i < parts_of(precision); ++i) parts.push_back(chunk_tile(k, rows, chunk.dim(2), DType::bfloat16));
  split_chunk(k, chunk, rows, parts);
  return parts;
}

void add_products(Kernel& k, const View& sum, const Parts& stationary, const Parts& moving, Precision precision,
                  std::optional<bool> accumulate) {
  for (const auto& [i, j] : products_of(precision)) {
    k.nc_matmul({.dst = sum, .stationary = stationary[i], .moving = moving[j], .accumulate = accumulate});
    if (accumulate) accumulate = true;  // the others add to the first
  }
}

}  // namespace kiln::kernels
