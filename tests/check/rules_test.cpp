// One rejected case per rule, its nearest accepted neighbour, and what the messages say.
#include "kiln/check/rules.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "kiln/check/all_rules.h"
#include "kiln/check/capacity.h"
#include "kiln/check/clobber.h"
#include "kiln/check/io.h"
#include "kiln/check/placement.h"
#include "kiln/isa/builder/builder.h"
#include "kiln/isa/text/parse.h"
#include "tests/check/codes.h"

namespace kiln::check {
namespace {
using namespace analysis;

using isa::Address;
using isa::Kernel;
using isa::View;

const Arch& trn2() { return arch(Target::trn2); }

std::vector<Diagnostic> check_memory(const isa::Program& program) {
  std::vector<Diagnostic> out;
  const Liveness live = live_intervals(program);
  check_placement(program, trn2(), out);
  if (!out.empty()) return out;
  check_clobbered(program, live, out);
  check_capacity(program, trn2(), live, true, out);
  return out;
}

Codes placed(Memory memory, std::int64_t partitions, std::int64_t bytes, std::optional<Address> address,
             DType dtype = DType::uint8) {
  Kernel k("placed");
  k.tensor(memory, isa::Role::internal, {partitions, bytes / size_bytes(dtype)}, dtype, {.address = address});
  return codes(check_memory(k.program()));
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

// Statements in their text form, the first on line 1; `sink` is a tensor in HBM to read into.
isa::Program program_of(const std::string& statements) {
  return isa::parse("kiln 1 program \"rules\" target trn2 tensor sink: hbm uint8 [1] " + statements, "rules.kiln");
}

// Two tensors of 64 bytes, the second one `shift` bytes after the first. What follows them starts on line 3.
isa::Program pair(const std::string& statements, std::int64_t shift = 0, std::int64_t partition_of_b = 0) {
  const std::string at = std::to_string(partition_of_b) + ", " + std::to_string(1024 + shift);
  return program_of("tensor a: sbuf uint8 [32, 64] at (0, 1024)\ntensor b: sbuf uint8 [32, 64] at (" + at + ")\n" +
                    statements);
}
const std::string kWriteA = "memset(dst=a, value=0)\n", kWriteB = "memset(dst=b, value=0)\n";
const std::string kReadA = "dma_copy(dst=sink, src=a)\n", kReadB = "dma_copy(dst=sink, src=b)\n";

TEST(Rules, ClobberedValue) {
  const auto found = check_memory(pair(kWriteA + kWriteB + kReadA, 60));
  ASSERT_EQ(codes(found), Codes{"memory.R7"});
  EXPECT_EQ(found[0].loc.line, 5);  // the read
  EXPECT_EQ(found[0].found, "`a` is read after `b` overwrote its bytes 1084 to 1087 in partitions 0 to 31");
  ASSERT_EQ(found[0].notes.size(), 3u);
  EXPECT_EQ(found[0].notes[0].loc.line, 4);  // the write of b
}

TEST(Rules, SharedBytesThatAreLegal) {
  for (const auto& [shift, partition] : {std::pair{64, 0}, {-64, 0}, {0, 32}}) {
    const isa::Program apart = pair(kWriteA + kWriteB + kReadA, shift, partition);
    EXPECT_EQ(codes(check_memory(apart)), Codes{}) << shift << ' ' << partition;
  }
  const std::string turn = kWriteA + kReadA + kWriteB + kReadB;
  EXPECT_EQ(codes(check_memory(pair(turn + turn + turn))), Codes{});
  EXPECT_EQ(codes(check_memory(pair(kWriteA + kReadB + kReadA))), Codes{});  // b is a view of a
  // b works on what a wrote: they are two names of one value.
  EXPECT_EQ(codes(check_memory(pair(kWriteA + "tensor_copy(dst=b, src=b)\n" + kReadA))), Codes{});
  const isa::Program other_columns = pair(R"(
    memset(dst=a.ap(0:32, [[1, 32]]), value=0)
    memset(dst=b.ap(0:32, [[1, 32]], offset=32), value=0)
    dma_copy(dst=sink, src=a.ap(0:32, [[1, 32]]))
  )");
  EXPECT_EQ(codes(check_memory(other_columns)), Codes{});
}

TEST(Rules, PartlyRestored) {
  for (const std::int64_t first : {0, 32}) {
    const isa::Program program = pair(kWriteA + kWriteB +
                                      "memset(dst=a.ap(0:32, [[1, 32]]), value=0)\n"
                                      "dma_copy(dst=sink, src=a.ap(0:32, [[1, 32]], offset=" +
                                      std::to_string(first) + "))\n");
    EXPECT_EQ(codes(check_memory(program)), first == 0 ? Codes{} : Codes{"memory.R7"});
  }
}

TEST(Rules, ClobberedInTheNextPass) {
  for (const std::int64_t passes : {1, 2}) {
    const std::string loop = "loop i = 0 .. " + std::to_string(passes) + " {\n" + kReadA + kWriteB + "}\n";
    EXPECT_EQ(codes(check_memory(pair(kWriteA + loop))), passes == 1 ? Codes{} : Codes{"memory.R7"});
  }
}

TEST(Rules, DeepLoopsDoNotTakeForever) {
  std::string statements = kWriteA + kWriteB + kReadA;
  for (int i = 0; i < 64; ++i) statements = "loop i" + std::to_string(i) + " = 0 .. 2 {\n" + statements + "}\n";
  EXPECT_FALSE(check_memory(pair(statements)).empty());
}

TEST(Rules, RestoredPieceByPieceInALoop) {
  const std::string pieces = "loop i = 0 .. 8 { memset(dst=a.ap(0:32, [[1, 8]], offset=8*i), value=0) }\n";
  EXPECT_EQ(codes(check_memory(pair(kWriteA + kWriteB + pieces + kReadA))), Codes{});
}

TEST(Rules, CapacityMessage) {
  std::string declared = "tensor big: sbuf uint8 [128, 200000]\n";
  std::string written = "memset(dst=big, value=0)\n", read = "dma_copy(dst=sink, src=big)\n";
  for (int i = 0; i < 14; ++i) {
    const std::string name = fmt::format("t{}", i);
    declared += "tensor " + name + ": sbuf float32 [128, " + std::to_string(256 + i) + "]\n";
    written += "memset(dst=" + name + ", value=0)\n";
    read += "dma_copy(dst=sink, src=" + name + ")\n";
  }
  const auto found = check_memory(program_of(declared + written + read));
  ASSERT_EQ(codes(found), Codes{"memory.R8"});
  const Diagnostic& d = found[0];
  // 200000 + 4 * (14 * 256 + 91) = 214700
  EXPECT_EQ(d.found,
            "15 sbuf tensors alive here need 214700 bytes per partition, 1716 more than there are; that is as written, "
            "when instructions are reordered they need 200000");
  EXPECT_EQ(d.allowed, "212984 bytes per partition (trn2, 16392 reserved)");
  EXPECT_EQ(d.context, "memset");
  EXPECT_EQ(d.loc.line, 15 + 15);  // the last write
  ASSERT_EQ(d.notes.size(), 13u);
  EXPECT_EQ(d.notes[0].text, "`big` uint8 (128, 200000), 200000 bytes per partition");
  EXPECT_EQ(d.notes[0].loc.line, 1);
  EXPECT_EQ(d.notes[1].text, "`t13` float32 (128, 269), 1076 bytes per partition");
  EXPECT_EQ(d.notes[12].text, "and 3 more with 3084 bytes per partition");  // t0, t1, t2
}

TEST(Rules, PiecesMessage) {
  Kernel k("pieces");
  const View sink = k.hbm({1}, DType::uint8);
  std::vector<View> all;
  for (int i = 0; i < 9; ++i) all.push_back(k.psum({128, 1200}, DType::uint8, {.name = fmt::format("p{}", i)}));
  for (const View& t : all) k.memset({.dst = t, .value = 0});
  for (const View& t : all) k.tensor_copy({.dst = sink, .src = t});
  const auto found = check_memory(k.program());
  ASSERT_EQ(codes(found), Codes{"memory.R9"});
  EXPECT_EQ(found[0].found,
            "no gap of 1200 bytes per partition for `p8` among 9 psum tensors alive here; that is as written, when "
            "instructions are reordered they need 1200");
  EXPECT_EQ(found[0].allowed, "16384 bytes per partition, 8 banks of 2048 (trn2)");
  ASSERT_EQ(found[0].notes.size(), 1u);  // one line made them all
  EXPECT_EQ(found[0].notes[0].text,
            "`p0` and 8 like it: uint8 (128, 1200), 1200 bytes per partition each, 10800 together");
}

// A tile placed by hand in the middle of SBUF leaves 112952 bytes behind it, and fewer before it.
TEST(Rules, ATensorThatFindsNoGapBesideOnesPlacedByHandIsAnError) {
  for (const std::int64_t bytes : {112952, 112953}) {
    Kernel k("gap");
    const View sink = k.hbm({1}, DType::uint8);
    const View fixed = k.sbuf({128, 32}, DType::uint8, {.address = isa::Address{0, 100000}});
    const View large = k.sbuf({128, bytes}, DType::uint8, {.name = "large"});
    for (const View& t : {fixed, large}) k.memset({.dst = t, .value = 0});
    k.tensor_tensor({.dst = sink, .data1 = fixed, .data2 = large, .op = AluOp::add});
    const auto found = check_memory(k.program());
    ASSERT_EQ(codes(found), bytes == 112952 ? Codes{} : Codes{"memory.R9"});
    for (const Diagnostic& d : found) EXPECT_EQ(d.severity, Severity::error);
  }
}

Codes check_io_codes(const isa::Program& program) {
  std::vector<Diagnostic> out;
  check_io(program, trn2(), live_intervals(program), out);
  return codes(out);
}

TEST(Rules, InterfaceMemories) {
  for (const Memory memory : {Memory::hbm, Memory::shared_hbm, Memory::private_hbm, Memory::sbuf, Memory::psum}) {
    for (const isa::Role role : {isa::Role::internal, isa::Role::input, isa::Role::output, isa::Role::inout}) {
      Kernel k("interface");
      k.tensor(memory, role, {128, 4}, DType::float32, {.name = "t"});
      Codes expected;
      if (role != isa::Role::internal && memory == Memory::private_hbm) expected = {"io.R1"};
      if (role == isa::Role::output && memory == Memory::hbm) expected = {"io.R3"};
      EXPECT_EQ(check_io_codes(k.program()), expected) << name(memory) << ' ' << name(role);
    }
  }
}

TEST(Rules, HbmHoldsAllTensors) {
  for (const std::int64_t gigabytes : {48, 49}) {
    Kernel k("hbm");
    for (const char* name : {"a", "b"}) k.hbm({gigabytes << 10, 1 << 18}, DType::float32, {.name = name});
    k.sbuf({128, 4}, DType::float32, {.name = "c"});
    std::vector<Diagnostic> out;
    check_hbm(k.program(), trn2(), out);  // 96 GiB
    EXPECT_EQ(codes(out), gigabytes == 48 ? Codes{} : Codes{"memory.R10"});
    for (const Diagnostic& d : out) EXPECT_NE(d.context.find("`b`"), std::string::npos) << d.context;
  }
}

TEST(Rules, Registers) {
  for (const int count : {64, 65}) {
    Kernel together("together"), in_turn("in_turn");
    std::vector<isa::Reg> registers;
    for (int i = 0; i < count; ++i) registers.push_back(together.reg());
    for (int i = 1; i < count; ++i) together.register_move({.dst = registers[0], .src = registers[i]});
    EXPECT_EQ(check_io_codes(together.program()), count == 64 ? Codes{} : Codes{"io.R2"});
    for (int i = 0; i < count; ++i) in_turn.reg();
    EXPECT_EQ(check_io_codes(in_turn.program()), Codes{});
  }
}

}  // namespace
}  // namespace kiln::check
