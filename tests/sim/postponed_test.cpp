// Loads of parts of tiles that are left out until somebody needs the copy: nobody can tell. The plain run makes every
// copy at once.
#include "tests/num/random_rows.h"
#include "tests/sim/run_kernel.h"

namespace kiln::sim {
namespace {

constexpr std::int64_t kRun = 288, kBlocks = 6, kColumns = kRun * kBlocks;  // of the tile

// Kernels of loads of one or more blocks, of reads in, across and beside them, and of writes over them.
class RandomKernel {
 public:
  explicit RandomKernel(test::RandomRows& random) : random_(random) {
    for (int step = 0; step < 12; ++step) {
      switch (random_.below(7)) {
        case 0:
        case 1:
          load();
          break;
        case 2:
          write();
          break;
        case 3:
          change_all();
          break;
        case 4:
          write_source();
          break;
        default:
          read();
      }
    }
    k_.dma_copy({.dst = y_(steps_++), .src = tile_});
  }

  Kernel& kernel() { return k_; }

 private:
  std::int64_t below(std::int64_t n) { return random_.below(static_cast<std::uint32_t>(n)); }

  // Blocks of the tile, or the first numbers of some, from as many rows of blocks of the input, which lie apart there.
  void load() {
    const std::int64_t count = 1 + below(3), step = 1 + below(2), width = kRun - below(2) * 5;
    const std::int64_t to = below(kBlocks - (count - 1) * step), from = below(kBlocks - count + 1);
    const std::int64_t skew = pitch_ > kRun ? below(2) * 3 : 0;
    const View src = x_.ap({{pitch_, 128}, {128 * pitch_, count}, {1, width}}, 128 * pitch_ * from + skew);
    const View blocks = tile_.reshape_dim(1, {kBlocks, kRun});
    k_.dma_copy({.dst = blocks(all, ds(to, count, step), ds(0, width)), .src = src});
  }

  isa::Slice columns() {
    const std::int64_t size = below(2) ? kRun * (1 + below(3)) : 1 + below(2 * kRun);
    const std::int64_t start = below(2) ? below((kColumns - size) / kRun + 1) * kRun : below(kColumns - size + 1);
    return ds(start, size);
  }

  isa::Slice rows() { return below(3) ? all : ds(32 * below(4), 32); }

  void read() {
    if (steps_ >= kSteps) return;
    const isa::Slice r = rows(), c = columns();
    const View from = below(4) ? tile_(r, c) : tile_(r, ds(0, kColumns / 2, 2));
    const View to = k_.sbuf({from.dim(0), from.dim(1)}, DType::float32);
    k_.tensor_scalar({.dst = to, .data = from, .op0 = AluOp::multiply, .operand0 = 2});
    k_.dma_copy({.dst = y_(steps_++)(ds(0, from.dim(0)), ds(0, from.dim(1))), .src = to});
  }

  void write() {
    const View to = tile_(rows(), columns());
    if (below(2))
      k_.memset({.dst = to, .value = -1});
    else
      k_.tensor_scalar({.dst = to, .data = to, .op0 = AluOp::add, .operand0 = 1});
  }

  // What later loads find there, and earlier ones do not.
  void write_source() {
    const View source = x_(ds(128 * below(kBlocks), 128), ds(0, kRun));
    if (below(2)) return void(k_.dma_copy({.dst = source, .src = tile_(all, ds(kRun * below(kBlocks), kRun))}));
    const View t = k_.sbuf({128, kRun}, DType::float32);
    k_.memset({.dst = t, .value = static_cast<double>(below(100))});
    k_.dma_copy({.dst = source, .src = t});
  }

  // Whole tiles are read where the input lies, and written elsewhere.
  void change_all() {
    if (below(2)) k_.dma_copy({.dst = tile_, .src = below(2) ? z_ : z_.ap({{0, 128}, {1, kColumns}}, kColumns)});
    k_.tensor_scalar({.dst = tile_, .data = tile_, .op0 = AluOp::add, .operand0 = 0.5});
  }

  static constexpr std::int64_t kSteps = 12;
  test::RandomRows& random_;
  const std::int64_t pitch_ = kRun + 7 * below(2);  // of rows of x, which follow each other or do not
  Kernel k_{"random"};
  View x_ = k_.inout("x", {128 * kBlocks, pitch_}, DType::float32), z_ = k_.input("z", {128, kColumns}, DType::float32),
       y_ = k_.output("y", {kSteps + 1, 128, kColumns}, DType::float32);
  View tile_ = start();
  std::int64_t steps_ = 0;

  View start() {
    const View t = k_.sbuf({128, kColumns}, DType::float32);
    below(2) ? k_.memset({.dst = t, .value = 7}) : k_.dma_copy({.dst = t, .src = z_});
    return t;
  }
};

TEST(Postponed, RandomKernelsGiveWhatTheyGiveWithAllCopies) {
  test::RandomRows random;
  for (int round = 0; round < 20; ++round) {
    RandomKernel made(random);
    KernelRun run(made.kernel());
    for (const char* name : {"x", "z"}) {
      Floats values(run.arrays.at(name).size() / sizeof(float));
      for (float& v : values) v = static_cast<float>(random.below(1000));
      run.set(name, values);
    }
    const auto before = run.arrays;
    run.run({.threads = 1, .plain = true});
    const Floats wanted = run.get("y");
    const auto source = run.arrays.at("x");
    for (const RunOptions& way : {RunOptions{.threads = 1}, RunOptions{.threads = 3}}) {
      run.arrays = before;
      run.run(way);
      ASSERT_EQ(std::memcmp(run.get("y").data(), wanted.data(), wanted.size() * sizeof(float)), 0)
          << "round " << round << ", " << way.threads << " threads";
      ASSERT_EQ(run.arrays.at("x"), source);
      ASSERT_EQ(run.arrays.at("z"), before.at("z"));
    }
  }
}

}  // namespace
}  // namespace kiln::sim
