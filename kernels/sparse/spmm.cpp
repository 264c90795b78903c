#include "kernels/sparse/spmm.h"

#include <algorithm>
#include <set>

#include "kernels/blas/config_rules.h"
#include "kernels/blas/dtypes.h"
#include "kernels/blas/epilogue.h"
#include "kernels/sparse/resident_rows.h"

namespace kiln::kernels {
using namespace isa;

namespace {

constexpr std::int64_t kLoadTiles = 8, kLoadSlots = 128;

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
      loaded_ = {0, 0};
      load_rows();
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

  void load_rows() {
    const auto lies_anywhere = [](const RowBuckets::Bucket& b) { return b.first_row < 0; };
    if (std::ranges::none_of(c_.buckets.buckets, lies_anywhere)) return;
    rows_ = k_.sbuf({kTile, buckets()}, DType::int32);
    k_.dma_copy({.dst = rows_, .src = indices_(all, ds(0, buckets()))});
  }

  void multiply(const RowBuckets::Bucket& bucket, const First& first, ResidentRows& rows, const Index& n0,
                std::int64_t n) {
    const bool is_in_psum = bucket.runs.empty() && !bucket.tiles.empty();
    View sum = bucket.tiles.empty() ? View() : in_blocks(bucket, first.tile, rows, n);
    if (!is_in_psum) sum = in_slots(bucket, first, sum, n0, n);
    const auto in_memory = [&](const View& matrix) {
      return bucket.first_row < 0 ? matrix(all, ds(n0, n)).vector_offset(rows_(ds(0, bucket.rows), ds(first.bucket, 1)))
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
    std::int64_t slot = first.slot;
    for (const RowBuckets::Run& run : bucket.runs) {
      const Slice active = ds(0, run.rows);
      for (std::int64_t left = run.slots; left > 0;) {
        load_slots(slot, first.slot + bucket.slots());
        const std::int64_t at = slot - loaded_.start, some = is_begun ? std::min(left, loaded_.size - at) : 1;
        const auto add = [&](const Index& s) { add_slot(sum(active), ds(s + at, 1), n0, n, is_begun); };
        some > 1 ? k_.loop(some, add) : add(0);
        is_begun = true;
        slot += some, left -= some;
      }
    }
    if (begun.rank() > 0) k_.tensor_tensor({.dst = sum, .data1 = sum, .data2 = begun, .op = AluOp::add});
    return sum;
  }

  // Columns and values of slots of all buckets come many at a time.
  void load_slots(std::int64_t slot, std::int64_t end) {
    if (loaded_.start <= slot && slot < loaded_.start + loaded_.size) return;
    const std::int64_t start = slot;
    loaded_ = {start, std::min(kLoadSlots, end - start)};
    slot_columns_ = k_.sbuf({kTile, loaded_.size}, DType::int32);
    slot_values_ = k_.sbuf({kTile, loaded_.size}, f32);
    k_.dma_copy({.dst = slot_columns_, .src = indices_(all, ds(buckets() + start, loaded_.size))});
    k_.dma_copy({.dst = slot_values_, .src = values_(all, ds(start, loaded_.size))});
  }

  // sum [rows, n] += values of a slot times the rows of b that it says; = for the first one.
  void add_slot(const View& sum, const Slice& slot, const Index& n0, std::int64_t n, bool is_begun) {
    const Slice rows = ds(0, sum.dim(0));
    const View gathered = k_.sbuf(sum.shape(), f32), values = slot_values_(rows, slot);
    k_.dma_copy({.dst = gathered, .src = b_(all, ds(n0, n)).vector_offset(slot_columns_(rows, slot))});
    if (!is_begun)
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
  // In SBUF, of the columns of c that are computed: rows of all buckets, and of some slots their columns and values.
  View rows_, slot_columns_, slot_values_;
  Piece loaded_{0, 0};
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
