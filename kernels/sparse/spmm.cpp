#include "kernels/sparse/spmm.h"

#include <set>

#include "kernels/blas/config_rules.h"
#include "kernels/blas/dtypes.h"
#include "kernels/blas/epilogue.h"
#include "kernels/sparse/resident_rows.h"

namespace kiln::kernels {
using namespace isa;

namespace {

constexpr std::int64_t kLoadTiles = 8, kLoadSlots = 512;

class SpmmLoops {
 public:
  SpmmLoops(Kernel& k, const SpmmConfig& c) : k_(k), c_(c), epilogue_(k, c.alpha, c.beta) {
    const RowBuckets& b = c.buckets;
    indices_ = k.input("indices", {kTile, buckets() + b.slot_count}, DType::int32);
    if (b.slot_count > 0) values_ = k.input("values", {kTile, b.slot_count}, f32);
    if (b.tile_count > 0) blocks_ = k.input("blocks", {kTile, b.tile_count, kTile}, f32);
    b_ = k.input("b", {c.columns, c.n}, f32);
    if (epilogue_.reads_c()) from_ = k.input("c_in", {c.rows, c.n}, f32);
    to_ = k.output("c", {c.rows, c.n}, f32);
  }

  void run() {
    std::set<std::int64_t> used;
    for (const auto& bucket : c_.buckets.buckets) used.insert(bucket.tiles.begin(), bucket.tiles.end());
    k_.tiles(c_.n, kWide, [&](Index n0, std::int64_t n) {
      ResidentRows rows(k_, b_, n0, n, static_cast<std::int64_t>(used.size()));
      std::int64_t slot = 0, tile = 0, number = 0;
      for (const RowBuckets::Bucket& bucket : c_.buckets.buckets) {
        multiply(bucket, {slot, tile, number++}, rows, n0, n);
        slot += bucket.slots();
        tile += static_cast<std::int64_t>(bucket.tiles.size());
      }
    });
  }

 private:
  struct First {
    std::int64_t slot, tile, bucket;
  };

  std::int64_t buckets() const { return static_cast<std::int64_t>(c_.buckets.buckets.size()); }

  void multiply(const RowBuckets::Bucket& bucket, const First& first, ResidentRows& rows, const Index& n0,
                std::int64_t n) {
    const bool is_in_psum = bucket.runs.empty() && !bucket.tiles.empty();
    View sum = bucket.tiles.empty() ? View() : in_blocks(bucket, first.tile, rows, n);
    if (!is_in_psum) sum = in_slots(bucket, first, sum, n0, n);
    View where;
    if (bucket.first_row < 0) {
      where = k_.sbuf({bucket.rows, 1}, DType::int32);
      k_.dma_copy({.dst = where, .src = indices_(ds(0, bucket.rows), ds(first.bucket, 1))});
    }
    const auto in_memory = [&](const View& matrix) {
      return bucket.first_row < 0 ? matrix(all, ds(n0, n)).vector_offset(where)
                                  : matrix(ds(bucket.first_row, bucket.rows), ds(n0, n));
    };
    View c, out = sum;
    if (epilogue_.reads_c()) {
      c = k_.sbuf({bucket.rows, n}, f32);
      k_.dma_copy({.dst = c, .src = in_memory(from_)});
    }
    if (!epilogue_.is_plain() || is_in_psum) {
      out = k_.sbuf({bucket.rows, n}, f32);
      epilogue_.apply(out, sum, c, static_cast<std::size_t>(first.bucket));
    }
    k_.dma_copy({.dst = in_memory(to_), .src = out});
  }

  View in_blocks(const RowBuckets::Bucket& bucket, std::int64_t first, ResidentRows& rows, std::int64_t n) {
    const View sum = k_.psum({kTile, kWide}, f32)(ds(0, bucket.rows), ds(0, n));
    const auto count = static_cast<std::int64_t>(bucket.tiles.size());
    for (std::int64_t e0 = 0; e0 < count; e0 += kLoadTiles) {
      const std::int64_t some = std::min(kLoadTiles, count - e0);
      const View chunk = k_.sbuf({kTile, some, kTile}, f32);
      k_.dma_copy({.dst = chunk, .src = blocks_(all, ds(first + e0, some))});
      for (std::int64_t i = 0; i < some; ++i) {
        const View moving = rows.tile(bucket.tiles[e0 + i]);
        k_.nc_matmul({.dst = sum, .stationary = chunk(ds(0, moving.dim(0)), i, ds(0, bucket.rows)), .moving = moving});
      }
    }
    return sum;
  }

  // What is gathered, with `begun` (or nothing) added.
  View in_slots(const RowBuckets::Bucket& bucket, const First& first, const View& begun, const Index& n0,
                std::int64_t n) {
    const View sum = k_.sbuf({bucket.rows, n}, f32);
    // The first slot begins the sum where it has all rows.
    bool is_begun = bucket.runs.empty() || bucket.runs.front().rows < bucket.rows;
    if (is_begun) k_.memset({.dst = sum, .value = 0.0});
    for (const auto& window : bucket.windows(kLoadSlots)) {
      const std::int64_t rows = window.runs.front().rows, slot = first.slot + window.first;
      const View index = k_.sbuf({rows, window.slots}, DType::int32), values = k_.sbuf({rows, window.slots}, f32);
      k_.dma_copy({.dst = index, .src = indices_(ds(0, rows), ds(buckets() + slot, window.slots))});
      k_.dma_copy({.dst = values, .src = values_(ds(0, rows), ds(slot, window.slots))});
      std::int64_t done = 0;
      for (const RowBuckets::Run& run : window.runs) {
        const Slice active = ds(0, run.rows);
        const std::int64_t ahead = is_begun ? 0 : 1;
        if (!is_begun) add_slot(sum, index(all, ds(0, 1)), values(all, ds(0, 1)), n0, n, true);
        if (run.slots > ahead) {
          k_.loop(run.slots - ahead, [&](Index s) {
            const Slice at = ds(s + (done + ahead), 1);
            add_slot(sum(active), index(active, at), values(active, at), n0, n, false);
          });
        }
        is_begun = true;
        done += run.slots;
      }
    }
    if (begun.rank() > 0) k_.tensor_tensor({.dst = sum, .data1 = sum, .data2 = begun, .op = AluOp::add});
    return sum;
  }

  // sum [rows, n] += values times the rows of b that the index says; = for the first ones.
  void add_slot(const View& sum, const View& index, const View& values, const Index& n0, std::int64_t n,
                bool is_first) {
    const View gathered = k_.sbuf(sum.shape(), f32);
    k_.dma_copy({.dst = gathered, .src = b_(all, ds(n0, n)).vector_offset(index)});
    if (is_first)
      k_.tensor_scalar({.dst = sum, .data = gathered, .op0 = AluOp::multiply, .operand0 = values});
    else
      k_.scalar_tensor_tensor({.dst = sum,
                               .data = gathered,
                               .op0 = AluOp::multiply,
                               .operand0 = values,
                               .op1 = AluOp::add,
                               .operand1 = sum});
  }

  Kernel& k_;
  const SpmmConfig& c_;
  Epilogue epilogue_;
  View indices_, values_, blocks_, b_, from_, to_;
};

}  // namespace

Program spmm(const SpmmConfig& c, Target target) {
  require_sizes("spmm", {c.rows, c.columns, c.n});
  require_alpha("spmm", c.alpha);
  Kernel k("spmm", target);
  SpmmLoops(k, c).run();
  return k.finish();
}

}  // namespace kiln::kernels
