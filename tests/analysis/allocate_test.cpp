#include "kiln/analysis/allocate.h"

#include <gtest/gtest.h>

#include <chrono>
#include <iostream>
#include <random>

#include "tests/check/program_maker.h"

namespace kiln::analysis {
namespace {
using check::ProgramMaker;

const Arch& trn2() { return arch(Target::trn2); }
std::int64_t sbuf_bytes() { return available_bytes(trn2(), Memory::sbuf); }

Allocation allocate_all(ProgramMaker& m) {
  const isa::Program& program = m.finish();
  return allocate(program, trn2(), live_intervals(program));
}

// Writes all tensors, then reads them: all are alive together.
Allocation allocate_together(ProgramMaker& m) {
  const auto count = static_cast<isa::TensorId>(m.program.tensors.size());
  for (isa::TensorId id = 0; id < count; ++id) m.write(id);
  for (isa::TensorId id = 0; id < count; ++id) m.read(id);
  return allocate_all(m);
}

bool bytes_overlap(const isa::Tensor& a, isa::Address x, const isa::Tensor& b, isa::Address y) {
  const auto meet = [](std::int64_t p, std::int64_t n, std::int64_t q, std::int64_t k) {
    return p < q + k && q < p + n;
  };
  return a.memory == b.memory && meet(x.partition, a.partitions(), y.partition, b.partitions()) &&
         meet(x.byte_offset, a.bytes_per_partition(), y.byte_offset, b.bytes_per_partition());
}

// The allocation's promises, by comparing everything with everything.
void expect_sound(const isa::Program& program, const Liveness& live, const Allocation& allocation) {
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    const isa::Tensor& a = program.tensors[i];
    if (live.tensors[i].empty()) continue;
    ASSERT_TRUE(allocation.address[i]) << a.name;
    const auto [partition, offset] = *allocation.address[i];
    const std::int64_t n = a.partitions(), bytes = a.bytes_per_partition();
    EXPECT_TRUE(partition == 0 || (n <= 64 && partition == 64) || (n <= 32 && (partition == 32 || partition == 96)));
    if (a.address) {
      EXPECT_EQ(*a.address, *allocation.address[i]) << a.name;
      continue;
    }
    EXPECT_EQ(offset % 4, 0) << a.name;
    EXPECT_LE(offset + bytes, available_bytes(trn2(), a.memory)) << a.name;
    if (a.memory == Memory::psum) {
      EXPECT_TRUE(bytes > 2048 ? offset % 2048 == 0 : offset / 2048 == (offset + bytes - 1) / 2048) << a.name;
    }
    for (std::size_t j = 0; j < program.tensors.size(); ++j) {
      const isa::Tensor& b = program.tensors[j];
      if (i == j || !allocation.address[j] || !live.tensors[i].overlaps(live.tensors[j])) continue;
      ASSERT_FALSE(bytes_overlap(a, *allocation.address[i], b, *allocation.address[j])) << a.name << ' ' << b.name;
    }
  }
}

isa::Program random_program(std::mt19937_64& random) {
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  ProgramMaker m;
  std::vector<isa::TensorId> known;
  const auto statements = [&](auto& self, int depth, std::int64_t count) -> void {
    const std::size_t outer = known.size();
    for (; count > 0; --count) {
      const auto kind = pick(0, 9);
      if (kind < 4 || known.empty()) {
        const bool psum = pick(0, 2) == 0;
        const std::int64_t n = pick(0, 1) ? 128 : pick(1, 128), bytes = psum ? pick(1, 5000) : pick(1, 40000);
        std::optional<isa::Address> address;
        if (pick(0, 9) == 0) {
          const std::int64_t unit = n > 64 ? 128 : n > 32 ? 64 : 32;
          address = isa::Address{pick(0, 128 / unit - 1) * unit, psum ? pick(0, 5) * 2048 : pick(0, 170000)};
        }
        const std::string name = "t" + std::to_string(m.program.tensors.size());
        known.push_back(psum ? m.psum(name, n, bytes, address) : m.sbuf(name, n, bytes, address));
        m.write(known.back());
      } else if (kind < 9 || depth == 3) {
        const auto recent = static_cast<std::int64_t>(known.size()) - 1;
        m.copy(known[static_cast<std::size_t>(pick(std::max<std::int64_t>(0, recent - 4), recent))],
               known[static_cast<std::size_t>(pick(std::max<std::int64_t>(0, recent - 4), recent))]);
      } else {
        m.loop(2, [&](isa::LoopId) { self(self, depth + 1, pick(1, 12)); });
      }
    }
    known.resize(outer);
  };
  statements(statements, 0, pick(1, 120));
  return m.finish();
}

TEST(Allocate, RandomProgramsNeverOverlap) {
  const auto seed = std::random_device{}();
  std::cout << "seed " << seed << '\n';
  std::mt19937_64 random(seed);
  int complete = 0;
  for (int i = 0; i < 400; ++i) {
    const isa::Program program = random_program(random);
    const Liveness live = live_intervals(program);
    const Allocation allocation = allocate(program, trn2(), live);
    EXPECT_EQ(allocation.address, allocate(program, trn2(), live).address);
    if (!allocation.complete()) continue;
    ++complete;
    expect_sound(program, live, allocation);
    if (HasFailure()) FAIL() << "seed " << seed << " program " << i;
  }
  EXPECT_GT(complete, 40) << "seed " << seed;
}

TEST(Allocate, LastByteOfSbuf) {
  ProgramMaker fits, does_not;
  fits.sbuf("all", 128, sbuf_bytes());
  EXPECT_EQ(allocate_together(fits).address[0], (isa::Address{0, 0}));
  does_not.sbuf("all", 128, sbuf_bytes() + 1);
  const Allocation allocation = allocate_together(does_not);
  ASSERT_EQ(allocation.overflows.size(), 1u);
  EXPECT_TRUE(allocation.overflows[0].too_much);
  EXPECT_EQ(allocation.sbuf.peak_bytes, sbuf_bytes() + 1);
}

TEST(Allocate, ManyTensorsFillSbufExactly) {
  // Aligned to 32 bytes they would not fit.
  for (const std::int64_t surplus : {0, 1}) {
    ProgramMaker m;
    const std::int64_t large = sbuf_bytes() - 1000 * 8;
    m.sbuf("large", 128, large + surplus);
    for (int i = 0; i < 1000; ++i) m.sbuf("s" + std::to_string(i), 128, 8);
    const Allocation allocation = allocate_together(m);
    EXPECT_EQ(allocation.complete(), surplus == 0);
    if (surplus == 0) expect_sound(m.program, live_intervals(m.program), allocation);
  }
}

TEST(Allocate, QuadrantsSideBySide) {
  ProgramMaker m;
  for (int i = 0; i < 4; ++i) m.sbuf("q" + std::to_string(i), 32, sbuf_bytes());
  const Allocation allocation = allocate_together(m);
  ASSERT_TRUE(allocation.complete());
  for (int i = 0; i < 4; ++i) EXPECT_EQ(allocation.address[i], (isa::Address{32 * i, 0}));
  EXPECT_EQ(allocation.sbuf.peak_bytes, sbuf_bytes());
  ProgramMaker five;
  for (int i = 0; i < 5; ++i) five.sbuf("q" + std::to_string(i), 32, sbuf_bytes());
  EXPECT_FALSE(allocate_together(five).complete());
}

TEST(Allocate, PartitionCountDecidesTheStart) {
  ProgramMaker m;
  m.sbuf("three", 96, sbuf_bytes());
  m.sbuf("one", 1, sbuf_bytes());
  EXPECT_EQ(allocate_together(m).address[1], (isa::Address{96, 0}));
  ProgramMaker halves;
  halves.sbuf("a", 33, sbuf_bytes());
  halves.sbuf("b", 64, sbuf_bytes());
  EXPECT_EQ(allocate_together(halves).address[1], (isa::Address{64, 0}));
  ProgramMaker wide;  // 65 partitions start at 0 only, so both want the first quadrant
  wide.sbuf("a", 65, sbuf_bytes() / 2 + 4);
  wide.sbuf("b", 32, sbuf_bytes());
  wide.sbuf("c", 33, sbuf_bytes() / 2 - 4);
  EXPECT_EQ(allocate_together(wide).address[1], (isa::Address{96, 0}));
}

TEST(Allocate, BytesAreReusedWhenNobodyNeedsThem) {
  ProgramMaker m;
  for (int i = 0; i < 3; ++i) {
    const auto t = m.sbuf("t" + std::to_string(i), 128, sbuf_bytes());
    m.write(t);
    m.read(t);
  }
  EXPECT_TRUE(allocate_all(m).complete());
  ProgramMaker in_one_instruction;  // a destination may not share bytes with a source
  const auto a = in_one_instruction.sbuf("a", 128, sbuf_bytes()), b = in_one_instruction.sbuf("b", 128, 4);
  in_one_instruction.write(a);
  in_one_instruction.copy(b, a);
  EXPECT_FALSE(allocate_all(in_one_instruction).complete());
}

TEST(Allocate, PsumBanks) {
  ProgramMaker banks;  // 1200 bytes: one per bank, since none may cross a boundary
  for (int i = 0; i < 8; ++i) banks.psum("p" + std::to_string(i), 128, 1200);
  const Allocation full = allocate_together(banks);
  ASSERT_TRUE(full.complete());
  for (int i = 0; i < 8; ++i) EXPECT_EQ(full.address[i]->byte_offset, 2048 * i);

  ProgramMaker ninth;
  for (int i = 0; i < 9; ++i) ninth.psum("p" + std::to_string(i), 128, 1200);
  const Allocation allocation = allocate_together(ninth);
  ASSERT_EQ(allocation.overflows.size(), 1u);
  EXPECT_FALSE(allocation.overflows[0].too_much);

  ProgramMaker shared;  // 16 half banks
  for (int i = 0; i < 16; ++i) shared.psum("p" + std::to_string(i), 128, 1024);
  EXPECT_TRUE(allocate_together(shared).complete());

  ProgramMaker large;  // the second one starts at the next bank, and 4 bytes fit behind it
  large.psum("a", 128, 2052);
  large.psum("b", 128, 12284);
  large.psum("c", 128, 4);
  const Allocation mixed = allocate_together(large);
  ASSERT_TRUE(mixed.complete());
  expect_sound(large.program, live_intervals(large.program), mixed);
}

TEST(Allocate, HandPlacedTensorsAreObstacles) {
  ProgramMaker m;
  m.sbuf("fixed", 128, 64, isa::Address{0, 1000});
  m.sbuf("before", 128, 1000);
  m.sbuf("after", 128, sbuf_bytes() - 1088);
  const Allocation allocation = allocate_together(m);
  EXPECT_EQ(allocation.address[1], (isa::Address{0, 0}));
  EXPECT_EQ(allocation.address[2], (isa::Address{0, 1088}));  // 1064 rounded up to 32
}

TEST(Allocate, SharedBytesOfHandPlacedTensorsCountOnce) {
  ProgramMaker m;
  for (int i = 0; i < 4; ++i) m.sbuf("f" + std::to_string(i), 128, sbuf_bytes() - 64, isa::Address{0, 64});
  m.sbuf("free", 128, 64);
  const Allocation allocation = allocate_together(m);
  ASSERT_TRUE(allocation.complete());
  EXPECT_EQ(allocation.sbuf.peak_bytes, sbuf_bytes());
  EXPECT_EQ(allocation.address[4], (isa::Address{0, 0}));
}

TEST(Allocate, NothingComesBetweenAWriteAndTheReadThroughAView) {
  ProgramMaker m;
  const auto a = m.sbuf("a", 128, 64, isa::Address{0, 0}), view = m.sbuf("view", 128, 64, isa::Address{0, 0});
  const auto between = m.sbuf("between", 128, 64);
  m.write(a);
  m.write(between);
  m.read(between);
  m.read(view);
  const Allocation allocation = allocate_all(m);
  EXPECT_EQ(allocation.address[between], (isa::Address{0, 64}));
}

TEST(Allocate, HundredThousandTensors) {
  std::mt19937_64 random(1);
  ProgramMaker m;
  std::vector<isa::TensorId> ring;
  for (int i = 0; i < 100000; ++i) {
    const auto bytes = std::uniform_int_distribution<std::int64_t>(4, 2400)(random);
    const auto t = m.sbuf("t" + std::to_string(i), i % 5 ? 128 : 32, bytes);
    m.write(t);
    ring.push_back(t);
    if (ring.size() > 100) m.read(ring[ring.size() - 100]);
  }
  const isa::Program& program = m.finish();
  const auto start = std::chrono::steady_clock::now();
  const Liveness live = live_intervals(program);
  const auto middle = std::chrono::steady_clock::now();
  const Allocation allocation = allocate(program, trn2(), live);
  const auto end = std::chrono::steady_clock::now();
  const auto ms = [](auto d) { return std::chrono::duration<double, std::milli>(d).count(); };
  std::cout << "100000 tensors: liveness " << ms(middle - start) << " ms, allocation " << ms(end - middle)
            << " ms, peak " << allocation.sbuf.peak_bytes << ", highest " << allocation.sbuf.highest_bytes << '\n';
  EXPECT_TRUE(allocation.complete());
}

}  // namespace
}  // namespace kiln::analysis
