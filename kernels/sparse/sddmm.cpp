#include "kernels/sparse/sddmm.h"

#include "kernels/blas/config_rules.h"
#include "kernels/blas/dtypes.h"

namespace kiln::kernels {
using namespace isa;

namespace {

constexpr std::int64_t kChunk = 2048;  // of n, in SBUF at once
constexpr std::int64_t kLoadSlots = 512;

// One slot: out [rows, 1] += the products of x with the gathered rows of y.
void add_slot(Kernel& k, const View& out, const View& x, const View& y, const View& where, const Index& n0) {
  const std::int64_t rows = x.dim(0), n = x.dim(1);
  const View gathered = k.sbuf({rows, n}, f32), part = k.sbuf({rows, 1}, f32);
  k.dma_copy({.dst = gathered, .src = y(all, ds(n0, n)).vector_offset(where)});
  k.tensor_tensor({.dst = gathered, .data1 = gathered, .data2 = x, .op = AluOp::multiply});
  k.tensor_reduce({.dst = part, .op = AluOp::add, .data = gathered, .axis = {1}});
  k.tensor_tensor({.dst = out, .data1 = out, .data2 = part, .op = AluOp::add});
}

}  // namespace

Program sddmm(const SddmmConfig& c, Target target) {
  require_sizes("sddmm", {c.rows, c.columns, c.n, c.buckets.slot_count});
  Kernel k("sddmm", target);
  const auto count = static_cast<std::int64_t>(c.buckets.buckets.size());
  const View indices = k.input("indices", {kTile, count + c.buckets.slot_count}, DType::int32);
  const View x = k.input("x", {c.rows, c.n}, f32), y = k.input("y", {c.columns, c.n}, f32);
  const View out = k.output("values", {kTile, c.buckets.slot_count}, f32);
  std::int64_t slot = 0, number = 0;
  for (const RowBuckets::Bucket& bucket : c.buckets.buckets) {
    const std::int64_t first = number++;
    if (bucket.runs.empty()) continue;
    const View where = k.sbuf({bucket.rows, 1}, DType::int32);
    k.dma_copy({.dst = where, .src = indices(ds(0, bucket.rows), ds(first, 1))});
    for (const auto& window : bucket.windows(kLoadSlots)) {
      const View index = k.sbuf({bucket.rows, window.slots}, DType::int32), values = k.sbuf({kTile, window.slots}, f32);
      k.dma_copy({.dst = index, .src = indices(ds(0, bucket.rows), ds(count + slot + window.first, window.slots))});
      k.memset({.dst = values, .value = 0.0});
      k.tiles(c.n, kChunk, [&](Index n0, std::int64_t n) {
        const View mine = k.sbuf({bucket.rows, n}, f32);
        k.dma_copy({.dst = mine, .src = x(all, ds(n0, n)).vector_offset(where)});
        std::int64_t done = 0;
        for (const RowBuckets::Run& run : window.runs) {
          k.loop(run.slots, [&](Index s) {
            const Slice rows = ds(0, run.rows), at = ds(s + done, 1);
            add_slot(k, values(rows, at), mine(rows), y, index(rows, at), n0);
          });
          done += run.slots;
        }
      });
      k.dma_copy({.dst = out(all, ds(slot + window.first, window.slots)), .src = values});
    }
    slot += bucket.slots();
  }
  return k.finish();
}

}  // namespace kiln::kernels
