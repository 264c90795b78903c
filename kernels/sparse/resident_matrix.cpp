#include "kernels/sparse/resident_matrix.h"

#include "kernels/blas/dtypes.h"
#include "kernels/sparse/attention_parts.h"

namespace kiln::kernels {
using namespace isa;

namespace {
constexpr std::int64_t kStays = 128 * 1024;  // bytes of a partition
constexpr std::int64_t kLoadTiles = 16;      // in one DMA, where they do not stay
}  // namespace

ResidentMatrix::ResidentMatrix(Kernel& k, const std::string& name, const TilePattern& p) : k_(k), p_(p) {
  if (p.count() == 0) return;
  blocks_ = k.input(name, {kTile, p.count(), kTile}, f32);
  if (p.count() * kTile * 4 > kStays) return;
  for (std::int64_t r = 0; r < p.tile_rows(); ++r) {
    const std::int64_t first = p.row_start[r], count = p.row_start[r + 1] - first;
    if (count == 0) {
      rows_.emplace_back();
      continue;
    }
    const View row = k.sbuf({kTile, count, kTile}, f32);
    k.dma_copy({.dst = row, .src = blocks_(all, ds(first, count))});
    rows_.push_back(row);
  }
}

void ResidentMatrix::multiply(const View& y, const View& x) const {
  const View sums = k_.psum({kTile, kWide}, f32);
  for (std::int64_t r = 0; r < p_.tile_rows(); ++r) {
    const std::int64_t first = p_.row_start[r], count = p_.row_start[r + 1] - first, height = p_.height(r);
    const View sum = sums(ds(0, height), ds(r % kWide, 1)), to = y(ds(0, height), ds(r, 1));
    if (count == 0) {
      k_.memset({.dst = to, .value = 0.0});
      continue;
    }
    View row = rows_.empty() ? View() : rows_[r];
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t c = p_.column[first + i], part = rows_.empty() ? i % kLoadTiles : i;
      if (rows_.empty() && part == 0) {
        const std::int64_t some = std::min(kLoadTiles, count - i);
        row = k_.sbuf({kTile, some, kTile}, f32);
        k_.dma_copy({.dst = row, .src = blocks_(all, ds(first + i, some))});
      }
      const Slice depth = ds(0, p_.width(c));
      k_.nc_matmul({.dst = sum,
                    .stationary = row(depth, part, ds(0, height)),
                    .moving = x(depth, ds(c, 1)),
                    .accumulate = i > 0});
    }
    evict(k_, to, sum, static_cast<std::size_t>(r));
  }
}

VectorMath::VectorMath(Kernel& k, std::int64_t n) : k_(k), n_(n), tiles_(tiles_of(n, kTile)) {
  ones_ = k.sbuf({kTile, kTile}, f32);
  k.memset({.dst = ones_, .value = 1.0});
}

View VectorMath::vector() const {
  const View v = k_.sbuf({kTile, tiles_}, f32);
  k_.memset({.dst = v, .value = 0.0});
  return v;
}

View VectorMath::scalar() const { return k_.sbuf({kTile, 1}, f32); }

View VectorMath::load(const View& from) const {
  const View v = vector();
  for_vector(from, n_, [&](const View& memory, const Slice& partitions, const Slice& tiles) {
    k_.dma_copy({.dst = v(partitions, tiles), .src = memory});
  });
  return v;
}

void VectorMath::store(const View& to, const View& from) const {
  for_vector(to, n_, [&](const View& memory, const Slice& partitions, const Slice& tiles) {
    k_.dma_copy({.dst = memory, .src = from(partitions, tiles)});
  });
}

void VectorMath::dot(const View& to, const View& x, const View& y) const {
  const View products = k_.sbuf({kTile, tiles_}, f32), part = scalar(), sum = k_.psum({kTile, 1}, f32);
  k_.tensor_tensor({.dst = products, .data1 = x, .data2 = y, .op = AluOp::multiply});
  k_.tensor_reduce({.dst = part, .op = AluOp::add, .data = products, .axis = {1}});
  k_.nc_matmul({.dst = sum, .stationary = ones_, .moving = part, .accumulate = false});  // to all partitions
  k_.tensor_copy({.dst = to, .src = sum});
}

void VectorMath::add(const View& to, const View& x, const View& factor, const View& y, bool minus) const {
  k_.scalar_tensor_tensor({.dst = to,
                           .data = y,
                           .op0 = AluOp::multiply,
                           .operand0 = factor,
                           .op1 = minus ? AluOp::subtract : AluOp::add,
                           .operand1 = x,
                           .reverse1 = minus});
}

void VectorMath::divide(const View& to, const View& x, const View& y) const {
  const View inverse = scalar(), quotient = scalar(), rest = scalar();
  k_.reciprocal({.dst = inverse, .data = y});
  k_.tensor_tensor({.dst = quotient, .data1 = x, .data2 = inverse, .op = AluOp::multiply});
  // One correction, so that a quotient that is a number of float32 is that number.
  k_.tensor_tensor({.dst = rest, .data1 = quotient, .data2 = y, .op = AluOp::multiply});
  k_.tensor_tensor({.dst = rest, .data1 = x, .data2 = rest, .op = AluOp::subtract});
  k_.scalar_tensor_tensor(
      {.dst = to, .data = rest, .op0 = AluOp::multiply, .operand0 = inverse, .op1 = AluOp::add, .operand1 = quotient});
}

View VectorMath::spread(const View& row) const {
  const View tile = k_.sbuf({kTile, row.dim(1)}, f32);
  k_.dma_copy({.dst = tile, .src = row.broadcast(0, kTile)});
  return tile;
}

}  // namespace kiln::kernels
