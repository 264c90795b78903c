// One rejected case per rule, its nearest accepted neighbour, and what the messages say.
#include "kiln/check/rules.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "kiln/check/all_rules.h"
#include "kiln/check/capacity.h"
#include "kiln/check/clobber.h"
#include "kiln/check/io.h"
#include "kiln/check/placement.h"
#include "tests/check/program_maker.h"

namespace kiln::check {
namespace {
using namespace analysis;

using isa::Address;

const Arch& trn2() { return arch(Target::trn2); }

std::vector<Diagnostic> check_memory(ProgramMaker& m) {
  std::vector<Diagnostic> out;
  const isa::Program& program = m.finish();
  const Liveness live = live_intervals(program);
  check_placement(program, trn2(), out);
  if (!out.empty()) return out;
  check_clobbered(program, live, out);
  report_overflows(program, trn2(), live, allocate(program, trn2(), live), out);
  return out;
}

Codes placed(Memory memory, std::int64_t partitions, std::int64_t bytes, std::optional<Address> address,
             DType dtype = DType::uint8) {
  ProgramMaker m;
  m.tensor("t", memory, {partitions, bytes / size_bytes(dtype)}, dtype, address);
  return codes(check_memory(m));
}

TEST(Rules, NumbersFollowTheTables) {
  std::set<std::string> codes;
  for (const RuleTable& table : all_rules()) {
    int number = 0;
    for (const Rule& rule : table.rules) {
      const std::string code = code_of(table, rule);
      EXPECT_TRUE(codes.insert(code).second) << code;
      EXPECT_NE(std::string(rule.text), "") << code;
      EXPECT_NE(std::string(rule.help), "") << code;
      EXPECT_EQ(rule.number, rule.word ? 0 : ++number) << code;
    }
  }
  EXPECT_TRUE(codes.contains("memory.R10"));
  EXPECT_TRUE(codes.contains("io.R3"));
}

TEST(Rules, Partitions) {
  EXPECT_EQ(placed(Memory::sbuf, 128, 4, {}), Codes{});
  EXPECT_EQ(placed(Memory::sbuf, 129, 4, {}), Codes{"memory.R1"});
  EXPECT_EQ(placed(Memory::psum, 129, 4, {}), Codes{"memory.R1"});
}

TEST(Rules, Size) {
  EXPECT_EQ(placed(Memory::sbuf, 128, 224 * 1024 - 16384 - 8, {}), Codes{});
  EXPECT_EQ(placed(Memory::sbuf, 128, 224 * 1024 - 16384 - 7, {}), Codes{"memory.R2"});
  EXPECT_EQ(placed(Memory::psum, 128, 16384, {}), Codes{});
  EXPECT_EQ(placed(Memory::psum, 128, 16385, {}), Codes{"memory.R2"});
}

TEST(Rules, Inside) {
  // By hand, all of the physical memory may be used.
  EXPECT_EQ(placed(Memory::sbuf, 128, 224 * 1024, Address{0, 0}), Codes{});
  EXPECT_EQ(placed(Memory::sbuf, 128, 4, Address{0, 224 * 1024 - 4}), Codes{});
  EXPECT_EQ(placed(Memory::sbuf, 128, 4, Address{0, 224 * 1024 - 3}), Codes{"memory.R3"});
  EXPECT_EQ(placed(Memory::sbuf, 128, 4, Address{0, -4}), Codes{"memory.R3"});
  EXPECT_EQ(placed(Memory::sbuf, 64, 4, Address{96, 0}), Codes{"memory.R3"});
  EXPECT_EQ(placed(Memory::sbuf, 32, 4, Address{-32, 0}), Codes{"memory.R3"});
  EXPECT_EQ(placed(Memory::psum, 128, 2049, Address{0, 7 * 2048}), Codes{"memory.R3"});
}

TEST(Rules, AbsurdAddresses) {
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(placed(Memory::sbuf, 32, 4, Address{0, huge}), Codes{"memory.R3"});
  EXPECT_EQ(placed(Memory::sbuf, 32, 4, Address{huge, 0}), Codes{"memory.R3"});
}

TEST(Rules, StartPartition) {
  for (std::int64_t n = 1; n <= 128; ++n) {
    for (std::int64_t p = 0; p + n <= 128; ++p) {
      const bool legal = p == 0 || (n <= 64 && p == 64) || (n <= 32 && (p == 32 || p == 96));
      EXPECT_EQ(placed(Memory::sbuf, n, 4, Address{p, 0}), legal ? Codes{} : Codes{"memory.R4"}) << n << " at " << p;
    }
  }
}

TEST(Rules, BankAndAlignment) {
  EXPECT_EQ(placed(Memory::psum, 128, 4, Address{0, 7 * 2048}), Codes{});
  EXPECT_EQ(placed(Memory::psum, 128, 4, Address{0, 1024}), Codes{"memory.R5"});
  EXPECT_EQ(placed(Memory::sbuf, 128, 8, Address{0, 12}, DType::float32), Codes{});
  EXPECT_EQ(placed(Memory::sbuf, 128, 8, Address{0, 10}, DType::float32), Codes{"memory.R6"});
  EXPECT_EQ(placed(Memory::sbuf, 128, 8, Address{0, 10}, DType::bfloat16), Codes{});
  EXPECT_EQ(placed(Memory::sbuf, 128, 8, Address{0, 11}, DType::bfloat16), Codes{"memory.R6"});
}

// Two tensors of 64 bytes, the second one `shift` bytes after the first.
struct Pair : ProgramMaker {
  isa::TensorId a, b;
  explicit Pair(std::int64_t shift = 0, std::int64_t partition_of_b = 0) {
    a = sbuf("a", 32, 64, Address{0, 1024});
    b = sbuf("b", 32, 64, Address{partition_of_b, 1024 + shift});
  }
};

TEST(Rules, ClobberedValue) {
  Pair p(60);
  p.write(p.a);
  p.write(p.b);
  const int written = p.line();
  p.read(p.a);
  const auto found = check_memory(p);
  ASSERT_EQ(codes(found), Codes{"memory.R7"});
  EXPECT_EQ(found[0].loc.line, p.line());
  EXPECT_EQ(found[0].found, "`a` is read after `b` overwrote its bytes 1084 to 1087 in partitions 0 to 31");
  ASSERT_EQ(found[0].notes.size(), 3u);
  EXPECT_EQ(found[0].notes[0].loc.line, written);
}

TEST(Rules, SharedBytesThatAreLegal) {
  for (const auto& [shift, partition] : {std::pair{64, 0}, {-64, 0}, {0, 32}}) {
    Pair apart(shift, partition);
    apart.write(apart.a);
    apart.write(apart.b);
    apart.read(apart.a);
    EXPECT_EQ(codes(check_memory(apart)), Codes{}) << shift << ' ' << partition;
  }
  Pair ring;
  for (int i = 0; i < 3; ++i) {
    ring.write(ring.a);
    ring.read(ring.a);
    ring.write(ring.b);
    ring.read(ring.b);
  }
  EXPECT_EQ(codes(check_memory(ring)), Codes{});
  Pair view;
  view.write(view.a);
  view.read(view.b);
  view.read(view.a);
  EXPECT_EQ(codes(check_memory(view)), Codes{});
  Pair in_place;  // b works on what a wrote: they are two names of one value
  in_place.write(in_place.a);
  in_place.copy(in_place.b, in_place.b);
  in_place.read(in_place.a);
  EXPECT_EQ(codes(check_memory(in_place)), Codes{});
  Pair other_columns;
  other_columns.write(other_columns.columns(other_columns.a, 0, 32));
  other_columns.write(other_columns.columns(other_columns.b, 32, 32));
  other_columns.read(other_columns.columns(other_columns.a, 0, 32));
  EXPECT_EQ(codes(check_memory(other_columns)), Codes{});
}

TEST(Rules, PartlyRestored) {
  for (const std::int64_t first : {0, 32}) {
    Pair p;
    p.write(p.a);
    p.write(p.b);
    p.write(p.columns(p.a, 0, 32));
    p.read(p.columns(p.a, first, 32));
    EXPECT_EQ(codes(check_memory(p)), first == 0 ? Codes{} : Codes{"memory.R7"});
  }
}

TEST(Rules, ClobberedInTheNextPass) {
  for (const std::int64_t passes : {1, 2}) {
    Pair p;
    p.write(p.a);
    p.loop(passes, [&](isa::LoopId) {
      p.read(p.a);
      p.write(p.b);
    });
    EXPECT_EQ(codes(check_memory(p)), passes == 1 ? Codes{} : Codes{"memory.R7"});
  }
}

TEST(Rules, DeepLoopsDoNotTakeForever) {
  Pair p;
  const auto nest = [&](auto& self, int depth) -> void {
    p.loop(2, [&](isa::LoopId) {
      if (depth < 64) return self(self, depth + 1);
      p.write(p.a);
      p.write(p.b);
      p.read(p.a);
    });
  };
  nest(nest, 1);
  EXPECT_FALSE(check_memory(p).empty());
}

TEST(Rules, RestoredPieceByPieceInALoop) {
  Pair p;
  p.write(p.a);
  p.write(p.b);
  p.loop(8, [&](isa::LoopId i) { p.write(p.columns(p.a, 0, 8, i, 8)); });
  p.read(p.a);
  EXPECT_EQ(codes(check_memory(p)), Codes{});
}

TEST(Rules, CapacityMessage) {
  ProgramMaker m;
  const auto big = m.sbuf("big", 128, 200000);
  std::vector<isa::TensorId> all{big};
  for (int i = 0; i < 14; ++i) all.push_back(m.tensor("t" + std::to_string(i), Memory::sbuf, {128, 256 + i}));
  for (auto t : all) m.write(t);
  const int last_write = m.line();
  for (auto t : all) m.read(t);
  const auto found = check_memory(m);
  ASSERT_EQ(codes(found), Codes{"memory.R8"});
  const Diagnostic& d = found[0];
  // 200000 + 4 * (14 * 256 + 91) = 214700
  EXPECT_EQ(d.found, "15 sbuf tensors alive here need 214700 bytes per partition, 1716 more than there are");
  EXPECT_EQ(d.allowed, "212984 bytes per partition (trn2, 16392 reserved)");
  EXPECT_EQ(d.context, "memset");
  EXPECT_EQ(d.loc.line, last_write);
  ASSERT_EQ(d.notes.size(), 13u);
  EXPECT_EQ(d.notes[0].text, "`big` uint8 (128, 200000), 200000 bytes per partition");
  EXPECT_EQ(d.notes[0].loc.line, 1);
  EXPECT_EQ(d.notes[1].text, "`t13` float32 (128, 269), 1076 bytes per partition");
  EXPECT_EQ(d.notes[12].text, "and 3 more with 3084 bytes per partition");  // t0, t1, t2
}

TEST(Rules, PiecesMessage) {
  ProgramMaker m;
  std::vector<isa::TensorId> all;
  for (int i = 0; i < 9; ++i) all.push_back(m.psum("p" + std::to_string(i), 128, 1200));
  for (auto t : all) m.write(t);
  for (auto t : all) m.read(t);
  const auto found = check_memory(m);
  ASSERT_EQ(codes(found), Codes{"memory.R9"});
  EXPECT_EQ(found[0].found, "no gap of 1200 bytes per partition for `p8` among 9 psum tensors alive here");
  EXPECT_EQ(found[0].allowed, "16384 bytes per partition, 8 banks of 2048 (trn2)");
  EXPECT_EQ(found[0].notes.size(), 9u);
}

Codes check_io_codes(ProgramMaker& m) {
  std::vector<Diagnostic> out;
  const isa::Program& program = m.finish();
  check_io(program, trn2(), live_intervals(program), out);
  return codes(out);
}

TEST(Rules, InterfaceMemories) {
  for (const Memory memory : {Memory::hbm, Memory::shared_hbm, Memory::private_hbm, Memory::sbuf, Memory::psum}) {
    for (const isa::Role role : {isa::Role::internal, isa::Role::input, isa::Role::output, isa::Role::inout}) {
      ProgramMaker m;
      m.program.tensors[m.tensor("t", memory, {128, 4})].role = role;
      Codes expected;
      if (role != isa::Role::internal && memory == Memory::private_hbm) expected = {"io.R1"};
      if (role == isa::Role::output && memory == Memory::hbm) expected = {"io.R3"};
      EXPECT_EQ(check_io_codes(m), expected) << name(memory) << ' ' << name(role);
    }
  }
}

TEST(Rules, HbmHoldsAllTensors) {
  for (const std::int64_t gigabytes : {48, 49}) {
    ProgramMaker m;
    for (const char* name : {"a", "b"}) m.tensor(name, Memory::hbm, {gigabytes << 10, 1 << 18});
    m.tensor("c", Memory::sbuf, {128, 4});
    std::vector<Diagnostic> out;
    check_hbm(m.finish(), trn2(), out);  // 96 GiB
    EXPECT_EQ(codes(out), gigabytes == 48 ? Codes{} : Codes{"memory.R10"});
    for (const Diagnostic& d : out) EXPECT_NE(d.context.find("`b`"), std::string::npos) << d.context;
  }
}

TEST(Rules, Registers) {
  for (const int count : {64, 65}) {
    ProgramMaker together, in_turn;
    for (int i = 0; i < count; ++i) together.reg();
    for (int i = 1; i < count; ++i) together.move(0, static_cast<isa::RegisterId>(i));
    EXPECT_EQ(check_io_codes(together), count == 64 ? Codes{} : Codes{"io.R2"});
    for (int i = 0; i < count; ++i) in_turn.reg();
    EXPECT_EQ(check_io_codes(in_turn), Codes{});
  }
}

}  // namespace
}  // namespace kiln::check
