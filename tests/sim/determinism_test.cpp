// Random programs give the same bits on any number of threads, with plain kernels and with fast ones of every width.
#include "tests/num/each_target.h"
#include "tests/num/random_rows.h"
#include "tests/sim/run_kernel.h"

namespace kiln::sim {
namespace {

constexpr std::int64_t kColumns = 256;  // 128 x 256 elements: enough for a task of its own
constexpr DType kDTypes[] = {DType::float32, DType::bfloat16, DType::float16};

// Tiles that all start written, and instructions between random parts of them.
class RandomKernel {
 public:
  RandomKernel(Kernel& k, test::RandomRows& random) : k_(k), random_(random) {
    const View x = k.input("x", {128, kColumns}, DType::float32);
    for (int i = 0; i < 6; ++i) {
      // Some tiles lie in one memory side by side, so that their users meet in one storage.
      isa::TensorOptions options;
      if (i >= 4) options.address = isa::Address{0, (i - 4) * kColumns * 4};
      tiles_.push_back(k.sbuf({128, kColumns}, kDTypes[random.below(3)], options));
      k.dma_copy({.dst = tiles_.back(), .src = x});
    }
    for (int i = 0; i < 2; ++i) {
      far_.push_back(k.hbm({128, kColumns}, kDTypes[random.below(3)]));
      k.dma_copy({.dst = far_.back(), .src = x});
    }
    sum_ = k.psum({128, kColumns}, DType::float32);
    matmul();
  }

  void instructions(int count, bool loops) {
    for (int i = 0; i < count; ++i) {
      if (loops && random_.below(8) == 0) {
        k_.loop(2 + random_.below(4), [&](Index) {
          tiles_.push_back(k_.sbuf({128, kColumns}, kDTypes[random_.below(3)]));
          k_.tensor_copy({.dst = tiles_.back(), .src = tiles_[random_.below(4)]});
          instructions(5, false);
          tiles_.pop_back();
        });
      } else {
        one();
      }
    }
  }

  void store() {
    std::string name = "y";
    for (const View& t : tiles_) {
      name += 'y';
      k_.dma_copy({.dst = k_.output(name, {128, kColumns}, t.dtype()), .src = t});
    }
  }

 private:
  const View& tile() { return tiles_[random_.below(static_cast<std::uint32_t>(tiles_.size()))]; }
  // A source that is not `dst`, whole or in the same columns.
  View other(const View& dst) {
    while (true) {
      const View& t = tile();
      if (t.tensor() != dst.tensor()) return t;
    }
  }
  AluOp op() {
    constexpr AluOp kOps[] = {AluOp::add, AluOp::subtract, AluOp::multiply, AluOp::maximum, AluOp::minimum};
    return kOps[random_.below(5)];
  }

  void matmul() {
    const View s = k_.sbuf({128, 128}, DType::float32), m = k_.sbuf({128, kColumns}, DType::float32);
    k_.tensor_copy({.dst = s, .src = tile()(all, ds(0, 128))});
    k_.tensor_scalar({.dst = m, .data = tile(), .op0 = AluOp::multiply, .operand0 = 0.01});
    k_.nc_matmul({.dst = sum_, .stationary = s, .moving = m});
  }

  ActFn function() {
    constexpr ActFn kFunctions[] = {ActFn::exp, ActFn::tanh, ActFn::gelu, ActFn::sigmoid, ActFn::copy};
    return kFunctions[random_.below(5)];
  }

  // Through integers and back.
  void narrow(const View& dst) {
    constexpr DType kNarrow[] = {DType::int8, DType::uint8, DType::int16, DType::uint16, DType::int32};
    const View scaled = k_.sbuf({128, kColumns}, DType::float32),
               whole = k_.sbuf({128, kColumns}, kNarrow[random_.below(5)]);
    k_.tensor_scalar({.dst = scaled, .data = other(dst), .op0 = AluOp::multiply, .operand0 = 100.25});
    k_.tensor_copy({.dst = whole, .src = scaled});
    k_.tensor_copy({.dst = dst, .src = whole});
  }

  // A sum or the largest of each row, added to it; across the row and transposed.
  void reduce(const View& dst) {
    const View column = k_.sbuf({128, 1}, DType::float32), turned = k_.psum({128, 128}, dst.dtype());
    const AluOp op = random_.below(2) ? AluOp::add : AluOp::maximum;
    k_.tensor_reduce({.dst = column, .op = op, .data = other(dst), .axis = {1}});
    k_.tensor_scalar({.dst = dst, .data = other(dst), .op0 = AluOp::add, .operand0 = column});
    k_.nc_transpose({.dst = turned, .data = dst(all, ds(0, 128))});
    k_.tensor_copy({.dst = dst(all, ds(128, 128)), .src = turned});
  }

  // Sums of each row beside the values; sometimes over two instructions, so that the second goes on from the first.
  void accumulate(const View& dst) {
    const View sums = k_.sbuf({128, 1}, DType::float32);
    const bool goes_on = goes_on_ && random_.below(2);
    if (goes_on)
      k_.activation({.dst = dst,
                     .op = ActFn::tanh,
                     .data = other(dst),
                     .reduce_op = AluOp::add,
                     .reduce_cmd = isa::ReduceCmd::reset_reduce});
    k_.activation({.dst = dst,
                   .op = ActFn::sigmoid,
                   .data = other(dst),
                   .reduce_op = AluOp::add,
                   .reduce_res = sums,
                   .reduce_cmd = goes_on ? isa::ReduceCmd::reduce : isa::ReduceCmd::reset_reduce});
    k_.tensor_scalar({.dst = dst, .data = other(dst), .op0 = AluOp::subtract, .operand0 = sums});
  }

  void one() {
    const View dst = tile();
    const std::int64_t start = random_.below(4) * 32, size = 32 * (1 + random_.below(4));
    const auto columns = [&](const View& v) { return v(all, ds(start, size)); };
    switch (random_.below(12)) {
      case 0:
        return void(k_.tensor_tensor({.dst = dst, .data1 = other(dst), .data2 = dst, .op = op()}));
      case 1:
        return void(
            k_.tensor_tensor({.dst = columns(dst), .data1 = columns(other(dst)), .data2 = columns(dst), .op = op()}));
      case 2:
        return void(k_.tensor_scalar({.dst = dst,
                                      .data = other(dst),
                                      .op0 = AluOp::multiply,
                                      .operand0 = 0.3,
                                      .op1 = AluOp::add,
                                      .operand1 = 0.7}));
      case 3:
        return void(k_.tensor_copy({.dst = columns(dst), .src = columns(other(dst))}));
      case 4:
        return void(k_.dma_copy({.dst = far_[random_.below(2)], .src = dst}));
      case 5:
        return void(k_.dma_copy({.dst = columns(dst), .src = columns(far_[random_.below(2)])}));
      case 6:
        return matmul();
      case 7:
        return void(k_.activation({.dst = dst, .op = function(), .data = other(dst)}));
      case 8:
        return narrow(dst);
      case 9:
        return reduce(dst);
      case 10:
        return accumulate(dst);
      default:
        return void(k_.tensor_copy({.dst = dst, .src = sum_}));
    }
  }

  Kernel& k_;
  test::RandomRows& random_;
  std::vector<View> tiles_, far_;
  View sum_;
  const bool goes_on_ = random_.below(2);  // else no instruction needs what another left in the accumulators
};

// Bits of the outputs, all NaNs alike.
std::vector<std::uint32_t> outputs(const KernelRun& run) {
  std::vector<std::uint32_t> bits;
  for (const isa::Tensor& t : run.program.tensors) {
    if (t.role != isa::Role::output) continue;
    const std::byte* data = run.arrays.at(t.name).data();
    for (std::int64_t i = 0; i < t.size(); ++i) {
      const std::uint32_t b = load_bits(t.dtype, data + i * size_bytes(t.dtype));
      bits.push_back(std::isnan(to_float(t.dtype, b)) ? 0x7fc00000 : b);
    }
  }
  return bits;
}

TEST(Determinism, ThreadsAndKernelsDoNotChangeABit) {
  test::RandomRows random;
  for (int round = 0; round < 4; ++round) {
    SCOPED_TRACE(round);
    Kernel k("random");
    RandomKernel maker(k, random);
    maker.instructions(30, true);
    maker.store();
    KernelRun run(k);
    Floats in(128 * kColumns);
    for (float& v : in) v = static_cast<float>(static_cast<std::int32_t>(random.word())) * 0x1p-31f;
    run.set("x", in);
    run.run({.threads = 1});
    const std::vector<std::uint32_t> wanted = outputs(run);
    for (const int threads : {0, 1, 2, 4}) {
      run.run({.threads = threads, .plain = true});
      ASSERT_TRUE(outputs(run) == wanted) << threads << " threads, plain";
      for (const std::int64_t target : test::targets_of_this_cpu()) {
        test::limit_to(target);
        run.run({.threads = threads});
        test::limit_to(0);
        ASSERT_TRUE(outputs(run) == wanted) << threads << " threads, " << hwy::TargetName(target);
      }
    }
  }
}

}  // namespace
}  // namespace kiln::sim
