// The text that programs become, statement by statement; and what is refused.
#include "kiln/emit/emit.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kiln/emit/emit_rules.h"
#include "kiln/isa/builder/builder.h"
#include "kiln/isa/text/parse.h"
#include "tests/error_of.h"

namespace kiln::emit {
namespace {

using namespace isa;

constexpr const char* kHead = "kiln 1\nprogram \"k\" target trn3\n";

// The lines of the kernel between its assertions and its `return`, without their first indentation.
std::string body_of(const std::string& source) {
  std::string out;
  std::size_t at = source.find("\ndef ");
  at = source.find('\n', at + 1) + 1;
  while (at < source.size()) {
    const std::size_t end = source.find('\n', at);
    const std::string line = source.substr(at, end - at);
    at = end + 1;
    if (line.starts_with("    return") || (!line.empty() && line[0] != ' ')) break;
    if (!line.starts_with("    assert")) out += (line.empty() ? line : line.substr(4)) + "\n";
  }
  return out;
}

std::string emitted(const std::string& text, const EmitOptions& options = {}) {
  return body_of(emit(parse(kHead + text, "test.kiln"), options));
}

TEST(Emit, IsOneFunctionWithItsArgumentsAndResults) {
  const std::string source = emit(parse(R"(kiln 1
program "double" target trn2
tensor x: input hbm float32 [128, 512]
tensor y: output shared_hbm float32 [128, 512]
tensor t: sbuf float32 [128, 512] at (0, 1024)
dma_copy(dst=t, src=x)
tensor_scalar(dst=t, data=t, op0=multiply, operand0=2.0, engine=vector)
dma_copy(dst=y, src=t)
)",
                                        "double.kiln"),
                                  {.origin = "double.kiln"});
  EXPECT_EQ(source, R"("""The kernel `double` for trn2, in NKI 0.6.0.

x: input float32(128, 512)
y: output float32(128, 512)

Written by `kiln emit` from double.kiln.
"""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def double(x):
    assert x.shape == (128, 512) and x.dtype == nl.float32
    y = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.shared_hbm)
    t = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf, address=(0, 1024))
    nisa.dma_copy(dst=t, src=x)
    nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=2.0, engine=nisa.engine.vector)
    nisa.dma_copy(dst=y, src=t)
    return y
)");
}

// Accesses, each as the second operand of an instruction that takes any.
struct AccessCase {
  const char *shape, *access, *source;
};

class Accesses : public testing::TestWithParam<AccessCase> {};

TEST_P(Accesses, AreTheSimplestIndexingThatSaysTheSame) {
  const auto& [shape, access, source] = GetParam();
  const bool on_chip = std::string(access).find(':') != std::string::npos;
  const std::string tensor = on_chip ? std::string("tensor x: sbuf float32 ") + shape + "\nmemset(dst=x, value=0.0)\n"
                                     : std::string("tensor x: input hbm float32 ") + shape + "\n";
  const std::string body =
      emitted(tensor + "tensor y: sbuf float32 [4, 2]\nloop i = 0 .. 4 {\ndma_copy(dst=y, src=" + access + ")\n}\n");
  const std::size_t at = body.find("src=") + 4;
  EXPECT_EQ(body.substr(at, body.rfind(')') - at), source);
}

INSTANTIATE_TEST_SUITE_P(
    Emit, Accesses,
    testing::Values(AccessCase{"[4, 2]", "x", "x"}, AccessCase{"[16, 2]", "x.ap([[2, 4], [1, 2]], offset=8)", "x[4:8]"},
                    AccessCase{"[16, 2]", "x.ap([[2, 4], [1, 2]], offset=8*i)", "x[nl.ds(i * 4, 4)]"},
                    AccessCase{"[16, 4]", "x.ap([[4, 4], [1, 2]], offset=4*i + 2)", "x[nl.ds(i, 4), 2:4]"},
                    AccessCase{"[16, 4]", "x.ap([[8, 4], [2, 2]], offset=1)", "x[0:7:2, 1:4:2]"},
                    AccessCase{"[4, 4, 2]", "x.ap([[2, 4], [1, 2]], offset=8*i)", "x[i]"},
                    AccessCase{"[32]", "x.ap([[2, 4], [1, 2]], offset=8*i)", "x.reshape((16, 2))[nl.ds(i * 4, 4)]"},
                    AccessCase{"[2, 4]", "x.ap([[1, 4], [4, 2]])", "x.permute((1, 0))"},
                    AccessCase{"[4, 1]", "x.ap([[1, 4], [0, 2]])", "x.broadcast(1, 2)"},
                    AccessCase{"[64]", "x.ap([[3, 4], [7, 2]], offset=i)", "x.ap(pattern=[[3, 4], [7, 2]], offset=i)"},
                    AccessCase{"[8, 8]", "x.ap(2:4, [[1, 2]], offset=i)", "x[2:6, nl.ds(i, 2)]"},
                    AccessCase{"[4, 4]", "x.ap(0:4, [[2, 2]], offset=1)", "x[:, 1:4:2]"},
                    AccessCase{"[4, 8]", "x.ap(0:4, [[1, 2]], offset=2*i)", "x[:, nl.ds(i * 2, 2)]"},
                    AccessCase{"[4, 8]", "x.ap(0:4, [[5, 2]], offset=2)", "x[:, 2:8:5]"},
                    AccessCase{"[4, 2, 4]", "x.ap(0:4, [[3, 2]], offset=2)",
                               "x.ap(pattern=[[8, 4], [3, 2]], offset=2)"}));

TEST(Emit, LoopsStayLoopsAndUnusedVariablesHaveNoName) {
  EXPECT_EQ(emitted(R"(tensor x: input hbm float32 [1024, 512]
tensor y: output shared_hbm float32 [1024, 512]
loop row = 0 .. 1024 step 128 {
  tensor t: sbuf float32 [128, 512]
  dma_copy(dst=t, src=x.ap([[512, 128], [1, 512]], offset=512*row))
  loop i = 0 .. 3 {
    tensor_scalar(dst=t, data=t, op0=multiply, operand0=2)
  }
  dma_copy(dst=y.ap([[512, 128], [1, 512]], offset=512*row), src=t)
}
)"),
            R"(y = nl.ndarray((1024, 512), dtype=nl.float32, buffer=nl.shared_hbm)
for row in range(0, 1024, 128):
    t = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x[nl.ds(row, 128)])
    for _ in range(3):
        nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=2)
    nisa.dma_copy(dst=y[nl.ds(row, 128)], src=t)
)");
}

// Tiles that one loop loads and a later one uses: what lists are for.
Program tiles(std::int64_t count) {
  Kernel k("tiles", Target::trn2);
  const View x = k.input("x", {count * 128, 64}, DType::float32);
  const View y = k.output("y", {count * 128, 64}, DType::float32);
  std::vector<View> tiles;
  for (std::int64_t i = 0; i < count; ++i) {
    tiles.push_back(k.sbuf({128, 64}, DType::float32, {.name = "tile_" + std::to_string(i)}));
    k.dma_copy({.dst = tiles.back(), .src = x(ds(i * 128, 128))});
  }
  for (std::int64_t i = 0; i < count; ++i) k.dma_copy({.dst = y(ds(i * 128, 128)), .src = tiles[i]});
  return k.finish();
}

TEST(Emit, WhatRepeatsIsRolledUp) {
  EXPECT_EQ(body_of(emit(tiles(6))), R"(y = nl.ndarray((768, 64), dtype=nl.float32, buffer=nl.shared_hbm)
tile_list = []
for i in range(6):
    tile = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
    tile_list.append(tile)
    nisa.dma_copy(dst=tile, src=x[nl.ds(i * 128, 128)])
for i in range(6):
    nisa.dma_copy(dst=y[nl.ds(i * 128, 128)], src=tile_list[i])
)");
  const std::string unrolled = body_of(emit(tiles(6), {.roll = false}));
  EXPECT_EQ(std::count(unrolled.begin(), unrolled.end(), '\n'), 1 + 3 * 6);
  EXPECT_EQ(unrolled.find("for "), std::string::npos);
}

TEST(Emit, TheSameProgramIsTheSameText) { EXPECT_EQ(emit(tiles(9)), emit(tiles(9))); }

TEST(Emit, NumbersThatDoNotGrowEvenlyAreNotRolled) {
  const std::string body = emitted(R"(tensor x: input hbm float32 [64]
tensor y: output shared_hbm float32 [64]
dma_copy(dst=y.ap([[1, 1]], offset=0), src=x.ap([[1, 1]], offset=0))
dma_copy(dst=y.ap([[1, 1]], offset=1), src=x.ap([[1, 1]], offset=1))
dma_copy(dst=y.ap([[1, 1]], offset=2), src=x.ap([[1, 1]], offset=4))
dma_copy(dst=y.ap([[1, 1]], offset=3), src=x.ap([[1, 1]], offset=9))
)");
  EXPECT_EQ(body.find("for "), std::string::npos);
}

// Sums over blocks, of which the first begins the sums: tiles that one pass makes and the others use.
TEST(Emit, APassThatDiffersInOnePlaceIsAPassOfTheLoop) {
  Kernel k("sums", Target::trn2);
  const View x = k.input("x", {512, 64}, DType::float32), y = k.output("y", {128, 64}, DType::float32);
  std::vector<View> sums;
  for (int block = 0; block < 4; ++block) {
    const View tile = k.sbuf({128, 64}, DType::float32, {.name = "tile_" + std::to_string(block)});
    k.dma_copy({.dst = tile, .src = x(ds(block * 128, 128))});
    for (int i = 0; i < 6; ++i) {
      const View piece = tile(all, ds(i / 3 * 30 + i % 3 * 8, 8));
      if (block == 0) {
        sums.push_back(k.sbuf({128, 8}, DType::float32, {.name = "sum_" + std::to_string(i)}));
        k.tensor_copy({.dst = sums[i], .src = piece});
      } else {
        k.tensor_tensor({.dst = sums[i], .data1 = sums[i], .data2 = piece, .op = AluOp::add});
      }
      k.tensor_scalar({.dst = piece, .data = piece, .op0 = AluOp::multiply, .operand0 = 2});
      k.tensor_copy({.dst = piece, .src = piece});
    }
  }
  for (int i = 0; i < 6; ++i) k.dma_copy({.dst = y(all, ds(i / 3 * 30 + i % 3 * 8, 8)), .src = sums[i]});
  EXPECT_EQ(body_of(emit(k.finish())), R"(y = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.shared_hbm)
sum_list = []
for i in range(4):
    tile = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x[nl.ds(i * 128, 128)])
    for j in range(2):
        for k in range(3):
            if i == 0:
                sum = nl.ndarray((128, 8), dtype=nl.float32, buffer=nl.sbuf)
                sum_list.append(sum)
                nisa.tensor_copy(dst=sum, src=tile[:, nl.ds(j * 30 + k * 8, 8)])
            else:
                nisa.tensor_tensor(dst=sum_list[j * 3 + k], data1=sum_list[j * 3 + k],
                                   data2=tile[:, nl.ds(j * 30 + k * 8, 8)], op=nl.add)
            nisa.tensor_scalar(dst=tile[:, nl.ds(j * 30 + k * 8, 8)],
                               data=tile[:, nl.ds(j * 30 + k * 8, 8)], op0=nl.multiply,
                               operand0=2)
            nisa.tensor_copy(dst=tile[:, nl.ds(j * 30 + k * 8, 8)],
                             src=tile[:, nl.ds(j * 30 + k * 8, 8)])
for i in range(3):
    nisa.dma_copy(dst=y[:, nl.ds(i * 8, 8)], src=sum_list[i])
for i in range(3):
    nisa.dma_copy(dst=y[:, nl.ds(i * 8 + 30, 8)], src=sum_list[i + 3])
)");
}

TEST(Emit, ThePassThatDiffersMayBeTheLastOne) {
  Kernel k("last", Target::trn2);
  const View x = k.inout("x", {128, 64}, DType::float32), y = k.output("y", {128, 64}, DType::float32);
  for (int i = 0; i < 5; ++i) {
    const View tile = k.sbuf({128, 8}, DType::float32, {.name = "tile_" + std::to_string(i)});
    k.dma_copy({.dst = tile, .src = x(all, ds(i * 8, 8))});
    k.tensor_scalar({.dst = tile, .data = tile, .op0 = AluOp::multiply, .operand0 = 2});
    if (i < 4) k.dma_copy({.dst = x(all, ds(i * 8 + 8, 8)), .src = tile});
    k.tensor_scalar({.dst = tile, .data = tile, .op0 = AluOp::add, .operand0 = 1});
    k.dma_copy({.dst = y(all, ds(i * 8, 8)), .src = tile});
  }
  EXPECT_EQ(body_of(emit(k.finish())), R"(y = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.shared_hbm)
for i in range(5):
    tile = nl.ndarray((128, 8), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x[:, nl.ds(i * 8, 8)])
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=2)
    if i < 4:
        nisa.dma_copy(dst=x[:, nl.ds(i * 8 + 8, 8)], src=tile)
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.add, operand0=1)
    nisa.dma_copy(dst=y[:, nl.ds(i * 8, 8)], src=tile)
)");
}

// From the first tile on, passes of two statements differ in what they read. From the first copy on they do not.
TEST(Emit, WhatDiffersFromOneStatementOnIsRolledFromALaterOne) {
  Kernel k("later", Target::trn2);
  const View y = k.output("y", {128, 64}, DType::float32);
  const auto tile = [&](int i) { return k.sbuf({128, 64}, DType::float32, {.name = "tile_" + std::to_string(i)}); };
  const View first = tile(0);
  for (int i = 1; i < 6; ++i) {
    k.dma_copy({.dst = y(ds(0, 128)), .src = first});
    tile(i);
  }
  EXPECT_EQ(body_of(emit(k.finish())), R"(y = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.shared_hbm)
tile_0 = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
for _ in range(5):
    nisa.dma_copy(dst=y, src=tile_0)
    nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
)");
}

TEST(Emit, RegistersAndLoopsOnThem) {
  EXPECT_EQ(emitted(R"(register n
register i frozen
tensor count: input hbm int32 [1]
tensor x: input hbm float32 [64, 512]
tensor y: output shared_hbm float32 [64, 512]
register_alloc(dst=n)
register_load(dst=n, src=count)
for i = 0 .. n step 2 usually 7 {
  dma_copy(dst=y.ap([[512, 1], [1, 512]], scalar_offset=i, scale=512),
           src=x.ap([[512, 1], [1, 512]], scalar_offset=i, scale=512))
}
while n usually 0 {
  register_load(dst=n, src=count)
}
)"),
            R"(y = nl.ndarray((64, 512), dtype=nl.float32, buffer=nl.shared_hbm)
n = nisa.register_alloc()
nisa.register_load(dst=n, src=count)

def body(i):
    nisa.dma_copy(dst=y[nl.ds(i, 1)], src=x[nl.ds(i, 1)])

# kiln: usually 7
nl.fori_loop(0, n, body, step=2)

def body_1(_):
    nisa.register_load(dst=n, src=count)
    return n

# kiln: usually 0
nl.while_loop(n, body_1)
)");
}

TEST(Emit, DependenciesAreExplicitOrABlockThatKeepsItsOrder) {
  EXPECT_EQ(emitted(R"(tensor x: input hbm float32 [8]
tensor y: output shared_hbm float32 [8]
%0: dma_copy(dst=y, src=x)
%1: dma_copy(dst=y, src=x) after(%0)
dma_copy(dst=y, src=x) after(%1)
dma_copy(dst=y, src=x, dge_mode=swdge) name="last, of all" after(%0)
)"),
            R"(y = nl.ndarray((8,), dtype=nl.float32, buffer=nl.shared_hbm)
with nl.no_reorder():
    dma_copy = nisa.dma_copy(dst=y, src=x)
    nisa.dma_copy(dst=y, src=x)
    nisa.dma_copy(dst=y, src=x)
nisa.dma_copy(dst=y, src=x, dge_mode=nisa.dge_mode.swdge,
              name="last, of all").depends_on(dma_copy)
)");
}

// One core of a pair copies its half of the rows.
Program half(int core, int extra) {
  Kernel k("half", Target::trn2);
  k.pair();
  const View x = k.input("x", {512, 64}, DType::float32, Memory::shared_hbm);
  const View y = k.output("y", {512, 64}, DType::float32);
  for (int i = 0; i < 2 + extra; ++i) {
    const View t = k.sbuf({128, 64}, DType::float32);
    k.dma_copy({.dst = t, .src = x(ds(core * 256 + i % 2 * 128, 128))});
    k.dma_copy({.dst = y(ds(core * 256 + i % 2 * 128, 128)), .src = t});
  }
  return k.finish();
}

TEST(Emit, APairOfCoresIsOneKernelWhereItCanBe) {
  const std::vector<Program> cores{half(0, 0), half(1, 0)};
  EXPECT_EQ(body_of(emit(Launch::of(cores))), R"(core = nl.program_id(0)
y = nl.ndarray((512, 64), dtype=nl.float32, buffer=nl.shared_hbm)
for i in range(2):
    t0 = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=t0, src=x[nl.ds(core * 256 + i * 128, 128)])
    nisa.dma_copy(dst=y[nl.ds(core * 256 + i * 128, 128)], src=t0)
)");
  const std::vector<Program> other{half(0, 0), half(1, 1)};
  const std::string branches = body_of(emit(Launch::of(other)));
  EXPECT_NE(branches.find("if core == 0:\n"), std::string::npos);
  EXPECT_NE(branches.find("\nelse:\n"), std::string::npos);
}

TEST(Emit, NamesAreLegalAndEachMeansOneThing) {
  const std::string body = emitted(R"(tensor `for`: input hbm float32 [8]
tensor `a b`: input hbm float32 [8]
tensor a_b: output shared_hbm float32 [8]
tensor `7`: hbm float32 [8]
tensor `_`: hbm float32 [8]
loop i = 0 .. 3 {
  dma_copy(dst=`7`, src=`_`)
}
dma_copy(dst=a_b, src=`a b`)
)");
  EXPECT_EQ(body, R"(a_b_1 = nl.ndarray((8,), dtype=nl.float32, buffer=nl.shared_hbm)
t7 = nl.ndarray((8,), dtype=nl.float32, buffer=nl.hbm)
__1 = nl.ndarray((8,), dtype=nl.float32, buffer=nl.hbm)
for _ in range(3):
    nisa.dma_copy(dst=t7, src=__1)
nisa.dma_copy(dst=a_b_1, src=a_b)
)");
}

TEST(Emit, GroupsAreComments) {
  const Program program = parse(std::string(kHead) + R"(tensor x: input hbm float32 [8]
tensor y: output shared_hbm float32 [8]
dma_copy(dst=y, src=x)
dma_copy(dst=y, src=x, dge_mode=swdge)
loop i = 0 .. 2 {
  tensor t: hbm float32 [8]
  dma_copy(dst=t, src=x)
  dma_copy(dst=y, src=t)
}
)",
                                "test.kiln");
  EXPECT_EQ(body_of(emit(program, {.groups = {{"load", "load", "copy\nagain", "store"}}})),
            R"(# load
y = nl.ndarray((8,), dtype=nl.float32, buffer=nl.shared_hbm)
nisa.dma_copy(dst=y, src=x)
nisa.dma_copy(dst=y, src=x, dge_mode=nisa.dge_mode.swdge)
# copy again
for _ in range(2):
    t = nl.ndarray((8,), dtype=nl.float32, buffer=nl.hbm)
    nisa.dma_copy(dst=t, src=x)
    # store
    nisa.dma_copy(dst=y, src=t)
)");
}

TEST(Emit, ConstantsStandInTheSource) {
  const std::string source = emit(parse(std::string(kHead) + R"(tensor eye: input hbm float32 [8, 8]
tensor y: output shared_hbm float32 [8, 8]
dma_copy(dst=y, src=eye)
)",
                                        "test.kiln"),
                                  {.constants = {{"eye", "np.eye(8, dtype=np.float32)"}}});
  EXPECT_NE(source.find("import numpy as np\n"), std::string::npos);
  EXPECT_NE(source.find("\nCONSTANT = np.eye(8, dtype=np.float32)\n"), std::string::npos);
  EXPECT_NE(source.find("def k():\n    constant = nl.shared_constant(CONSTANT)\n"), std::string::npos);
}

TEST(Emit, NoLineIsTooLong) {
  std::string shape = "[2, 2, 2, 2, 2, 2, 2, 2]", name(40, 'n');
  const std::string source =
      emit(parse(std::string(kHead) + "tensor " + name + ": input hbm float32 " + shape + "\ntensor " + name +
                     "_out: output shared_hbm float32 " + shape + "\ndma_copy(dst=" + name + "_out, src=" + name +
                     ") name=\"" + name + "\"\n",
                 "test.kiln"));
  std::size_t longest = 0, column = 0;
  for (const char c : source) longest = std::max(longest, column = c == '\n' ? 0 : column + 1);
  EXPECT_LE(longest, 100u) << source;
}

struct Refusal {
  const char *text, *code;
};
class Refused : public testing::TestWithParam<Refusal> {};
TEST_P(Refused, ByName) {
  const Program program = parse(GetParam().text, "test.kiln");
  EXPECT_EQ(error_of([&] { emit(program); }).code, GetParam().code);
}
INSTANTIATE_TEST_SUITE_P(
    Emit, Refused,
    testing::Values(
        Refusal{"kiln 1 program \"k\" target trn2 fragment tensor x: input sbuf float32 [8, 8]\n", "emit.R1"},
        Refusal{"kiln 1 program \"k\" target trn2 nki 3 tensor x: input hbm float32 [8, 8]\n", "emit.R2"},
        Refusal{"kiln 1 program \"k\" target trn2 register r tensor x: input hbm int32 [64]\n"
                "register_alloc(dst=r, x=0) register_load(dst=r, src=x.ap([[1, 1]], scalar_offset=r, scale=7))\n",
                "emit.R3"},
        Refusal{"kiln 1 program \"k\" target trn2 register r register_alloc(dst=r) register_alloc(dst=r)\n", "emit.R4"},
        Refusal{"kiln 1 program \"k\" target trn2 register r tensor x: inout hbm float32 [8]\n"
                "%0: register_alloc(dst=r) memset(dst=x, value=0.0) dma_copy(dst=x, src=x) after(%0)\n",
                "emit.R4"},
        Refusal{"kiln 1 program \"k\" target trn2 register r register i frozen register_alloc(dst=i)\n", "program.R13"},
        Refusal{"kiln 1 program \"k\" target trn2 tensor x: hbm float8_e3m4 [8, 8]\n", "emit.R5"},
        Refusal{"kiln 1 program \"k\" target trn2 tensor x: input hbm tfloat32 [8, 8]\n", "emit.R5"}));

}  // namespace
}  // namespace kiln::emit
