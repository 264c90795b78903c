#include "tests/kernels/programs.h"

#include "kernels/sparse/attention.h"
#include "kernels/sparse/bsr_sddmm.h"
#include "kernels/sparse/bsr_spmm.h"
#include "kernels/sparse/screened_spmm.h"
#include "kernels/sparse/sddmm.h"
#include "kernels/sparse/solvers.h"
#include "kernels/sparse/spgemm.h"
#include "kernels/sparse/spmm.h"
#include "kernels/sparse/spmv.h"

namespace kiln::kernels::test {
namespace {

// Three rows of tiles, the second of which is empty.
TilePattern tiles(std::int64_t rows, std::int64_t columns) {
  return {.rows = rows, .columns = columns, .row_start = {0, 2, 2, 4}, .column = {0, 2, 1, 2}};
}

// Rows of very different lengths: some elements in slots, and some in a tile that the tensor engine takes.
RowBuckets buckets(std::int64_t rows, std::int64_t columns, BucketUse use, Target t) {
  std::vector<std::int64_t> start{0}, column;
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t step = r < 64 ? 1 : 1 + r % 90;
    for (std::int64_t c = r % 7; c < std::min(columns, 40 * step); c += step) column.push_back(c);
    start.push_back(static_cast<std::int64_t>(column.size()));
  }
  return plan_buckets({rows, columns, start.data(), column.data()}, 70, arch(t), use).buckets;
}

AttentionConfig attending(std::int64_t head, DType dtype, std::vector<std::int64_t> mask = {}) {
  AttentionConfig c{.pattern = tiles(300, 290), .mask = std::move(mask), .heads = 2, .head = head, .dtype = dtype};
  c.masks = c.mask.empty() ? 0 : 2;
  c.scale = 0.1;
  c.statistics = true;
  return c;
}

}  // namespace

std::map<std::string, isa::Program> programs(Target t) {
  const Scalar given = Scalar::given;
  constexpr BucketUse kMixed = BucketUse::mixed, kSlots = BucketUse::only_slots, kVector = BucketUse::vector;
  const TilePattern square = tiles(300, 300);
  const AttentionConfig plain = attending(40, DType::float32), masked = attending(128, DType::bfloat16, {0, -1, 1, -1});
  return {
      {"spmm", spmm({buckets(300, 290, kMixed, t), 300, 290, 70, given, given}, t)},
      {"spmm_slots", spmm({buckets(300, 290, kSlots, t), 300, 290, 70}, t)},
      {"spmv", spmv({buckets(300, 290, kVector, t), 300, 290, 1, given, given}, t)},
      {"spmv_anywhere", spmv({buckets(300, 290, kSlots, t), 300, 290, 1, given, given}, t)},
      {"sddmm", sddmm({buckets(300, 290, kSlots, t), 300, 290, 70}, t)},
      {"bsr_spmm", bsr_spmm({tiles(300, 290), 70}, t)},
      {"bsr_sddmm", bsr_sddmm({tiles(300, 290), 70}, t)},
      {"spgemm", spgemm({tiles(300, 290), tiles(290, 260)}, t)},
      {"screened_spmm", screened_spmm({tiles(300, 290), 70, false}, t)},
      {"screened_spmm_turned", screened_spmm({tiles(300, 290), 70, true}, t)},
      {"attention", attention(plain, t)},
      {"attention_masked", attention(masked, t)},
      {"attention_wide", attention(attending(300, DType::float32), t)},
      {"attention_backward", attention_backward(plain, t)},
      {"attention_backward_masked", attention_backward(masked, t)},
      {"conjugate_gradient", conjugate_gradient({square, Preconditioner::none}, t)},
      {"conjugate_gradient_diagonal", conjugate_gradient({square, Preconditioner::diagonal}, t)},
      {"conjugate_gradient_matrix", conjugate_gradient({square, Preconditioner::matrix, square}, t)},
      {"fixed_iteration", fixed_iteration({.pattern = square, .steps = 3}, t)},
      {"power_iteration", power_iteration({square}, t)},
  };
}

}  // namespace kiln::kernels::test
