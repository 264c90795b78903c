#include "kiln/analysis/allocate.h"

#include <gtest/gtest.h>

#include <chrono>
#include <iostream>
#include <random>

#include "kiln/isa/builder/builder.h"
#include "tests/seed.h"

namespace kiln::analysis {
namespace {
using isa::Address;
using isa::Kernel;
using isa::View;

const Arch& trn2() { return arch(Target::trn2); }
std::int64_t sbuf_bytes() { return available_bytes(trn2(), Memory::sbuf); }

// A tile of bytes.
struct Tile {
  Memory memory;
  std::int64_t partitions, bytes;
  std::optional<Address> address = {};
};
using Tiles = std::vector<Tile>;
constexpr Memory sbuf = Memory::sbuf, psum = Memory::psum;

View declare(Kernel& k, const Tile& t) {
  return k.tensor(t.memory, isa::Role::internal, {t.partitions, t.bytes}, DType::uint8, {.address = t.address});
}
void write(Kernel& k, const View& tile) { k.memset({.dst = tile, .value = 0}); }
// `sink` is in HBM and takes no bytes of the chip.
void read(Kernel& k, const View& tile, const View& sink) { k.dma_copy({.dst = sink, .src = tile}); }
View declare_sink(Kernel& k) { return k.hbm({1}, DType::uint8); }

// Writes all tiles, then reads them: all are alive together. The tensors have the numbers of the tiles.
isa::Program together(const Tiles& tiles) {
  Kernel k("together");
  std::vector<View> views;
  for (const Tile& tile : tiles) views.push_back(declare(k, tile));
  const View sink = declare_sink(k);
  for (const View& view : views) write(k, view);
  for (const View& view : views) read(k, view, sink);
  return k.finish();
}

Allocation allocate_all(const isa::Program& program) { return allocate(program, trn2(), live_intervals(program)); }
Allocation allocate_together(const Tiles& tiles) { return allocate_all(together(tiles)); }

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
      // One instruction may hand bytes over; tests/check/in_place_test.cpp runs programs where it does.
      const bool hands_over =
          live.tensors[i].end == live.tensors[j].begin || live.tensors[j].end == live.tensors[i].begin;
      if (hands_over && allocation.use(a.memory).in_place) continue;
      ASSERT_FALSE(bytes_overlap(a, *allocation.address[i], b, *allocation.address[j])) << a.name << ' ' << b.name;
    }
  }
}

isa::Program random_program(std::mt19937_64& random) {
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  Kernel k("random");
  std::vector<View> known;
  const auto statements = [&](auto& self, int depth, std::int64_t count) -> void {
    const std::size_t outer = known.size();
    for (; count > 0; --count) {
      const auto kind = pick(0, 9);
      if (kind < 4 || known.empty()) {
        const bool in_psum = pick(0, 2) == 0;
        const std::int64_t n = pick(0, 1) ? 128 : pick(1, 128), bytes = in_psum ? pick(1, 5000) : pick(1, 40000);
        std::optional<Address> address;
        if (pick(0, 9) == 0) {
          const std::int64_t unit = n > 64 ? 128 : n > 32 ? 64 : 32;
          address = Address{pick(0, 128 / unit - 1) * unit, in_psum ? pick(0, 5) * 2048 : pick(0, 170000)};
        }
        known.push_back(declare(k, {in_psum ? psum : sbuf, n, bytes, address}));
        write(k, known.back());
      } else if (kind < 9 || depth == 3) {
        const auto recent = static_cast<std::int64_t>(known.size()) - 1;
        const auto one = [&] {
          return known[static_cast<std::size_t>(pick(std::max<std::int64_t>(0, recent - 4), recent))];
        };
        k.tensor_copy({.dst = one(), .src = one()});
      } else {
        k.loop(2, [&](const isa::Index&) { self(self, depth + 1, pick(1, 12)); });
      }
    }
    known.resize(outer);
  };
  statements(statements, 0, pick(1, 120));
  return k.finish();
}

TEST(Allocate, RandomProgramsNeverOverlap) {
  const std::uint64_t seed = test::seed();
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
  EXPECT_EQ(allocate_together({{sbuf, 128, sbuf_bytes()}}).address[0], (Address{0, 0}));
  const Allocation allocation = allocate_together({{sbuf, 128, sbuf_bytes() + 1}});
  ASSERT_EQ(allocation.overflows.size(), 1u);
  EXPECT_TRUE(allocation.overflows[0].too_much);
  EXPECT_EQ(allocation.sbuf.peak_bytes, sbuf_bytes() + 1);
}

TEST(Allocate, ManyTensorsFillSbufExactly) {
  // Aligned to 32 bytes they would not fit.
  for (const std::int64_t surplus : {0, 1}) {
    const std::int64_t large = sbuf_bytes() - 1000 * 8;
    Tiles tiles(1000, {sbuf, 128, 8});
    tiles.insert(tiles.begin(), {sbuf, 128, large + surplus});
    const isa::Program program = together(tiles);
    const Allocation allocation = allocate_all(program);
    EXPECT_EQ(allocation.complete(), surplus == 0);
    if (surplus == 0) expect_sound(program, live_intervals(program), allocation);
  }
}

TEST(Allocate, QuadrantsSideBySide) {
  const Allocation allocation = allocate_together(Tiles(4, {sbuf, 32, sbuf_bytes()}));
  ASSERT_TRUE(allocation.complete());
  for (int i = 0; i < 4; ++i) EXPECT_EQ(allocation.address[i], (Address{32 * i, 0}));
  EXPECT_EQ(allocation.sbuf.peak_bytes, sbuf_bytes());
  EXPECT_FALSE(allocate_together(Tiles(5, {sbuf, 32, sbuf_bytes()})).complete());
}

TEST(Allocate, PartitionCountDecidesTheStart) {
  const Tiles quarters{{sbuf, 96, sbuf_bytes()}, {sbuf, 1, sbuf_bytes()}};
  EXPECT_EQ(allocate_together(quarters).address[1], (Address{96, 0}));
  const Tiles halves{{sbuf, 33, sbuf_bytes()}, {sbuf, 64, sbuf_bytes()}};
  EXPECT_EQ(allocate_together(halves).address[1], (Address{64, 0}));
  // 65 partitions start at 0 only, so both want the first quadrant.
  const Tiles wide{{sbuf, 65, sbuf_bytes() / 2 + 4}, {sbuf, 32, sbuf_bytes()}, {sbuf, 33, sbuf_bytes() / 2 - 4}};
  EXPECT_EQ(allocate_together(wide).address[1], (Address{96, 0}));
}

TEST(Allocate, BytesAreReusedWhenNobodyNeedsThem) {
  Kernel k("reused");
  const View sink = declare_sink(k);
  for (int i = 0; i < 3; ++i) {
    const View tile = declare(k, {sbuf, 128, sbuf_bytes()});
    write(k, tile);
    read(k, tile, sink);
  }
  EXPECT_TRUE(allocate_all(k.program()).complete());
  Kernel in_one_instruction("in_one_instruction");  // a destination may not share bytes with a source
  const View a = declare(in_one_instruction, {sbuf, 128, sbuf_bytes()});
  const View b = declare(in_one_instruction, {sbuf, 128, 4});
  write(in_one_instruction, a);
  in_one_instruction.tensor_copy({.dst = b, .src = a});
  EXPECT_FALSE(allocate_all(in_one_instruction.program()).complete());
}

TEST(Allocate, PsumBanks) {
  // 1200 bytes: one per bank, since none may cross a boundary.
  const Allocation full = allocate_together(Tiles(8, {psum, 128, 1200}));
  ASSERT_TRUE(full.complete());
  for (int i = 0; i < 8; ++i) EXPECT_EQ(full.address[i]->byte_offset, 2048 * i);

  const Allocation ninth = allocate_together(Tiles(9, {psum, 128, 1200}));
  ASSERT_EQ(ninth.overflows.size(), 1u);
  EXPECT_FALSE(ninth.overflows[0].too_much);

  EXPECT_TRUE(allocate_together(Tiles(16, {psum, 128, 1024})).complete());  // 16 half banks

  // The second one starts at the next bank, and 4 bytes fit behind it.
  const isa::Program large = together({{psum, 128, 2052}, {psum, 128, 12284}, {psum, 128, 4}});
  const Allocation mixed = allocate_all(large);
  ASSERT_TRUE(mixed.complete());
  expect_sound(large, live_intervals(large), mixed);
}

TEST(Allocate, HandPlacedTensorsAreObstacles) {
  const Tile fixed{sbuf, 128, 64, Address{0, 1000}}, before{sbuf, 128, 1000}, after{sbuf, 128, sbuf_bytes() - 1088};
  const Allocation allocation = allocate_together({fixed, before, after});
  EXPECT_EQ(allocation.address[1], (Address{0, 0}));
  EXPECT_EQ(allocation.address[2], (Address{0, 1088}));  // 1064 rounded up to 32
}

TEST(Allocate, SharedBytesOfHandPlacedTensorsCountOnce) {
  Tiles tiles(4, {sbuf, 128, sbuf_bytes() - 64, Address{0, 64}});
  tiles.push_back({sbuf, 128, 64});
  const Allocation allocation = allocate_together(tiles);
  ASSERT_TRUE(allocation.complete());
  EXPECT_EQ(allocation.sbuf.peak_bytes, sbuf_bytes());
  EXPECT_EQ(allocation.address[4], (Address{0, 0}));
}

TEST(Allocate, NothingComesBetweenAWriteAndTheReadThroughAView) {
  Kernel k("view");
  const View sink = declare_sink(k);
  const View a = declare(k, {sbuf, 128, 64, Address{0, 0}}), view = declare(k, {sbuf, 128, 64, Address{0, 0}});
  const View between = declare(k, {sbuf, 128, 64});
  write(k, a);
  write(k, between);
  read(k, between, sink);
  read(k, view, sink);
  EXPECT_EQ(allocate_all(k.program()).address[between.tensor()], (Address{0, 64}));
}

TEST(Allocate, HundredThousandTensors) {
  std::mt19937_64 random(1);
  Kernel k("large");
  const View sink = declare_sink(k);
  std::vector<View> ring;
  for (int i = 0; i < 100000; ++i) {
    const auto bytes = std::uniform_int_distribution<std::int64_t>(4, 2400)(random);
    ring.push_back(declare(k, {sbuf, i % 5 ? 128 : 32, bytes}));
    write(k, ring.back());
    if (ring.size() > 100) read(k, ring[ring.size() - 100], sink);
  }
  const isa::Program& program = k.program();
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
