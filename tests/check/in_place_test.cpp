// Destinations that take the bytes of sources: the addresses are given to the simulator, and nothing changes.
#include <gtest/gtest.h>

#include <functional>
#include <iostream>

#include "kiln/analysis/allocate.h"
#include "kiln/check/check_program.h"
#include "kiln/check/clobber.h"
#include "kiln/isa/builder/builder.h"
#include "kiln/isa/semantics/check.h"
#include "tests/check/run_random.h"
#include "tests/seed.h"

namespace kiln::check {
namespace {
using namespace analysis;
using isa::ds;
using isa::Kernel;
using isa::View;

constexpr DType f32 = DType::float32, bf16 = DType::bfloat16;

Arch with_memory(std::int64_t sbuf_bytes, std::int64_t psum_banks) {
  Arch chip = arch(Target::trn3);
  chip.sbuf_partition_bytes = sbuf_bytes;
  chip.sbuf_reserved_bytes = 0;
  chip.psum_banks = static_cast<int>(psum_banks);
  chip.psum_partition_bytes = psum_banks * chip.psum_bank_bytes;
  return chip;
}

// Each tensor where the allocation puts it, as if by hand.
isa::Program placed(isa::Program program, const Allocation& allocation) {
  for (isa::TensorId id = 0; id < program.tensors.size(); ++id) {
    if (allocation.address[id]) program.tensors[id].address = allocation.address[id];
  }
  return program;
}

bool uses_in_place(const Allocation& a) { return a.complete() && (a.sbuf.in_place || a.psum.in_place); }

// In memories that are too small without reuse in place.
std::vector<Allocation> tight_allocations(const isa::Program& program) {
  const Liveness live = live_intervals(program);
  const Allocation roomy = allocate(program, arch(Target::trn3), live);
  std::vector<Allocation> found;
  if (!roomy.complete()) return found;
  const std::int64_t bank = arch(Target::trn3).psum_bank_bytes;
  const std::int64_t banks = (roomy.psum.highest_bytes + bank - 1) / bank;
  for (const std::int64_t share : {99, 85, 70, 60}) {
    const std::int64_t bytes = roomy.sbuf.peak_bytes * share / 100 / 4 * 4;
    Allocation a = allocate(program, with_memory(bytes, std::max<std::int64_t>(1, banks)), live);
    if (uses_in_place(a)) found.push_back(std::move(a));
  }
  if (banks > 1) {
    Allocation a = allocate(program, with_memory(roomy.sbuf.highest_bytes, banks - 1), live);
    if (uses_in_place(a)) found.push_back(std::move(a));
  }
  return found;
}

// By the rules about operands that overlap and about bytes that are overwritten through another name.
void expect_legal(const isa::Program& program) {
  std::vector<Diagnostic> found;
  check_instructions(program, arch(program.target), found);
  check_clobbered(program, live_intervals(program), found);
  std::erase_if(found, [](const Diagnostic& d) { return d.severity != Severity::error; });
  EXPECT_TRUE(found.empty()) << to_text(found);
}

TEST(InPlace, RandomKernelsGiveTheSameAtTheirAddresses) {
  const std::uint64_t seed = test::seed();
  int tried = 0;
  for (std::uint64_t i = 0; i < 250; ++i) {
    const isa::Program program = random_kernel(seed + i, 12 + static_cast<int>(i % 12));
    const Report report = check_program(program, arch(Target::trn3));
    ASSERT_TRUE(report.ok()) << "seed " << seed + i << '\n' << to_text(report.diagnostics);
    std::vector<std::byte> expected;
    for (const Allocation& allocation : tight_allocations(program)) {
      if (expected.empty()) expected = run_random(program, seed);
      const isa::Program there = placed(program, allocation);
      expect_legal(there);
      ASSERT_FALSE(HasFailure()) << "seed " << seed + i;
      ASSERT_TRUE(run_random(there, seed) == expected) << "seed " << seed + i;
      ++tried;
    }
  }
  std::cout << tried << " allocations with reuse in place\n";
  EXPECT_GT(tried, 100) << "seed " << seed;
}

// A tile that ends in an instruction that makes another one; the chip holds one of the two, whichever is larger.
bool takes_over(const std::function<void(Kernel&)>& body, std::int64_t bytes) {
  Kernel k("handover", Target::trn3);
  body(k);
  return uses_in_place(allocate(k.program(), with_memory(bytes, 1), live_intervals(k.program())));
}

View made(Kernel& k, isa::Shape shape, DType dtype = f32) {
  const View tile = k.sbuf(std::move(shape), dtype);
  k.memset({.dst = tile, .value = 1});
  return tile;
}

TEST(InPlace, ElementByElement) {
  const auto copy = [](DType from, DType to) {
    return [=](Kernel& k) {
      const View a = made(k, {128, 64}, from);
      k.tensor_copy({.dst = k.sbuf({128, 64}, to), .src = a});
    };
  };
  EXPECT_TRUE(takes_over(copy(f32, f32), 256));
  EXPECT_FALSE(takes_over(copy(f32, bf16), 256)) << "elements of other sizes are not at the same addresses";
  EXPECT_FALSE(takes_over(copy(bf16, f32), 256));
  EXPECT_FALSE(takes_over(copy(f32, DType::int32), 256)) << "operand.R10 wants one dtype";
}

TEST(InPlace, NotInAnotherOrderOfElements) {
  const auto turned = [](Kernel& k) {
    const View a = made(k, {128, 64}), b = k.sbuf({128, 64}, f32);
    k.tensor_copy({.dst = b.reshape({128, 8, 8}), .src = a.reshape({128, 8, 8}).permute({0, 2, 1})});
  };
  EXPECT_FALSE(takes_over(turned, 256));
  const auto reshaped = [](Kernel& k) {
    const View a = made(k, {128, 64}), b = k.sbuf({128, 64}, f32);
    k.tensor_copy({.dst = b.reshape({128, 16, 4}), .src = a.reshape({128, 8, 8})});
  };
  EXPECT_TRUE(takes_over(reshaped, 256)) << "another shape, the same order";
}

TEST(InPlace, AColumnThatIsReadForEveryElementIsNotOverwritten) {
  const auto by_column = [](Kernel& k) {
    const View a = made(k, {128, 64}), b = made(k, {128, 64});
    k.tensor_scalar({.dst = k.sbuf({128, 64}, f32), .data = a, .op0 = AluOp::add, .operand0 = b(isa::all, ds(3, 1))});
    k.tensor_copy({.dst = a, .src = a});  // a lives on: only b could give its bytes
  };
  EXPECT_FALSE(takes_over(by_column, 512));
}

TEST(InPlace, NotWhenTheSourceIsNeededInTheNextPass) {
  const auto outside = [](Kernel& k) {
    const View a = made(k, {128, 64});
    k.loop(2, [&](const isa::Index&) { k.tensor_copy({.dst = k.sbuf({128, 64}, f32), .src = a}); });
  };
  EXPECT_FALSE(takes_over(outside, 256));
  const auto inside = [](Kernel& k) {
    k.loop(2, [&](const isa::Index&) {
      const View a = made(k, {128, 64});
      k.tensor_copy({.dst = k.sbuf({128, 64}, f32), .src = a});
    });
  };
  EXPECT_TRUE(takes_over(inside, 256));
}

TEST(InPlace, NotInAProductOrATransfer) {
  const auto transposed = [](Kernel& k) {
    const View a = made(k, {32, 32});
    k.nc_transpose({.dst = k.sbuf({32, 32}, f32), .data = a, .engine = Engine::vector});
    k.memset({.dst = k.sbuf({128, 32}, f32), .value = 0});
  };
  EXPECT_FALSE(takes_over(transposed, 128));
  const auto moved = [](Kernel& k) {
    const View a = made(k, {128, 64});
    k.dma_copy({.dst = k.sbuf({128, 64}, f32), .src = a});
  };
  EXPECT_FALSE(takes_over(moved, 256));
}

// The rotary embedding of a public library: seven halves of 64 KiB would be alive, and there is room for six and a
// half.
TEST(InPlace, HalvesOfPartitions) {
  Kernel k("rope", Target::trn2);
  constexpr DType u16 = DType::bfloat16;
  const std::int64_t n = 32768;
  const View x = k.input("x", {128, n}, u16), angles = k.input("angles", {64, n}, u16),
             y = k.output("y", {128, n}, u16);
  const auto half = [&] { return k.sbuf({64, n}, u16); };
  const View in = k.sbuf({128, n}, u16), cos = half(), sin = half();
  k.dma_copy({.dst = in, .src = x});
  k.dma_copy({.dst = cos, .src = angles});
  k.dma_copy({.dst = sin, .src = angles});
  const View out = k.sbuf({128, n}, u16), odd = half(), even = in.slice(0, 0, 64);
  k.tensor_copy({.dst = odd, .src = in.slice(0, 64, 64)});
  const View even_cos = half(), odd_cos = half(), even_sin = half(), odd_sin = half();
  const auto combine = [&](const View& dst, const View& a, const View& b, AluOp op) {
    k.tensor_tensor({.dst = dst, .data1 = a, .data2 = b, .op = op});
  };
  combine(even_cos, even, cos, AluOp::multiply);
  combine(odd_cos, odd, cos, AluOp::multiply);
  combine(even_sin, even, sin, AluOp::multiply);
  combine(odd_sin, odd, sin, AluOp::multiply);
  combine(out.slice(0, 0, 64), even_cos, odd_sin, AluOp::subtract);
  combine(out.slice(0, 64, 64), odd_cos, even_sin, AluOp::add);
  k.dma_copy({.dst = y, .src = out});
  const Report report = check_program(k.program(), arch(Target::trn2), {.strict_order = true});
  EXPECT_TRUE(report.diagnostics.empty()) << to_text(report.diagnostics);
  EXPECT_EQ(report.allocation.sbuf.peak_bytes, 3 * 65536);
  EXPECT_TRUE(report.allocation.sbuf.in_place);
}

}  // namespace
}  // namespace kiln::check
