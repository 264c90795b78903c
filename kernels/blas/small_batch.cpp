#include "kernels/blas/small_batch.h"

#include <algorithm>

#include "kernels/blas/turned_load.h"

namespace kiln::kernels {
using namespace isa;

namespace {

constexpr std::int64_t kGroupBytes = 1024;  // of a partition, for an operand of a group

class SmallBatch {
 public:
  SmallBatch(Kernel& k, const BatchedGemmConfig& config, const Epilogue& epilogue)
      : k_(k), c_(config.each), epilogue_(epilogue), rows_(whole_pieces(c_.m, kTile)) {
    const std::int64_t widest = std::max(c_.m, c_.n) * size_bytes(c_.dtype) * tiles_of(c_.k, kTile);
    group_ = std::clamp<std::int64_t>(4 * kGroupBytes / widest, 1, config.batch);
    interleaved_ = c_.m % kTile == 0;
  }

  void run(std::int64_t batch, const View& a, const View& b, const View& from, const View& to) {
    k_.tiles(batch, group_, [&](Index first, std::int64_t count) {
      const View left = load(a, c_.trans_a, first, count, c_.m), right = load(b, !c_.trans_b, first, count, c_.n);
      const View out = k_.sbuf({std::min(kTile, c_.m), count, tiles(), c_.n}, c_.c_dtype());
      View old;
      if (epilogue_.reads_c()) {
        old = k_.sbuf({std::min(kTile, c_.m), count, tiles(), c_.n}, c_.c_dtype());
        move(old, from, first, count, true);
      }
      for (std::int64_t i = 0; i < count; ++i) multiply(i, left, right, out, old);
      move(out, to, first, count, false);
    });
  }

 private:
  std::int64_t tiles() const { return static_cast<std::int64_t>(rows_.size()); }

  // [128, tiles of K, count * x]: an operand of a group, side by side.
  View load(const View& from, bool k_first, const Index& first, std::int64_t count, std::int64_t x) {
    const View tile = chunk_tile(k_, c_.k, count * x, c_.dtype);
    if (!k_first) {  // the rows of all products follow each other
      load_chunk(k_, tile, {from.flatten_dims(0, 1), false}, 0, c_.k, first * x, count * x);
      return tile;
    }
    for (const Piece& p : whole_pieces(c_.k, kTile)) {
      const View to = tile(ds(0, p.size), p.start / kTile).reshape_dim(1, {count, x});
      k_.dma_copy({.dst = to, .src = from(ds(first, count), ds(p.start, p.size)).permute({1, 0, 2})});
    }
    return tile;
  }

  // Rows of a tile of the result, within those of its product.
  Slice rows_of(std::int64_t product, std::size_t tile) const {
    if (interleaved_) return ds(product * c_.m + static_cast<std::int64_t>(tile), kTile, tiles());
    return ds(product * c_.m + rows_[tile].start, rows_[tile].size);
  }

  void multiply(std::int64_t i, const View& left, const View& right, const View& out, const View& old) {
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      const std::int64_t height = rows_[r].size, row = static_cast<std::int64_t>(r);
      const View sum = k_.psum({kTile, kWide}, DType::float32)(ds(0, height), ds(0, c_.n));
      for (const Piece& p : whole_pieces(c_.k, kTile)) {
        const Slice partitions = ds(0, p.size);
        k_.nc_matmul({.dst = sum,
                      .stationary = left(partitions, p.start / kTile, rows_of(i, r)),
                      .moving = right(partitions, p.start / kTile, ds(i * c_.n, c_.n))});
      }
      const auto part = [&](const View& v) { return v(ds(0, height), i, row); };
      epilogue_.apply(part(out), sum, epilogue_.reads_c() ? part(old) : View(), static_cast<std::size_t>(i) + r);
    }
  }

  // Between a tile [128, count, tiles, n] and the results of a group in memory.
  void move(const View& tile, const View& memory, const Index& first, std::int64_t count, bool loads) {
    const View c = memory(ds(first, count));
    const auto copy = [&](const View& chip, const View& hbm) {
      k_.dma_copy({.dst = loads ? chip : hbm, .src = loads ? hbm : chip});
    };
    if (interleaved_) return copy(tile, c.reshape_dim(1, {kTile, tiles()}).permute({1, 0, 2, 3}));
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      const View rows = c(all, ds(rows_[r].start, rows_[r].size)).permute({1, 0, 2});
      copy(tile(ds(0, rows_[r].size), all, static_cast<std::int64_t>(r)), rows);
    }
  }

  Kernel& k_;
  const GemmConfig& c_;
  const Epilogue& epilogue_;
  std::vector<Piece> rows_;
  std::int64_t group_;
  bool interleaved_;
};

}  // namespace

bool is_small_batch(const BatchedGemmConfig& config) {
  const GemmConfig& c = config.each;
  return c.m <= kWide && c.n <= kWide && c.k <= kWide && c.precision == Precision::native && !config.shares_a &&
         !config.shares_b && c.blocking.m_tiles + c.blocking.n_tiles + c.blocking.k_tiles == 0;
}

void multiply_small(Kernel& k, const BatchedGemmConfig& config, const Epilogue& epilogue, const View& a, const View& b,
                    const View& from, const View& to) {
  SmallBatch(k, config, epilogue).run(config.batch, a, b, from, to);
}

}  // namespace kiln::kernels
