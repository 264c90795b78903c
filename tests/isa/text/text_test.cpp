// The text form: what it looks like, that it reads back exactly, and that bad text is refused with the right
// rule.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include "kiln/isa/default_arg.h"
#include "kiln/isa/table.h"
#include "kiln/isa/text/parse.h"
#include "kiln/isa/text/print.h"
#include "kiln/isa/text/text_words.h"
#include "kiln/isa/verify/verify.h"
#include "tests/error_of.h"
#include "tests/programs/random_program.h"
#include "tests/seed.h"

namespace kiln::isa {
namespace {

Program parse_plain(std::string_view text) { return parse(text, "test.kiln", {.text_locations = false}); }

Diagnostic error_of(std::string_view text) {
  return kiln::error_of([&] { parse(text, "test.kiln"); });
}

// A program around some statements.
std::string with_header(std::string_view statements) {
  return fmt::format(
      "kiln 1\nprogram \"p\" target trn2\nregister r0\ntensor h: hbm float32 [64, 512]\n"
      "tensor s: sbuf float32 [128, 512]\n{}",
      statements);
}

// Statement by statement through print, parse, print.
std::string again(std::string_view statements) {
  const std::string text = print(parse_plain(with_header(statements)));
  EXPECT_TRUE(text.starts_with(with_header("")));
  return text.substr(with_header("").size());
}

// What the text must carry, compared pool entry by pool entry.
class Same {
 public:
  Same(const Program& a, const Program& b) : a_(a), b_(b) {}

  void check() {
    EXPECT_EQ(a_.name, b_.name);
    EXPECT_EQ(a_.target, b_.target);
    EXPECT_EQ(a_.nki, b_.nki);
    EXPECT_EQ(a_.lnc, b_.lnc);
    EXPECT_EQ(a_.fragment, b_.fragment);
    EXPECT_EQ(a_.body, b_.body);
    ASSERT_EQ(a_.tensors.size(), b_.tensors.size());
    ASSERT_EQ(a_.loops.size(), b_.loops.size());
    ASSERT_EQ(a_.registers.size(), b_.registers.size());
    ASSERT_EQ(a_.instructions.size(), b_.instructions.size());
    for (std::size_t i = 0; i < a_.tensors.size(); ++i) tensors(a_.tensors[i], b_.tensors[i]);
    for (std::size_t i = 0; i < a_.loops.size(); ++i) loops(a_.loops[i], b_.loops[i]);
    for (std::size_t i = 0; i < a_.registers.size(); ++i) {
      EXPECT_EQ(a_.registers[i].name, b_.registers[i].name);
      EXPECT_EQ(a_.registers[i].frozen, b_.registers[i].frozen);
    }
    for (std::size_t i = 0; i < a_.instructions.size(); ++i) instructions(a_.instructions[i], b_.instructions[i]);
  }

 private:
  void locs(LocId a, LocId b) { EXPECT_EQ(a_.locs[a], b_.locs[b]); }

  void tensors(Tensor a, Tensor b) {
    locs(a.loc, b.loc);
    a.loc = b.loc = 0;
    EXPECT_EQ(a, b) << a.name;
  }

  void loops(const Loop& a, const Loop& b) {
    EXPECT_EQ(a.kind, b.kind);
    EXPECT_EQ(a.variable, b.variable);
    EXPECT_EQ(a.reg, b.reg);
    EXPECT_EQ(a.step, b.step);
    EXPECT_EQ(a.usual, b.usual);
    EXPECT_EQ(a.body, b.body);
    for (const auto& [x, y] : {std::pair{a.lower, b.lower}, std::pair{a.upper, b.upper}}) {
      EXPECT_EQ(x.is_register, y.is_register);
      EXPECT_EQ(x.value, y.value);
    }
    locs(a.loc, b.loc);
  }

  void instructions(const Instruction& a, const Instruction& b) {
    ASSERT_EQ(a.opcode, b.opcode);
    ASSERT_EQ(a.name == kNone, b.name == kNone);
    if (a.name != kNone) {
      EXPECT_EQ(a_.strings[a.name], b_.strings[b.name]);
    }
    ASSERT_EQ(a.dep_count, b.dep_count);
    for (std::uint32_t i = 0; i < a.dep_count; ++i) EXPECT_EQ(a_.deps[a.first_dep + i], b_.deps[b.first_dep + i]);
    locs(a.loc, b.loc);
    const auto& params = info(a.opcode).params;
    for (std::size_t i = 0; i < params.size(); ++i) {
      SCOPED_TRACE(fmt::format("{} {}", info(a.opcode).name, params[i].name));
      args(a_.arg(a, static_cast<int>(i)), b_.arg(b, static_cast<int>(i)));
    }
  }

  void args(const Arg& a, const Arg& b) {
    ASSERT_EQ(a.kind, b.kind);
    ASSERT_EQ(a.count, b.count);
    switch (a.kind) {
      case Arg::Kind::none:
        break;
      case Arg::Kind::access:
        accesses(a_.accesses[a.index], b_.accesses[b.index]);
        break;
      case Arg::Kind::reg:
        EXPECT_EQ(a.index, b.index);
        break;
      case Arg::Kind::real:
        reals(a.real, b.real);
        break;
      case Arg::Kind::accesses:
        for (std::uint32_t i = 0; i < a.count; ++i) accesses(a_.accesses[a.index + i], b_.accesses[b.index + i]);
        break;
      case Arg::Kind::integers:
        for (std::uint32_t i = 0; i < a.count; ++i) EXPECT_EQ(a_.integers[a.index + i], b_.integers[b.index + i]);
        break;
      case Arg::Kind::reals:
        for (std::uint32_t i = 0; i < a.count; ++i) reals(a_.reals[a.index + i], b_.reals[b.index + i]);
        break;
      default:
        EXPECT_EQ(a.integer, b.integer);
    }
  }

  void reals(double a, double b) { EXPECT_EQ(std::bit_cast<std::uint64_t>(a), std::bit_cast<std::uint64_t>(b)); }

  void affines(const Affine& a, const Affine& b) {
    EXPECT_EQ(a.constant, b.constant);
    ASSERT_EQ(a.term_count, b.term_count);
    for (std::uint32_t i = 0; i < a.term_count; ++i) EXPECT_EQ(a_.terms_of(a)[i], b_.terms_of(b)[i]);
  }

  void accesses(const Access& a, const Access& b) {
    EXPECT_EQ(a.tensor, b.tensor);
    EXPECT_EQ(a.dtype, b.dtype);
    ASSERT_EQ(a.rank, b.rank);
    for (int i = 0; i < a.rank; ++i) EXPECT_EQ(a.dims[i], b.dims[i]);
    affines(a.partition, b.partition);
    affines(a.offset, b.offset);
    ASSERT_EQ(a.dynamic == kNone, b.dynamic == kNone);
    if (a.dynamic == kNone) return;
    const Dynamic &x = a_.dynamics[a.dynamic], &y = b_.dynamics[b.dynamic];
    ASSERT_EQ(x.kind, y.kind);
    EXPECT_EQ(x.scale, y.scale);
    if (x.kind == Dynamic::Kind::scalar_register) {
      EXPECT_EQ(x.source, y.source);
    } else {
      accesses(a_.accesses[x.source], b_.accesses[y.source]);
    }
  }

  const Program &a_, &b_;
};

// The block of the manual that starts with ```kiln.
std::string manual_example() {
  std::ifstream file(KILN_SOURCE_DIR "/docs/text-form.md");
  std::stringstream text;
  text << file.rdbuf();
  const std::string all = text.str(), start = "```kiln\n";
  const auto first = all.find(start) + start.size();
  return all.substr(first, all.find("```", first) - first);
}

TEST(Text, ManualExamplePrintsAsItStands) {
  const std::string text = manual_example();
  ASSERT_TRUE(text.starts_with("kiln 1\n"));
  const Program p = parse_plain(text);
  EXPECT_EQ(to_text(verify(p)), "");
  EXPECT_EQ(print(p), text);
}

TEST(Text, RandomProgramsReadBackExactly) {
  const std::uint64_t seed = test::seed();
  std::set<Opcode> seen;
  for (std::uint64_t i = 0; i < 400; ++i) {
    const Program p = random_program(seed + i);
    const std::string text = print(p);
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed + i, text));
    const Program q = parse_plain(text);
    ASSERT_EQ(print(q), text);
    Same(p, q).check();
    ASSERT_FALSE(HasFailure());
    for (const auto& inst : p.instructions) seen.insert(inst.opcode);
  }
  std::size_t instructions = 0;
  for (const auto& row : all_instructions()) instructions += !row.is_query();
  EXPECT_EQ(seen.size(), instructions);
}

TEST(Text, ShuffledIndicesPrintTheSameText) {
  // Tensors and instructions whose numbers do not follow the order of the text.
  Program p =
      parse_plain(with_header("reciprocal(dst=s, data=s)\n%7: max8(dst=s, src=s)\nmax8(dst=s, src=s) after(%7)"));
  const std::string text = print(p);
  std::swap(p.tensors[0], p.tensors[1]);
  std::swap(p.body[0].index, p.body[1].index);
  for (Access& a : p.accesses) a.tensor = 1 - a.tensor;
  std::swap(p.instructions[0], p.instructions[1]);
  std::swap(p.body[2].index, p.body[3].index);
  p.deps[0] = 0;
  EXPECT_EQ(print(p), text);
  EXPECT_NE(text.find("%1: max8"), std::string::npos);
  EXPECT_NE(text.find("after(%1)"), std::string::npos);
}

TEST(Text, HidingLoopVariablesGetASuffix) {
  Program p = parse_plain(
      with_header("loop i = 0 .. 2 {\n  loop j = 0 .. 2 {\n    reciprocal(dst=s.ap(0:1, [[1, 1]], offset=2*i + j), "
                  "data=s)\n  }\n}\n"));
  p.loops[1].variable = "i";
  const std::string text = print(p);
  EXPECT_NE(text.find("loop i_1 = 0 .. 2 {"), std::string::npos);
  EXPECT_NE(text.find("offset=2*i + i_1)"), std::string::npos);
  EXPECT_EQ(print(parse_plain(text)), text);
}

TEST(Text, SpellsValues) {
  // Written, then as it prints.
  const std::pair<const char*, const char*> kCases[] = {
      {"memset(dst=s, value=1)", "memset(dst=s, value=1)"},
      {"memset(dst=s, value=1.0)", "memset(dst=s, value=1.0)"},
      {"memset(dst=s, value=-0.0)", "memset(dst=s, value=-0.0)"},
      {"memset(dst=s, value=1e30)", "memset(dst=s, value=1e+30)"},
      {"memset(dst=s, value=0.1)", "memset(dst=s, value=0.1)"},
      {"memset(dst=s, value=-inf)", "memset(dst=s, value=-inf)"},
      {"memset(dst=s, value=nan)", "memset(dst=s, value=nan)"},
      {"memset(dst=s, value=-9223372036854775808)", "memset(dst=s, value=-9223372036854775808)"},
      {"memset(dst=s, value=0, engine=gpsimd)", "memset(dst=s, value=0, engine=gpsimd)"},
      {"memset(dst=s, value=0, engine=unknown)", "memset(dst=s, value=0)"},
      {"memset(value=0, dst=s)", "memset(dst=s, value=0)"},
      {"nc_match_replace8(dst=s, data=s, vals=s, imm=3)", "nc_match_replace8(dst=s, data=s, vals=s, imm=3.0)"},
      {"dma_copy(dst=s, src=h, dge_mode=none)", "dma_copy(dst=s, src=h, dge_mode=none)"},
      {"dma_copy(dst=s, src=h, priority=none)", "dma_copy(dst=s, src=h)"},
      {"dma_transpose(dst=s, src=h, axes=[])", "dma_transpose(dst=s, src=h)"},
      {"dma_compute(dst=h, srcs=[h, h.ap([[1, 4]])], reduce_op=add, scales=[1, 0.5])",
       "dma_compute(dst=h, srcs=[h, h.ap([[1, 4]])], reduce_op=add, scales=[1.0, 0.5])"},
      {"iota(dst=s, pattern=[[1, 4], [0, 2]], offset=r0)", "iota(dst=s, pattern=[[1, 4], [0, 2]], offset=r0)"},
      {"max8(dst=s.ap(0:128, [[1, 512]]), src=h.ap([[512, 64], [1, 512]]))", "max8(dst=s, src=h)"},
      {"max8(dst=s.ap(3:4, [[2, 8]], dtype=bfloat16, offset=5), src=s)",
       "max8(dst=s.ap(3:4, [[2, 8]], offset=5, dtype=bfloat16), src=s)"},
      {"dma_copy(dst=s, src=h.ap([[512, 8], [1, 512]], scalar_offset=r0, scale=512))",
       "dma_copy(dst=s, src=h.ap([[512, 8], [1, 512]], scalar_offset=r0, scale=512))"},
      {"dma_copy(dst=s, src=h.ap([[512, 8], [1, 512]], scalar_offset=s, scale=1))",
       "dma_copy(dst=s, src=h.ap([[512, 8], [1, 512]], scalar_offset=s.ap(0:128, [[1, 512]])))"},
      {"dma_copy(dst=s, src=h.ap([[512, 8]], vector_offset=s, scale=512))",
       "dma_copy(dst=s, src=h.ap([[512, 8]], vector_offset=s, scale=512))"},
      {"max8(dst=s, src=s.ap(0:128, [[1, 8]], indirect=s))", "max8(dst=s, src=s.ap(0:128, [[1, 8]], indirect=s))"},
      {"max8(dst=s,\n     src=s)  # comment", "max8(dst=s, src=s)"},
      {"max8(dst=`s`, src=s) name=\"a\\u00e9\\n\"", "max8(dst=s, src=s) name=\"a\u00e9\\n\""},
      {"max8(dst=s, src=s) @ \"f.py\":7 from \"g.py:8\", \"h.py:9\"",
       "max8(dst=s, src=s) @ \"f.py\":7 from \"g.py:8\", \"h.py:9\""},
      {"loop i=0..8step 1{max8(dst=s, src=s.ap(0:1, [[1, 8]], offset=7 + i - 2*i))}",
       "loop i = 0 .. 8 {\n  max8(dst=s, src=s.ap(0:1, [[1, 8]], offset=i - 2*i + 7))\n}"},
      {"for r0 = -1 .. r0 step 2 { }", "for r0 = -1 .. r0 step 2 {\n}"},
      {"while r0 { }", "while r0 {\n}"},
      {"while r0 usually 3 { }", "while r0 usually 3 {\n}"},
      {"tensor x.y: output shared_hbm uint8 [2] at (0, 64)", "tensor x.y: output shared_hbm uint8 [2] at (0, 64)"},
      {"tensor none1: internal hbm uint8 [2]", "tensor none1: hbm uint8 [2]"},
      {"tensor `none`: hbm uint8 [2]", "tensor `none`: hbm uint8 [2]"},
      {"tensor `a b`: hbm uint8 [2]", "tensor `a b`: hbm uint8 [2]"},
  };
  for (const auto& [written, printed] : kCases) {
    SCOPED_TRACE(written);
    EXPECT_EQ(again(written), std::string(printed) + "\n");
    EXPECT_EQ(again(printed), std::string(printed) + "\n");
  }
}

TEST(Text, SingleInstructionsAndAccessesPrintOnOneLine) {
  const Program p = parse(with_header("%1: max8(dst=s, src=s)\nmax8(dst=s, src=s) name=\"m\" after(%1)"), "f");
  EXPECT_EQ(print(p, p.instructions[1]), "max8(dst=s, src=s) name=\"m\"");
  EXPECT_EQ(print(p, p.accesses[0]), "s");
  Access broken;
  EXPECT_EQ(print(p, broken), "?tensor4294967295");
}

TEST(Text, LocationsAreKeptOrPointIntoTheText) {
  const std::string text = with_header("max8(dst=s, src=s)\nmax8(dst=s, src=s) @ \"k.py\":3");
  const Program p = parse(text, "f.kiln");
  EXPECT_EQ(p.locs[p.instructions[0].loc], (SourceLoc{"f.kiln", 6, {}}));
  EXPECT_EQ(p.locs[p.instructions[1].loc], (SourceLoc{"k.py", 3, {}}));
  EXPECT_EQ(p.locs[p.tensors[1].loc], (SourceLoc{"f.kiln", 5, {}}));
  EXPECT_EQ(print(p, {.locations = false}).find('@'), std::string::npos);
}

TEST(Text, DefaultsAreThoseOfTheTable) {
  const auto& row = info(Opcode::range_select);
  const Arg low = default_arg(row.params[row.find_param("on_false_value")]);
  EXPECT_EQ(low.kind, Arg::Kind::real);
  EXPECT_EQ(low.real, -static_cast<double>(std::numeric_limits<float>::max()));
  const Arg command = default_arg(row.params[row.find_param("reduce_cmd")]);
  EXPECT_EQ(command.kind, Arg::Kind::enumerator);
  EXPECT_EQ(enum_members(AttrType::ReduceCmd)[command.integer], "reset_reduce");
  const auto& nonzero = info(Opcode::nonzero_with_count);
  EXPECT_EQ(default_arg(nonzero.params[nonzero.find_param("padding_val")]).integer, -1);
  const auto& compute = info(Opcode::dma_compute);
  EXPECT_EQ(default_arg(compute.params[compute.find_param("unique_indices")]).kind, Arg::Kind::boolean);
  EXPECT_EQ(default_arg(compute.params[compute.find_param("scales")]).kind, Arg::Kind::none);
}

std::string nested(int depth) {
  std::string text;
  for (int i = 0; i < depth; ++i) text += fmt::format("loop i{} = 0 .. 2 {{\n", i);
  for (int i = 0; i < depth; ++i) text += "}\n";
  return text;
}

std::string nested_access(int depth) {
  std::string text = "dma_copy(dst=h, src=";
  for (int i = 0; i < depth; ++i) text += "h.ap([[1, 1]], vector_offset=";
  return text + "h" + std::string(depth, ')') + ")";
}

std::string many_terms(int count) {
  std::string text = "loop i = 0 .. 2 { max8(dst=s, src=s.ap(0:1, [[1, 1]], offset=i";
  for (int i = 1; i < count; ++i) text += " - 2*i";
  return text + ")) }";
}

std::string long_list(std::size_t length) {
  std::string text = "tensor_reduce(dst=s, op=add, data=s, axis=[0";
  for (std::size_t i = 1; i < length; ++i) text += ",0";
  return text + "])";
}

TEST(Text, LimitsAreExact) {
  EXPECT_EQ(error_of(with_header(nested(64))).code, "");
  EXPECT_EQ(error_of(with_header(nested(65))).code, "text.R17");
  EXPECT_EQ(error_of(with_header(nested_access(64))).code, "");
  EXPECT_EQ(error_of(with_header(nested_access(65))).code, "text.R17");
  EXPECT_EQ(error_of(with_header(nested_access(20000))).code, "text.R17");
  EXPECT_EQ(error_of(with_header(long_list(65536))).code, "");
  EXPECT_EQ(error_of(with_header(long_list(65537))).code, "text.R18");
  EXPECT_EQ(error_of(with_header("tensor x: hbm uint8 [1, 1, 1, 1, 281474976710656]")).code, "");
  EXPECT_EQ(error_of(with_header("tensor x: hbm uint8 [1, 1, 1, 1, 281474976710657]")).code, "text.R19");
  EXPECT_EQ(error_of(with_header("tensor x: hbm uint8 [1, 1, 1, 1, 1, 1, 1, 1, 1]")).code, "text.R18");
  EXPECT_EQ(error_of(with_header(many_terms(64))).code, "");
  EXPECT_EQ(error_of(with_header(many_terms(65))).code, "text.R18");
}

TEST(Text, EveryRuleRefusesSomething) {
  const std::multimap<std::string, std::string> kRefused = {
      {"text.R1", ""},
      {"text.R1", "tensor a: hbm float32 [1]"},
      {"text.R1", "kiln 2\nprogram \"p\" target trn2"},
      {"text.R2", with_header("tensor a$: hbm float32 [1]")},
      {"text.R2", with_header("tensor `a: hbm float32 [1]")},
      {"text.R2", with_header("max8(dst=s, src=s) name=\"\\q\"")},
      {"text.R2", with_header("max8(dst=s, src=s) name=\"\\ud800\"")},
      {"text.R2", with_header("\xff")},
      {"text.R3", with_header("max8(dst=s src=s)")},
      {"text.R3", with_header("loop i = 0 .. 8 max8(dst=s, src=s)")},
      {"text.R3", with_header("loop i = 0 .. 8 {")},
      {"text.R3", with_header("}")},
      {"text.R3", with_header("loop i = 0 .. 8 { register r1 }")},
      {"text.R4", with_header("memset(dst=s, value=9223372036854775808)")},
      {"text.R4", with_header("memset(dst=s, value=99999999999999999999999)")},
      {"text.R4", with_header("memset(dst=s, value=1e999)")},
      {"text.R4", with_header("max8(dst=s, src=s) @ \"f\":4294967296")},
      {"text.R5", with_header("nc_matmull(dst=s)")},
      {"text.R6", with_header("max8(dest=s, src=s)")},
      {"text.R6", with_header("max8(dst=s, src=s.ap(0:1, [[1, 1]], ofset=1))")},
      {"text.R6", with_header("max8(dst=s, src=s.ap(0:1, [[1, 1]], scale=1))")},
      {"text.R7", with_header("max8(dst=s, dst=s)")},
      {"text.R7", with_header("max8(dst=s, src=s.ap(0:1, [[1, 1]], offset=1, offset=2))")},
      {"text.R8", with_header("max8(dst=x, src=s)")},
      {"text.R9", with_header("tensor a: hbm float23 [1]")},
      {"text.R10", with_header("tensor a: sbfu float32 [1, 1]")},
      {"text.R10", "kiln 1\nprogram \"p\" target trn9"},
      {"text.R10", "kiln 1\nprogram \"p\" target trn2 lnc 3"},
      {"text.R10", "kiln 1\nprogram \"p\" target trn2 nki 2"},
      {"text.R10", "kiln 1\nprogram \"p\" target trn2 nki 7 lnc 2"},
      {"text.R11", with_header("tensor_tensor(dst=s, data1=s, data2=s, op=ad)")},
      {"text.R12", with_header("max8(dst=3, src=s)")},
      {"text.R12", with_header("max8(dst=[s], src=s)")},
      {"text.R12", with_header("nc_transpose(dst=s, data=s, engine=1)")},
      {"text.R12", with_header("topk(val_dst=s, idx_dst=s, src=s, n=1.5)")},
      {"text.R12", with_header("dma_compute(dst=h, srcs=h, reduce_op=add)")},
      {"text.R12", with_header("dma_compute(dst=h, srcs=[h], reduce_op=add, unique_indices=1)")},
      {"text.R13", with_header("tensor s: hbm float32 [1]")},
      {"text.R13", with_header("register r0")},
      {"text.R13", with_header("loop i = 0 .. 2 { loop i = 0 .. 2 { } }")},
      {"text.R13", with_header("%1: max8(dst=s, src=s) %1: max8(dst=s, src=s)")},
      {"text.R14", with_header("loop i = 0 .. 2 { } max8(dst=s, src=s.ap(0:1, [[1, 1]], offset=i))")},
      {"text.R15", with_header("register_move(dst=r1, src=0)")},
      {"text.R15", with_header("while s { }")},
      {"text.R16", with_header("max8(dst=s, src=s) after(%0)")},
      {"text.R16", with_header("%0: max8(dst=s, src=s) after(%0)")},
      {"text.R17", with_header(nested(65))},
      {"text.R18", with_header("tensor a: hbm float32 []")},
      {"text.R18", with_header("max8(dst=s, src=h.ap([[1, 1], [1, 1], [1, 1], [1, 1], [1, 1], [1, 1], [1, "
                               "1], [1, 1], [1, 1]]))")},
      {"text.R19", with_header("tensor a: hbm float32 [9223372036854775807, 2]")},
      {"text.R20", with_header("max8(dst=s, src=s.ap([[1, 1]]))")},
      {"text.R20", with_header("max8(dst=s, src=h.ap(0:1, [[1, 1]]))")},
  };
  for (const auto& [code, text] : kRefused) {
    SCOPED_TRACE(text.substr(0, 300));
    const Diagnostic d = error_of(text);
    EXPECT_EQ(d.code, code);
    EXPECT_EQ(d.category, Category::config);
    EXPECT_EQ(d.loc.file, "test.kiln");
    EXPECT_NE(d.found.find("column " + std::to_string(d.column)), std::string::npos);
    EXPECT_FALSE(d.rule.empty() || d.help.empty());
  }
  for (const Rule& rule : text_rules::kRules) {
    const std::string code = code_of(text_rules::kTable, rule);
    EXPECT_TRUE(kRefused.contains(code)) << code;
  }
}

TEST(Text, ErrorsNameThePlaceAndTheNearestWord) {
  const Diagnostic d = error_of(with_header("  nc_matmull(dst=s)"));
  EXPECT_EQ(d.loc.line, 6);
  EXPECT_EQ(d.found, "'nc_matmull' in test.kiln, line 6, column 3");
  EXPECT_EQ(d.context, "  nc_matmull(dst=s)");
  EXPECT_EQ(d.help, "did you mean nc_matmul?");
  EXPECT_EQ(error_of(with_header("nc_matmul(dst=s, statonary=s)")).help, "did you mean stationary?");
  EXPECT_EQ(error_of(with_header("tensor a: hbm bfloat61 [1]")).help, "did you mean bfloat16?");
  EXPECT_EQ(error_of(with_header("tensor weights: sbuf uint8 [1, 1] max8(dst=weigths, src=s)")).help,
            "did you mean weights?");
  EXPECT_EQ(error_of(with_header("tensor_tensor(dst=s, data1=s, data2=s, op=multiplty)")).help,
            "did you mean multiply?");
}

TEST(Text, TruncationNeverCrashes) {
  RandomProgramOptions small = kSoundProgram;
  small.statements = 12;
  for (const std::string& text : {manual_example(), print(random_program(7, small))}) {
    for (std::size_t n = 0; n < text.size(); ++n) {
      try {
        const Program p = parse(std::string_view(text).substr(0, n), "cut.kiln");
        verify(p);
        print(p);
      } catch (const Error& e) {
        EXPECT_EQ(e.first().category, Category::config) << n;
      }
    }
  }
}

}  // namespace
}  // namespace kiln::isa
