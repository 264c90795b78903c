// The structure of programs: random sound ones pass, and every rule refuses something.
#include "kiln/isa/verify/verify.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>

#include "kiln/isa/text/parse.h"
#include "kiln/isa/verify/program_rules.h"
#include "tests/programs/random_program.h"
#include "tests/seed.h"

namespace kiln::isa {
namespace {

Program program(std::string_view statements, std::string_view flags = "") {
  return parse(fmt::format("kiln 1\nprogram \"p\" target trn2 {}\nregister r0\nregister i frozen\n"
                           "tensor h: hbm float32 [64, 512]\ntensor s: sbuf float32 [128, 512]\n{}",
                           flags, statements),
               "test.kiln");
}

Program changed(std::string_view statements, const std::function<void(Program&)>& change) {
  Program p = program(statements);
  change(p);
  return p;
}

std::string codes(const Program& p) {
  std::string all;
  for (const Diagnostic& d : verify(p)) {
    if (!all.empty()) all += ' ';
    all += d.code;
  }
  return all;
}

TEST(Verify, RandomProgramsAreSound) {
  const std::uint64_t seed = test::seed();
  for (std::uint64_t i = 0; i < 400; ++i) {
    ASSERT_EQ(to_text(verify(random_program(seed + i))), "") << "seed " << seed + i;
    ASSERT_EQ(to_text(verify(random_program(seed + i, kLegalProgram))), "") << "legal, seed " << seed + i;
  }
}

TEST(Verify, EveryRuleRefusesSomething) {
  constexpr auto kOne = "max8(dst=s, src=s)";
  constexpr auto kLoop = "loop k = 0 .. 4 { max8(dst=s, src=s.ap(0:1, [[1, 8]], offset=k)) }";
  constexpr auto kPair = "%0: max8(dst=s, src=s) max8(dst=s, src=s) after(%0)";
  const std::vector<std::pair<std::string, Program>> kRefused = {
      {"program.R1", changed(kOne, [](Program& p) { p.accesses[0].tensor = 9; })},
      {"program.R1", changed(kOne, [](Program& p) { p.args.pop_back(); })},
      {"program.R1", changed(kOne, [](Program& p) { p.instructions[0].loc = 99; })},
      {"program.R1", changed(kOne,
                             [](Program& p) {
                               p.body.push_back({Node::Kind::loop, 0});
                             })},
      {"program.R1", changed(kPair, [](Program& p) { p.deps[0] = 2; })},
      {"program.R1", changed(kLoop, [](Program& p) { p.terms[0].loop = 1; })},
      {"program.R1", changed("while r0 { }", [](Program& p) { p.loops[0].reg = 2; })},
      {"program.R2", changed(kOne, [](Program& p) { p.body.pop_back(); })},
      {"program.R2", changed(kOne, [](Program& p) { p.body.push_back(p.body.back()); })},
      {"program.R2", changed(kOne, [](Program& p) { p.body.push_back(p.body.front()); })},
      {"program.R2", changed(kLoop,
                             [](Program& p) {
                               p.loops[0].body.push_back({Node::Kind::loop, 0});
                             })},
      {"program.R3", changed(kOne, [](Program& p) { p.tensors[0].name = std::string("s"); })},
      {"program.R3", changed(kOne, [](Program& p) { p.tensors[0].name.clear(); })},
      {"program.R3", changed(kOne, [](Program& p) { p.registers[0].name = std::string("i"); })},
      {"program.R4", changed("max8(dst=h, src=s)",
                             [](Program& p) { std::rotate(p.body.begin() + 1, p.body.begin() + 2, p.body.end()); })},
      {"program.R4", program("loop k = 0 .. 2 { tensor t: sbuf float32 [1, 1] } max8(dst=s, src=t)")},
      {"program.R5", program("tensor t: sbuf float32 [128]")},
      {"program.R5", program("tensor t: hbm float32 [0]")},
      {"program.R5", program("tensor t: hbm float32 [4, -4]")},
      {"program.R5", changed(kOne, [](Program& p) { p.tensors[0].shape.assign(9, 1); })},
      {"program.R5", changed(kOne,
                             [](Program& p) {
                               p.tensors[0].shape = {1ll << 40, 1ll << 40};
                             })},
      {"program.R5", program("tensor t: sbuf float32 [1, 1, 1, 1, 1, 1]")},
      {"program.R6", program("max8(dst=s, src=s.ap(0:1, [[1, 1], [1, 1], [1, 1], [1, 1], [1, 1]]))")},
      {"program.R6", program("max8(dst=s, src=s.ap(0:128, []))")},
      {"program.R6", program("max8(dst=s, src=h.ap([]))")},
      {"program.R6", program("max8(dst=s, src=s.ap(0:128, [[1, 0]]))")},
      {"program.R6", program("max8(dst=s, src=s.ap(0:64:2, [[1, 1]]))")},
      {"program.R6", changed("max8(dst=s, src=h)", [](Program& p) { p.accesses[1].partition.constant = 1; })},
      {"program.R7", program("max8(dst=s, src=s.ap(0:1, [[1, 513]]))")},
      {"program.R7", program("max8(dst=s, src=s.ap(0:1, [[-1, 8]], offset=6))")},
      {"program.R7", program("max8(dst=s, src=s.ap(0:1, [[1, 1025]], dtype=bfloat16))")},
      {"program.R7", program("loop k = 0 .. 65 { dma_copy(dst=h.ap([[1, 512]], offset=512*k), src=s) }")},
      {"program.R7", program("loop k = -1 .. 64 { dma_copy(dst=h.ap([[1, 512]], offset=512*k), src=s) }")},
      {"program.R7", program("max8(dst=s, src=s.ap(0:1, [[9223372036854775807, 3]]))")},
      {"program.R7", program("dma_copy(dst=s, src=h.ap([[512, 65], [1, 512]], scalar_offset=r0, scale=512))")},
      {"program.R7", program("dma_copy(dst=s, src=h.ap([[0, 8], [1, 32769]], vector_offset=s, scale=512))")},
      {"program.R8", program("max8(dst=s, src=s.ap(1:128, [[1, 1]]))")},
      {"program.R8", program("loop k = 0 .. 5 { max8(dst=s, src=s.ap(32*k:32, [[1, 1]])) }")},
      {"program.R9", changed(kLoop,
                             [](Program& p) {
                               p.body.push_back(p.loops[0].body[0]);
                               p.loops[0].body.clear();
                             })},
      {"program.R9", changed("for i = 0 .. 4 { max8(dst=s, src=s.ap(0:1, [[1, 8]], offset=1)) }",
                             [](Program& p) {
                               p.terms.push_back({0, 1});
                               p.accesses[1].offset = {0, 0, 1};
                             })},
      {"program.R10", program("loop k = 0 .. 4 step 0 { }")},
      {"program.R10", program("for i = 0 .. r0 step -1 { }")},
      {"program.R10", program("while r0 usually -1 { }")},
      {"program.R10", program("loop k = 0 .. 4294967296 { }")},
      {"program.R10", changed("loop k = 0 .. 4 { }",
                              [](Program& p) {
                                p.loops[0].upper = {true, 0};
                              })},
      {"program.R11", changed("",
                              [](Program& p) {
                                p.loops.resize(65);
                                for (LoopId l = 0; l + 1 < 65; ++l) p.loops[l].body = {{Node::Kind::loop, l + 1}};
                                p.body.push_back({Node::Kind::loop, 0});
                              })},
      {"program.R12", changed("while r0 { }", [](Program& p) { p.loops[0].reg = kNone; })},
      {"program.R13", program("register_move(dst=i, src=0)")},
      {"program.R14", changed(kPair, [](Program& p) { p.deps[0] = 1; })},
      {"program.R14", changed(kPair, [](Program& p) { std::swap(p.body[2], p.body[3]); })},
      {"program.R15", program("while r0 { %0: max8(dst=s, src=s) } max8(dst=s, src=s) after(%0)")},
      {"program.R15", program("while r0 { %0: max8(dst=s, src=s) } while r0 { max8(dst=s, src=s) after(%0) }")},
      {"program.R16", program("tensor t: input sbuf float32 [1, 1]")},
      {"program.R17", program("loop k = 0 .. 2 { tensor t: input hbm float32 [1] }")},
      {"program.R18", program("max8(dst=s)")},
      {"program.R18", program("iota(dst=s, pattern=[])")},
      {"program.R19", changed(kOne, [](Program& p) { p.args[1] = {.kind = Arg::Kind::integer}; })},
      {"program.R19",
       changed("tensor_tensor(dst=s, data1=s, data2=s, op=add)", [](Program& p) { p.args[3].integer = 1000; })},
      {"program.R19", changed("iota(dst=s, pattern=[[1, 2]])", [](Program& p) { p.args[1].count = 1; })},
      {"program.R19", changed("iota(dst=s, pattern=[[1, 2]])", [](Program& p) { p.args[2] = {}; })},
      {"program.R20", program("get_nc_version()")},
      {"program.R21", program("tensor t: input hbm float32 [128, 512] dma_copy(dst=t, src=s)")},
      {"program.R22", program("tensor t: output hbm float32 [128, 512]")},
      {"program.R23", program("max8(dst=s, src=s.ap(0:1, [[1, 8]], vector_offset=s))")},
      {"program.R23", program("dma_copy(dst=s, src=h.ap([[1, 8]], indirect=s))")},
      {"program.R23", program("dma_copy(dst=s, src=h.ap([[1, 8]], vector_offset=s.ap(0:1, [[1, 1]], indirect=s)))")},
      {"program.R24", changed(kOne, [](Program& p) { p.lnc = 3; })},
      {"program.R24", changed(kOne, [](Program& p) { p.lnc = 2, p.target = Target::trn1; })},
  };
  std::map<std::string, int> tried;
  for (const auto& [code, p] : kRefused) {
    const int number = ++tried[code];
    EXPECT_EQ(codes(p), code) << "case " << number << " of " << code << "\n" << to_text(verify(p));
  }
  for (const Rule& rule : program_rules::kRules) {
    const std::string code = code_of(program_rules::kTable, rule);
    EXPECT_TRUE(tried.contains(code)) << code;
  }
}

TEST(Verify, AcceptsWhatIsJustInside) {
  const char* kAccepted[] = {
      "max8(dst=s, src=s.ap(0:1, [[1, 512]]))",
      "max8(dst=s, src=s.ap(0:1, [[1, 1024]], dtype=bfloat16))",
      "max8(dst=s, src=s.ap(0:1, [[-1, 8]], offset=7))",
      "loop k = 0 .. 64 { dma_copy(dst=h.ap([[1, 512]], offset=512*k), src=s) }",
      "loop k = 0 .. 4 { max8(dst=s, src=s.ap(32*k:32, [[1, 1]])) }",
      "loop k = 0 .. 4 { max8(dst=s, src=s.ap(-32*k + 96:32, [[1, 1]])) }",
      "dma_copy(dst=s, src=h.ap([[512, 8], [1, 512]], offset=-512, scalar_offset=r0, scale=512))",
      "dma_copy(dst=s, src=h.ap([[512, 1000], [1, 512]], vector_offset=s, scale=512))",
      "max8(dst=s, src=s.ap(0:128, [[1, 9999]], indirect=s))",
      "%0: max8(dst=s, src=s) while r0 { max8(dst=s, src=s) after(%0) }",
      "while r0 { %0: max8(dst=s, src=s) loop k = 0 .. 2 { max8(dst=s, src=s) after(%0) } }",
      "loop k = 0 .. 2 { %0: max8(dst=s, src=s) } max8(dst=s, src=s) after(%0)",
      "register_store(dst=h.ap([[1, 1]]), src=i)",
  };
  for (const char* text : kAccepted) EXPECT_EQ(to_text(verify(program(text))), "") << text;
  EXPECT_EQ(codes(program("tensor t: input sbuf float32 [1, 1]", "fragment")), "");
  // The other core of a pair may write it.
  EXPECT_EQ(codes(program("tensor t: output shared_hbm float32 [1]", "lnc 2")), "");
  EXPECT_EQ(codes(program("tensor t: output hbm float32 [1]", "lnc 2")), "program.R22");
}

TEST(Verify, FindingsNameTheInstructionAndTheLimit) {
  const auto found = verify(program("max8(dst=s, src=s.ap(0:1, [[1, 8]], offset=505))"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].loc.line, 7);
  EXPECT_EQ(found[0].context, "max8(dst=s, src=s.ap(0:1, [[1, 8]], offset=505))");
  EXPECT_EQ(found[0].found, "s.ap(0:1, [[1, 8]], offset=505) touches float32 elements 505 to 512 of each partition");
  EXPECT_EQ(found[0].allowed, "0 to 511");
}

TEST(Verify, StopsAfterAHundred) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += "max8(dst=s)\n";
  EXPECT_EQ(verify(program(text)).size(), 100u);
}

}  // namespace
}  // namespace kiln::isa
