// Predicted times of the sparse kernels, each beside its bar. Patterns are random, from fixed seeds.
#include "bench/libraries/sparse_bars.h"

#include <algorithm>
#include <functional>
#include <random>

#include "kernels/blas/gemm.h"
#include "kernels/sparse/attention.h"
#include "kernels/sparse/bsr_spmm.h"
#include "kernels/sparse/solvers.h"
#include "kernels/sparse/spmm.h"
#include "kernels/sparse/spmv.h"
#include "kiln/check/check_program.h"
#include "kiln/timing/trips.h"
#include "kiln/views/timed_kernel.h"

namespace kiln::bench {
namespace {

using namespace kernels;

constexpr Target kTrn1 = Target::trn1, kTrn2 = Target::trn2;

views::TimeReport timed(const isa::Program& program, std::int64_t passes = 0) {
  const check::Report report = check::check_program(program, arch(program.target));
  if (!report.ok()) throw Error(report.diagnostics);
  views::TimeRequest request{.advice = false};
  for (const isa::Loop& loop : program.loops) {
    if (loop.kind == isa::Loop::Kind::dynamic_while) request.trip_counts[timing::name_of(program, loop)] = passes;
  }
  return views::time_kernel({program}, request)->report;
}
double ns(const isa::Program& program, std::int64_t passes = 0) { return timed(program, passes).total_ns; }

double dense_ns(std::int64_t m, std::int64_t n, std::int64_t k, Target target) {
  return ns(gemm({.m = m, .n = n, .k = k}, target));
}

// Tiles of which a share is stored, chosen at random.
TilePattern random_tiles(std::int64_t rows, std::int64_t columns, double density) {
  std::mt19937 random(7);
  TilePattern p{.rows = rows * kTile, .columns = columns * kTile, .row_start = {0}, .column = {}};
  std::vector<std::int64_t> places(rows * columns);
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<std::int64_t>(i);
  std::shuffle(places.begin(), places.end(), random);
  places.resize(std::max<std::size_t>(1, static_cast<std::size_t>(density * static_cast<double>(places.size()) + 0.5)));
  std::sort(places.begin(), places.end());
  for (std::int64_t r = 0; r < rows; ++r) {
    for (const std::int64_t at : places) {
      if (at / columns == r) p.column.push_back(at % columns);
    }
    p.row_start.push_back(p.count());
  }
  return p;
}

struct RandomCsr {
  std::int64_t size;
  std::vector<std::int64_t> start{0}, column;

  RandomCsr(std::int64_t size, double density) : size(size) {
    std::mt19937 random(7);
    std::bernoulli_distribution is_there(density);
    for (std::int64_t r = 0; r < size; ++r) {
      for (std::int64_t c = 0; c < size; ++c) {
        if (is_there(random)) column.push_back(c);
      }
      start.push_back(static_cast<std::int64_t>(column.size()));
    }
  }
};

double csr_ns(std::int64_t size, double density, std::int64_t n, Target target) {
  const RandomCsr a(size, density);
  const BucketPlan plan = plan_buckets({size, size, a.start.data(), a.column.data()}, n, arch(target));
  return ns(spmm({.buckets = plan.buckets, .rows = size, .columns = size, .n = n}, target));
}

// What no product by these two ways is below: an element costs the DMAs its row of b, a tile costs them its 64 KiB and
// the tensor engine n columns of float32. The tiles that have most go to the tensor engine, as many as is best.
double csr_least_ns(std::int64_t size, double density, std::int64_t n, Target target) {
  const RandomCsr a(size, density);
  const Arch& chip = arch(target);
  const std::int64_t side = size / kTile;
  std::vector<double> tiles(side * side, 0);
  for (std::int64_t r = 0; r < size; ++r) {
    for (std::int64_t e = a.start[r]; e < a.start[r + 1]; ++e) ++tiles[r / kTile * side + a.column[e] / kTile];
  }
  std::sort(tiles.begin(), tiles.end(), std::greater<>());
  const double rate = chip.dma.loaded_bytes_per_ns, engines = chip.dma.engines, columns = static_cast<double>(n);
  const double element = (chip.dma.packet_ns + 4 * columns / rate) / engines, tile = kTile * kTile * 4 / rate / engines;
  const double product = columns * chip.matmul_fp32_passes / chip.tensor.clock_ghz;
  double left = static_cast<double>(a.column.size()), taken = 0, least = left * element;
  for (const double count : tiles) {
    left -= count, taken += 1;
    least = std::min(least, std::max(left * element + taken * tile, taken * product));
  }
  return least;
}

double vector_ns(std::int64_t size, double density, Target target) {
  const RandomCsr a(size, density);
  const CsrPattern matrix{size, size, a.start.data(), a.column.data()};
  const BucketPlan plan = plan_buckets(matrix, 1, arch(target), BucketUse::vector);
  return ns(spmv({.buckets = plan.buckets, .rows = size, .columns = size, .n = 1}, target));
}

Bar bsr_bar(double density, double bar) {
  const double time = ns(bsr_spmm({random_tiles(32, 32, density), 512}, kTrn2));
  return {"bsr_spmm 4096^2 x 512, " + std::to_string(static_cast<int>(100 * density)) + " % of blocks, of dense",
          "trn2", time, time / dense_ns(4096, 512, 4096, kTrn2), bar};
}

// A window of tiles around the diagonal that holds about a quarter of all, for a sequence of 4096.
TilePattern window(std::int64_t tiles, std::int64_t each_side) {
  TilePattern p{.rows = tiles * kTile, .columns = tiles * kTile, .row_start = {0}, .column = {}};
  for (std::int64_t r = 0; r < tiles; ++r) {
    for (std::int64_t c = std::max<std::int64_t>(0, r - each_side); c <= std::min(tiles - 1, r + each_side); ++c)
      p.column.push_back(c);
    p.row_start.push_back(p.count());
  }
  return p;
}

// What the exponentials of these scores take, which the scalar engine alone computes: an element of each partition per
// cycle, in instructions of at most two banks of PSUM.
double exponentials_ns(const AttentionConfig& c, Target target) {
  const EngineSpec& scalar = arch(target).scalar;
  const double columns = static_cast<double>(c.pattern.count() * kTile * c.heads);
  return columns / scalar.clock_ghz + columns / (2 * kWide) * (scalar.interval_ns + scalar.function_interval_ns);
}

void add_attention(std::vector<Bar>& bars, std::int64_t head, DType dtype) {
  const AttentionConfig c{.pattern = window(32, 4), .heads = 4, .head = head, .scale = 0.1, .dtype = dtype};
  const views::TimeReport forward = timed(attention(c, kTrn2));
  const double least = forward.roofline.lowest().least_ns(), back = ns(attention_backward(c, kTrn2));
  const std::string what = "attention 4096 x " + std::to_string(head) + " " + std::string(name(dtype)) + ", 25 %";
  bars.push_back({what + ", of the roofline", "trn2", forward.total_ns, forward.total_ns / least, 1.25});
  const double exponentials = exponentials_ns(c, kTrn2);
  bars.push_back({what + ", of the exponentials", "trn2", exponentials, forward.total_ns / exponentials, 0});
  bars.push_back({what + ", backward of forward", "trn2", back, back / forward.total_ns, 2.7});
}

// A launch takes 0.67 ms beside its body, as the original measured; without that, the second row.
void add_gradients(std::vector<Bar>& bars) {
  constexpr double kPasses = 100, kLaunch = 670e3;
  const TilePattern whole = random_tiles(8, 8, 1);
  const double resident = ns(conjugate_gradient({.pattern = whole}, kTrn2), static_cast<std::int64_t>(kPasses));
  const double product = ns(bsr_spmm({whole, 1}, kTrn2));
  bars.push_back({"cg 1024^2, 100 passes, over a launch per product", "trn2", resident,
                  kPasses * (product + kLaunch) / (resident + kLaunch), 5, true});
  bars.push_back(
      {"cg 1024^2, 100 passes, over the bodies of launches", "trn2", resident, kPasses * product / resident, 0});
}

}  // namespace

std::vector<Bar> sparse_bars() {
  std::vector<Bar> bars{bsr_bar(0.1, 0.2), bsr_bar(0.5, 0.65)};
  const double csr = csr_ns(4096, 0.01, 256, kTrn2);
  const double dense = dense_ns(4096, 256, 4096, kTrn2), least = csr_least_ns(4096, 0.01, 256, kTrn2);
  bars.push_back({"spmm 4096^2 x 256, 1 %, of dense", "trn2", csr, csr / dense, 0.5});
  bars.push_back({"spmm 4096^2 x 256, 1 %, the least of dense", "trn2", least, least / dense, 0});
  const double vector = vector_ns(4096, 0.01, kTrn2);
  bars.push_back({"spmv 4096^2, 1 %, of spmm's way", "trn2", vector, vector / csr_ns(4096, 0.01, 1, kTrn2), 0});
  for (const std::int64_t head : {64, 128, 256}) {
    add_attention(bars, head, DType::float32);
    add_attention(bars, head, DType::bfloat16);
  }
  add_gradients(bars);
  return bars;
}

std::vector<Bar> sparse_original_bars() {
  struct Csr {
    std::int64_t size;
    double density;
    std::int64_t n;
    double measured_us;
  };
  std::vector<Bar> bars;
  for (const Csr& x : {Csr{256, .001, 32, 1397},
                       {256, .001, 128, 1365},
                       {256, .01, 32, 1248},
                       {256, .01, 128, 1370},
                       {256, .1, 32, 1278},
                       {256, .1, 128, 1428},
                       {1024, .001, 32, 1732},
                       {1024, .001, 128, 2067},
                       {1024, .01, 32, 1847},
                       {1024, .01, 128, 2212},
                       {1024, .1, 32, 2151},
                       {1024, .1, 128, 2479},
                       {1024, .1, 64, 4200},
                       {4096, .01, 256, 11400}}) {
    const std::string what = "spmm " + std::to_string(x.size) + "^2 x " + std::to_string(x.n) + ", " +
                             std::to_string(x.density).substr(0, 5);
    bars.push_back(original(what, csr_ns(x.size, x.density, x.n, kTrn1), x.measured_us / 1e3));
  }
  struct Bsr {
    std::int64_t rows, columns;
    double density;
    std::int64_t n;
    double measured_us;
  };
  for (const Bsr& x : {Bsr{4, 4, .10, 128, 1850},
                       {4, 4, .25, 128, 1870},
                       {4, 4, .50, 128, 2050},
                       {4, 8, .50, 256, 3000},
                       {8, 4, .50, 256, 3110}}) {
    const std::string what = "bsr_spmm " + std::to_string(x.rows) + "x" + std::to_string(x.columns) + " x " +
                             std::to_string(x.n) + ", " + std::to_string(x.density).substr(0, 4);
    bars.push_back(
        original(what, ns(bsr_spmm({random_tiles(x.rows, x.columns, x.density), x.n}, kTrn1)), x.measured_us / 1e3));
  }
  return bars;
}

}  // namespace kiln::bench
