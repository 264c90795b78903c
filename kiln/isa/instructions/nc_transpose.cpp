#include <fmt/format.h>

#include "kiln/isa/instructions/shared/psum_bank.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::nc_transpose {
namespace {
using namespace args::nc_transpose;

constexpr int kVectorSize = 32;

constexpr Rule kDstDtype{1, "dst has the dtype of data", "allocate dst with data's dtype"};
constexpr Rule kDstShape{2, "dst is (F, P) for data (P, F)", "swap partition and free size in dst"};
constexpr Rule kTensorEngineSize{3, "on the tensor engine data has at most 128 free elements",
                                 "transpose in tiles of 128 x 128"};
constexpr Rule kVectorEngineSize{4, "on the vector engine data has at most 32 partitions and 32 free elements",
                                 "transpose in tiles of 32 x 32, or into PSUM on the tensor engine"};
constexpr Rule kTensorEngineMemory{5, "the tensor engine reads data from SBUF and writes dst to PSUM",
                                   "move the tiles with tensor_copy, or use the vector engine"};
constexpr Rule kByteStride{
    6,
    "on the tensor engine the results of 1-byte data are 16 bits wide: dst takes every second element (from gen3 on)",
    "allocate dst twice as wide and pass every second element of it", Mark::external};
constexpr Rule kWideIntegers{7, "on gen2 the tensor engine, which adds in float32, does not transpose 32-bit integers",
                             "use the vector engine, or view the integers as two 16-bit halves", Mark::undocumented};
constexpr Rule kOneBank{8, "the tensor engine writes into one 2 KiB PSUM bank on gen2 and gen3",
                        "start dst where it ends before the next multiple of 2048 bytes"};

constexpr Rule kRules[] = {kDstDtype,           kDstShape,   kTensorEngineSize, kVectorEngineSize,
                           kTensorEngineMemory, kByteStride, kWideIntegers,     kOneBank};

Engine choose_engine(const InstView& v, const Arch&) { return v.in_psum(dst) ? Engine::tensor : Engine::vector; }

void check_tensor(Check& c) {
  c.require(kTensorEngineSize, c.free_size(data) <= c.arch().matmul_columns, data);
  c.require(kTensorEngineMemory, !c.in_psum(data) && c.in_psum(dst),
            [&] { return fmt::format("{}; {}", c.describe(data), c.describe(dst)); });
  const bool exact = c.arch().features.tensor_transpose_mode;
  const Dim last = c.access(dst).dims[c.rank(dst) - 1];
  c.require(kByteStride, !exact || size_bytes(c.dtype(dst)) > 1 || last.count == 1 || last.stride == 2, dst,
            [&] { return fmt::format("dst is {} with stride {}", name(c.dtype(dst)), last.stride); });
  c.require(kWideIntegers, exact || !is_integer(c.dtype(data)) || size_bytes(c.dtype(data)) < 4, data,
            [&] { return fmt::format("data is {}", name(c.dtype(data))); });
  c.require(kOneBank, c.arch().features.psum_bfloat16 || lies_in_one_bank(c, dst), [&] { return bank_text(c, dst); });
}

void check(Check& c) {
  c.require(kDstDtype, c.dtype(dst) == c.dtype(data),
            [&] { return fmt::format("dst is {}, data is {}", name(c.dtype(dst)), name(c.dtype(data))); });
  c.require(kDstShape, c.partitions(dst) == c.free_size(data) && c.free_size(dst) == c.partitions(data), [&] {
    return fmt::format("dst is {}, data is {}", shape_text(c.access(dst)), shape_text(c.access(data)));
  });
  if (c.engine() == Engine::tensor) return check_tensor(c);
  c.require(kVectorEngineSize, c.partitions(data) <= kVectorSize && c.free_size(data) <= kVectorSize, data);
}

bool is_sum(const Arch& arch, Engine e) { return e == Engine::tensor && !arch.features.tensor_transpose_mode; }

// The tensor engine of gen2 multiplies with an identity: 0 * inf and 0 * NaN spread along a row of dst.
void run_sum(const Run& r) {
  const Tile &d = r.tile(dst), &s = r.tile(data);
  std::vector<float> x(s.count()), identity(s.rows * s.rows), sum(d.count());
  for (std::int64_t k = 0; k < s.rows; ++k) {
    float* to = x.data() + k * s.free_size;
    const float* from = load_row(r, s, k, 0, s.free_size, to);
    if (from != to) std::copy_n(from, s.free_size, to);
    identity[k * s.rows + k] = 1;
  }
  r.k.matmul({DType::float32, x.data(), s.free_size}, {DType::float32, identity.data(), s.rows}, sum.data(), s.rows,
             s.rows, s.free_size, s.rows, false, {});
  for (std::int64_t f = 0; f < d.rows; ++f) store_row(r, d, f, 0, d.free_size, sum.data() + f * d.free_size);
}

void run(Run& r) {
  if (is_sum(r.arch(), r.engine())) return run_sum(r);
  transpose_elements(r, r.tile(dst), r.tile(data));
}

void track(Track& t) {
  if (t.is_clean(data)) return t.write_clean(dst);
  const std::vector<Shadow> in = t.read(data);
  const std::int64_t rows = t.partitions(data), columns = t.free_size(data);
  std::vector<Shadow> out(in.size());
  for (std::int64_t i = 0; i < rows * columns; ++i) out[i % columns * rows + i / columns] = in[i];
  if (is_sum(t.arch(), resolve_engine(t, t.arch()))) {  // every element of a row of dst is a sum over that row
    for (std::int64_t f = 0; f < columns; ++f) {
      Shadow any = 0;
      for (std::int64_t p = 0; p < rows; ++p) any = any ? any : out[f * rows + p];
      std::fill_n(out.begin() + f * rows, rows, any);
    }
  }
  t.write(dst, out);
}

Cost cost(const CostQuery& q) {
  const double p = static_cast<double>(q.partitions(data)), f = static_cast<double>(q.free_size(data));
  if (q.engine() == Engine::vector) return {.cycles = q.stream(f)};
  const bool wide = size_bytes(q.dtype(data)) == 4;
  const double passes = !wide ? 1 : q.arch().matmul_fp32_passes / (q.arch().features.tensor_transpose_mode ? 2 : 1);
  return matmul_cost(q, passes, f, std::max(p, std::min<double>(q.arch().matmul_init_cycles, f)), true);
}

// On the tensor engine: data, stationary, times an identity.
Product product(const InstView& v, const Arch&) {
  const double rows = static_cast<double>(v.partitions(data)), columns = static_cast<double>(v.free_size(data));
  return {.flops = 2 * rows * rows * columns, .transposes = true};
}

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "dst[f, p] = data[p, f], bit for bit. On the tensor engine of gen2 it is a product with an identity in "
        "float32, dst[f, j] = Σ_k data[k, f] * I[k, j]: one inf or NaN makes NaN of the rest of its row of dst. engine "
        "unknown: the tensor engine into PSUM, the vector engine into SBUF.",
    .engine = choose_engine,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track,
    .cost_text = "tensor: max(P, min(64, F)); vector: max(64, F)",
    .facts = {.stationary = data, .product = product},
};

}  // namespace kiln::isa::instruction::nc_transpose
