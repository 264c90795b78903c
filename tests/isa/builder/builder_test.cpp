// The builder: views against dimensions and offsets worked out by hand, what it refuses, loops, and the
// program it makes.
#include <gtest/gtest.h>

#include "kiln/isa/builder/builder.h"
#include "kiln/isa/text/print.h"
#include "kiln/isa/verify/verify.h"
#include "tests/error_of.h"

namespace kiln::isa {
namespace {

using Dims = std::vector<Dim>;
constexpr DType f32 = DType::float32, i32 = DType::int32;

// What an access holds, to compare with numbers.
struct Seen {
  Dims dims;
  std::int64_t partition = 0, offset = 0;
  bool operator==(const Seen&) const = default;
};

Seen seen(const View& v) {
  const Access& a = v.access();
  return {Dims(a.dims, a.dims + a.rank), a.partition.constant, a.offset.constant};
}

void PrintTo(const Seen& s, std::ostream* out) {
  *out << "partition " << s.partition << " offset " << s.offset;
  for (const Dim& d : s.dims) *out << " [" << d.stride << ", " << d.count << "]";
}

#define EXPECT_REFUSED(...)                                      \
  do {                                                           \
    const Diagnostic d = error_of([&] { (void)(__VA_ARGS__); }); \
    EXPECT_EQ(d.code, "builder.R2") << #__VA_ARGS__;             \
    EXPECT_NE(d.found, "") << #__VA_ARGS__;                      \
  } while (false)

class BuilderTest : public testing::Test {
 protected:
  Kernel k{"test", Target::trn2};
  View h = k.input("h", {6, 10, 20}, f32);            // HBM
  View s = k.sbuf({128, 4, 32}, f32, {.name = "s"});  // 128 free elements
};

TEST_F(BuilderTest, WholeTensor) {
  EXPECT_EQ(seen(h), (Seen{{{200, 6}, {20, 10}, {1, 20}}, 0, 0}));
  EXPECT_EQ(seen(s), (Seen{{{1, 128}, {32, 4}, {1, 32}}, 0, 0}));
  EXPECT_EQ(s.shape(), (Shape{128, 4, 32}));
  EXPECT_TRUE(s.on_chip());
  EXPECT_FALSE(h.on_chip());
}

TEST_F(BuilderTest, Slice) {
  EXPECT_EQ(seen(h.slice(1, 3, 5)), (Seen{{{200, 6}, {20, 5}, {1, 20}}, 0, 60}));
  EXPECT_EQ(seen(h.slice(2, 1, 7, 3)), (Seen{{{200, 6}, {20, 10}, {3, 7}}, 0, 1}));
  EXPECT_EQ(seen(h.slice(2, 1, 7, 3).slice(2, 2, 2, 2)), (Seen{{{200, 6}, {20, 10}, {6, 2}}, 0, 7}));
  EXPECT_EQ(seen(s.slice(0, 32, 64)), (Seen{{{1, 64}, {32, 4}, {1, 32}}, 32, 0}));
  EXPECT_EQ(seen(s.slice(0, 32, 64).slice(0, 16, 8).slice(1, 1, 2)), (Seen{{{1, 8}, {32, 2}, {1, 32}}, 48, 32}));
}

TEST_F(BuilderTest, SliceRefused) {
  EXPECT_REFUSED(h.slice(2, 0, 21));
  EXPECT_REFUSED(h.slice(2, 2, 7, 3));  // one further than above
  EXPECT_REFUSED(h.slice(2, -1, 2));
  EXPECT_REFUSED(h.slice(3, 0, 1));
  EXPECT_REFUSED(h.slice(-1, 0, 1));
  EXPECT_REFUSED(h.slice(0, 0, 0));
  EXPECT_REFUSED(h.slice(0, 0, 2, 0));
  EXPECT_REFUSED(s.slice(0, 0, 64, 2));
  EXPECT_REFUSED(h(0, 0, 0, 0));
}

TEST_F(BuilderTest, Select) {
  EXPECT_EQ(seen(h.select(0, 2)), (Seen{{{20, 10}, {1, 20}}, 0, 400}));
  EXPECT_EQ(seen(h.select(2, 19)), (Seen{{{200, 6}, {20, 10}}, 0, 19}));
  EXPECT_EQ(seen(s.select(1, 3)), (Seen{{{1, 128}, {1, 32}}, 0, 96}));
  EXPECT_EQ(seen(s.select(0, 5)), (Seen{{{1, 1}, {32, 4}, {1, 32}}, 5, 0})) << "the partition dimension stays";
  EXPECT_EQ(seen(s.select(1, 3).select(1, 7)), (Seen{{{1, 128}, {1, 1}}, 0, 103})) << "so does the last free one";
  EXPECT_REFUSED(h.select(0, 6));
}

TEST_F(BuilderTest, Index) {
  EXPECT_EQ(seen(h(1, ds(2, 4), ds(0, 10, 2))), (Seen{{{20, 4}, {2, 10}}, 0, 240}));
  EXPECT_EQ(seen(h(all, 3)), (Seen{{{200, 6}, {1, 20}}, 0, 60}));
  EXPECT_EQ(seen(h(5, 9, 19)), (Seen{{{1, 1}}, 0, 1199}));
  EXPECT_EQ(seen(s(ds(64, 64), 1)), (Seen{{{1, 64}, {1, 32}}, 64, 32}));
  EXPECT_EQ(seen(s(7, 1, 2)), (Seen{{{1, 1}, {1, 1}}, 7, 34}));
}

TEST_F(BuilderTest, Permute) {
  EXPECT_EQ(seen(h.permute({2, 0, 1})), (Seen{{{1, 20}, {200, 6}, {20, 10}}, 0, 0}));
  EXPECT_EQ(seen(s.permute({0, 2, 1})), (Seen{{{1, 128}, {1, 32}, {32, 4}}, 0, 0}));
  EXPECT_REFUSED(s.permute({1, 0, 2}));
  EXPECT_REFUSED(h.permute({0, 1}));
  EXPECT_REFUSED(h.permute({0, 1, 1}));
  EXPECT_REFUSED(h.permute({0, 1, 3}));
  EXPECT_REFUSED(h.permute({0, 1, 2, 0, 1, 2, 0}));
}

TEST_F(BuilderTest, BroadcastAndExpandDim) {
  EXPECT_EQ(seen(h(3).expand_dim(0).broadcast(0, 128)), (Seen{{{0, 128}, {20, 10}, {1, 20}}, 0, 600}));
  EXPECT_EQ(seen(s(all, ds(1, 1)).broadcast(1, 8)), (Seen{{{1, 128}, {0, 8}, {1, 32}}, 0, 32}));
  EXPECT_EQ(seen(s.expand_dim(3)), (Seen{{{1, 128}, {32, 4}, {1, 32}, {1, 1}}, 0, 0}));
  EXPECT_REFUSED(s.broadcast(1, 8));
  EXPECT_REFUSED(s(0).broadcast(0, 8));
  EXPECT_REFUSED(h(3).expand_dim(0).broadcast(0, 0));
  EXPECT_REFUSED(s.expand_dim(0));
  EXPECT_REFUSED(s.expand_dim(4));
  EXPECT_REFUSED(s.expand_dim(1).expand_dim(1).expand_dim(1));
}

TEST_F(BuilderTest, ReshapeDim) {
  EXPECT_EQ(seen(h.reshape_dim(2, {4, 5})), (Seen{{{200, 6}, {20, 10}, {5, 4}, {1, 5}}, 0, 0}));
  EXPECT_EQ(seen(h.reshape_dim(0, {2, 3})), (Seen{{{600, 2}, {200, 3}, {20, 10}, {1, 20}}, 0, 0}));
  EXPECT_EQ(seen(h.slice(2, 1, 6, 3).reshape_dim(2, {2, 3})), (Seen{{{200, 6}, {20, 10}, {9, 2}, {3, 3}}, 0, 1}));
  EXPECT_EQ(seen(s.reshape_dim(1, {2, 2})), (Seen{{{1, 128}, {64, 2}, {32, 2}, {1, 32}}, 0, 0}));
  EXPECT_REFUSED(h.reshape_dim(2, {4, 4}));
  EXPECT_REFUSED(h.reshape_dim(2, {-4, -5}));
  EXPECT_REFUSED(h.reshape_dim(2, {2, 2, 5, 1, 1, 1, 1}));
  EXPECT_REFUSED(s.reshape_dim(1, {2, 2, 1, 1}));
  EXPECT_REFUSED(h.reshape_dim(2, {}));
  EXPECT_REFUSED(s.reshape_dim(0, {2, 64}));
}

TEST_F(BuilderTest, FlattenDims) {
  EXPECT_EQ(seen(h.flatten_dims(0, 2)), (Seen{{{1, 1200}}, 0, 0}));
  EXPECT_EQ(seen(h(ds(1, 2)).flatten_dims(0, 1)), (Seen{{{20, 20}, {1, 20}}, 0, 200}));
  EXPECT_EQ(seen(s.flatten_dims(1, 2)), (Seen{{{1, 128}, {1, 128}}, 0, 0}));
  EXPECT_EQ(seen(h(3).expand_dim(1).flatten_dims(0, 1)), (Seen{{{20, 10}, {1, 20}}, 0, 600}));
  EXPECT_EQ(seen(h(all, all, ds(4, 1)).flatten_dims(1, 2)), (Seen{{{200, 6}, {20, 10}}, 0, 4}));
  EXPECT_REFUSED(h(all, ds(0, 5)).flatten_dims(0, 1));
  EXPECT_REFUSED(h.permute({1, 0, 2}).flatten_dims(0, 1));
  EXPECT_REFUSED(s.flatten_dims(0, 1));
  EXPECT_REFUSED(h.flatten_dims(1, 3));
  EXPECT_REFUSED(h.flatten_dims(2, 1));
}

TEST_F(BuilderTest, ViewAsAnotherDtype) {
  const View narrow = h(all, ds(1, 4)).view(DType::bfloat16);
  EXPECT_EQ(narrow.dtype(), DType::bfloat16);
  EXPECT_EQ(seen(narrow), (Seen{{{400, 6}, {40, 4}, {1, 40}}, 0, 40}));
  EXPECT_EQ(seen(s(ds(32, 32), 2).view(DType::uint8)), (Seen{{{1, 32}, {1, 128}}, 32, 256}));
  const View bytes = k.sbuf({128, 64}, DType::uint8);
  EXPECT_EQ(seen(bytes(all, ds(8, 16)).view(f32)), (Seen{{{1, 128}, {1, 4}}, 0, 2}));
  EXPECT_EQ(seen(h.permute({2, 0, 1}).view(DType::int32)), (Seen{{{1, 20}, {200, 6}, {20, 10}}, 0, 0}))
      << "equal sizes need no contiguous dimension";
  EXPECT_REFUSED(bytes(all, ds(8, 15)).view(f32));
  EXPECT_REFUSED(bytes(all, ds(2, 16)).view(f32));
  EXPECT_REFUSED(h(all, all, ds(0, 10, 2)).view(DType::bfloat16));
  EXPECT_REFUSED(h(0).scalar_offset(k.reg(1), 200).view(DType::bfloat16));
}

TEST_F(BuilderTest, AccessPattern) {
  EXPECT_EQ(seen(h.ap({{1, 20}, {20, 60}}, 7)), (Seen{{{1, 20}, {20, 60}}, 0, 7}));
  EXPECT_EQ(seen(s.ap({{128, 64}, {2, 16}}, 32 * 128 + 5)), (Seen{{{1, 64}, {2, 16}}, 32, 5}));
  EXPECT_EQ(seen(s.view(DType::bfloat16).ap({{256, 64}, {1, 256}}, 256)), (Seen{{{1, 64}, {1, 256}}, 1, 0}));
  EXPECT_REFUSED(s.ap({{64, 64}, {1, 16}}));
  EXPECT_REFUSED(s.ap({{128, 64}}));
  EXPECT_REFUSED(h.ap({}));
  EXPECT_REFUSED(h.ap(Dims(9, {1, 1})));
  EXPECT_REFUSED(s.ap(Dims(6, {128, 1})));
}

TEST_F(BuilderTest, RunTimeAddresses) {
  const Reg r = k.reg(1);
  const View rows = k.sbuf({4, 1}, DType::int32), one = k.sbuf({1, 1}, DType::int32);
  const auto dynamic = [&](const View& v) { return k.program().dynamics.at(v.access().dynamic); };

  const Dynamic by_register = dynamic(h(0).scalar_offset(r, 200));
  EXPECT_EQ(by_register.kind, Dynamic::Kind::scalar_register);
  EXPECT_EQ(by_register.source, r.id);
  EXPECT_EQ(by_register.scale, 200);

  const Dynamic by_tile = dynamic(h(0).scalar_offset(one, 20));
  EXPECT_EQ(by_tile.kind, Dynamic::Kind::scalar_tile);
  EXPECT_EQ(k.program().accesses.at(by_tile.source).tensor, one.tensor());
  EXPECT_EQ(by_tile.scale, 20);

  const View gathered = h.vector_offset(rows);
  EXPECT_EQ(dynamic(gathered).kind, Dynamic::Kind::vector);
  EXPECT_EQ(k.program().accesses.at(dynamic(gathered).source).tensor, rows.tensor());
  EXPECT_EQ(dynamic(gathered).scale, 200) << "an index counts rows of dimension 0";
  EXPECT_EQ(gathered.shape(), (Shape{4, 10, 20})) << "one row per index";
  EXPECT_EQ(seen(gathered(all, ds(2, 3))), (Seen{{{200, 4}, {20, 3}, {1, 20}}, 0, 40}));
  EXPECT_REFUSED(gathered(ds(0, 2)));
  EXPECT_REFUSED(gathered.permute({1, 0, 2}));
  EXPECT_REFUSED(gathered.flatten_dims(0, 1));

  const View picked = s.indirect(k.sbuf({128, 2}, DType::int32), 24);
  EXPECT_EQ(dynamic(picked).kind, Dynamic::Kind::indirect);
  EXPECT_EQ(picked.shape(), (Shape{128, 24}));
  EXPECT_REFUSED(picked(all, ds(0, 8)));
}

TEST_F(BuilderTest, IndexArithmetic) {
  k.loop(4, [&](Index i) {
    k.loop(4, [&](Index j) {
      const Index x = 3 * (i * 2 + j - 1) - j * 3 + 10;
      EXPECT_EQ(x.constant(), 7);
      ASSERT_EQ(x.terms().size(), 1u) << "j cancels";
      EXPECT_EQ(x.terms()[0].coefficient, 6);
    });
  });
}

// Sizes and starts that tiles() hands to its body.
struct Piece {
  std::int64_t start, size;
  bool rolled;
  bool operator==(const Piece&) const = default;
};

std::vector<Piece> pieces(std::int64_t total, std::int64_t tile) {
  Kernel k("tiles");
  std::vector<Piece> out;
  k.tiles(total, tile, [&](Index i, std::int64_t n) { out.push_back({i.constant(), n, !i.is_constant()}); });
  for (const Loop& loop : k.program().loops) {
    EXPECT_EQ(loop.lower.value, 0);
    EXPECT_EQ(loop.upper.value, total / tile * tile);
    EXPECT_EQ(loop.step, tile);
  }
  return out;
}

TEST(BuilderTiles, WholeTilesAreALoopAndTheRestFollows) {
  EXPECT_EQ(pieces(1, 128), (std::vector<Piece>{{0, 1, false}}));
  EXPECT_EQ(pieces(127, 128), (std::vector<Piece>{{0, 127, false}}));
  EXPECT_EQ(pieces(128, 128), (std::vector<Piece>{{0, 128, false}}));
  EXPECT_EQ(pieces(129, 128), (std::vector<Piece>{{0, 128, false}, {128, 1, false}}));
  EXPECT_EQ(pieces(256, 128), (std::vector<Piece>{{0, 128, true}}));
  EXPECT_EQ(pieces(500, 128), (std::vector<Piece>{{0, 128, true}, {384, 116, false}}));
  EXPECT_EQ(pieces(0, 128), (std::vector<Piece>{}));
  EXPECT_EQ(error_of([] { pieces(5, 0); }).code, "builder.R3");
  EXPECT_EQ(error_of([] { pieces(-1, 128); }).code, "builder.R3");
}

TEST(Builder, TensorsOfTooFewOrTooManyDimensions) {
  Kernel k("ranks");
  EXPECT_EQ(error_of([&] { k.sbuf({128}, f32); }).code, "builder.R1");
  EXPECT_EQ(error_of([&] { k.hbm({}, f32); }).code, "builder.R1");
  EXPECT_EQ(error_of([&] { k.hbm({1, 1, 1, 1, 1, 1, 1, 1, 1}, f32); }).code, "builder.R1");
  k.hbm({1, 1, 1, 1, 1}, f32);
}

TEST(Builder, TensorsWithoutElements) {
  Kernel k("empty");
  EXPECT_EQ(error_of([&] { k.sbuf({128, 0}, f32); }).code, "builder.R1");
  EXPECT_EQ(error_of([&] { k.hbm({0}, f32); }).code, "builder.R1");
  EXPECT_EQ(error_of([&] { k.hbm({std::int64_t{1} << 31, std::int64_t{1} << 33}, f32); }).code, "builder.R1");
  EXPECT_EQ(error_of([&] { k.hbm({1, std::int64_t{1} << 49}, f32); }).code, "builder.R1");
  EXPECT_EQ(error_of([&] {
              k.hbm({4, 4}, f32).reshape({std::int64_t{1} << 34, std::int64_t{1} << 34});
            }).code,
            "builder.R2");
}

TEST(BuilderView, OneRunTimeAddress) {
  Kernel k("dynamic");
  const View x = k.hbm({64, 32}, f32), t = k.sbuf({32, 64}, f32), row = k.sbuf({1, 1}, i32),
             rows = k.sbuf({64, 1}, i32), columns = k.sbuf({32, 2}, i32);
  for (const View& v : {x.scalar_offset(row, 32), x.vector_offset(rows)}) {
    EXPECT_EQ(error_of([&] { v.scalar_offset(row, 1); }).code, "builder.R4");
    EXPECT_EQ(error_of([&] { v.vector_offset(rows); }).code, "builder.R4");
  }
  const View gathered = t.indirect(columns, 20);
  EXPECT_EQ(error_of([&] { gathered.indirect(columns, 20); }).code, "builder.R4");
  EXPECT_EQ(error_of([&] { gathered.ap({{64, 32}, {1, 20}}); }).code, "builder.R4");
}

TEST(BuilderView, AllOfAGatheredDimensionIsNoSlice) {
  Kernel k("gathered");
  const View x = k.hbm({64, 32}, f32), rows = k.sbuf({16, 1}, i32);
  const View v = x.vector_offset(rows);
  EXPECT_EQ(v(ds(0, 16), ds(4, 8)).shape(), (Shape{16, 8}));
  EXPECT_EQ(error_of([&] { v(ds(0, 8), ds(4, 8)); }).code, "builder.R2");
}

TEST(BuilderView, IndirectTakesElementsWithoutGaps) {
  Kernel k("gaps");
  const View t = k.sbuf({32, 8, 8}, f32), columns = k.sbuf({32, 1}, i32);
  EXPECT_EQ(t.indirect(columns, 32).shape(), (Shape{32, 32}));
  EXPECT_EQ(error_of([&] { t.slice(2, 0, 4).indirect(columns, 32); }).code, "builder.R2");
  EXPECT_EQ(error_of([&] { t.slice(2, 0, 4, 2).indirect(columns, 32); }).code, "builder.R2");
}

// Statements of a built program, without places in the source.
std::string text(const Program& program) {
  EXPECT_TRUE(verify(program).empty()) << to_text(verify(program));
  const std::string all = print(program, {.locations = false});
  return all.substr(all.find('\n', all.find("program ")) + 1);
}

TEST(Builder, ProgramAsText) {
  Kernel k("scale");
  const View x = k.input("x", {300, 512}, f32), y = k.output("y", {300, 512}, f32);
  k.tiles(300, 128, [&](Index r, std::int64_t n) {
    const View t = k.sbuf({n, 512}, f32);
    k.dma_copy({.dst = t, .src = x(ds(r, n))});
    k.tensor_scalar({.dst = t, .data = t, .op0 = AluOp::multiply, .operand0 = 2.0});
    k.dma_copy({.dst = y(ds(r, n)), .src = t});
  });
  EXPECT_EQ(text(k.finish()), R"(tensor x: input hbm float32 [300, 512]
tensor y: output shared_hbm float32 [300, 512]
loop i0 = 0 .. 256 step 128 {
  tensor t0: sbuf float32 [128, 512]
  dma_copy(dst=t0, src=x.ap([[512, 128], [1, 512]], offset=512*i0))
  tensor_scalar(dst=t0, data=t0, op0=multiply, operand0=2.0)
  dma_copy(dst=y.ap([[512, 128], [1, 512]], offset=512*i0), src=t0)
}
tensor t1: sbuf float32 [44, 512]
dma_copy(dst=t1, src=x.ap([[512, 44], [1, 512]], offset=131072))
tensor_scalar(dst=t1, data=t1, op0=multiply, operand0=2.0)
dma_copy(dst=y.ap([[512, 44], [1, 512]], offset=131072), src=t1)
)");
}

TEST(Builder, NamesAndDependences) {
  Kernel k("order");
  const View a = k.sbuf({128, 4}, f32), b = k.sbuf({128, 4}, f32, {.name = "b", .address = Address{0, 64}});
  auto first = k.memset({.dst = a, .value = 0.0}).named("zero");
  auto second = k.memset({.dst = b, .value = 1.0});
  k.tensor_copy({.dst = a, .src = b}).depends_on({first}).depends_on({second}).named("copy");
  EXPECT_EQ(text(k.finish()), R"(tensor t0: sbuf float32 [128, 4]
tensor b: sbuf float32 [128, 4] at (0, 64)
%0: memset(dst=t0, value=0.0) name="zero"
%1: memset(dst=b, value=1.0)
tensor_copy(dst=t0, src=b) name="copy" after(%0, %1)
)");
}

TEST(Builder, LoopsOnRegisters) {
  Kernel k("dynamic");
  const View h = k.input("h", {64, 128, 4}, f32), n = k.input("n", {1}, DType::int32);
  const Reg count = k.reg(), more = k.reg(1);
  k.register_load({.dst = count, .src = n});
  k.while_loop(more, [&] {
    k.fori_loop(
        0, count,
        [&](Reg i) {
          const View t = k.sbuf({128, 4}, f32);
          k.dma_copy({.dst = t, .src = h(0).scalar_offset(i, 512)});
        },
        2);
    k.register_move({.dst = more, .src = 0});
  });
  EXPECT_EQ(text(k.finish()), R"(register r0
register r1
register r2 frozen
tensor h: input hbm float32 [64, 128, 4]
tensor n: input hbm int32 [1]
register_alloc(dst=r0)
register_alloc(dst=r1, x=1)
register_load(dst=r0, src=n)
while r1 {
  for r2 = 0 .. r0 step 2 {
    tensor t0: sbuf float32 [128, 4]
    dma_copy(dst=t0, src=h.ap([[4, 128], [1, 4]], scalar_offset=r2, scale=512))
  }
  register_move(dst=r1, src=0)
}
)");
}

TEST(Builder, PatternsThatMoveWithLoops) {
  Kernel k("moving");
  const View s = k.sbuf({128, 64}, f32, {.name = "s"}), o = k.sbuf({32, 8}, f32, {.name = "o"});
  k.loop(4, [&](Index i) {
    k.loop(8, [&](Index j) {
      k.tensor_copy({.dst = o, .src = s(ds(32 * i, 32), ds(j * 8, 8))});
      k.tensor_copy({.dst = o, .src = s.ap({{64, 32}, {1, 8}}, i * (32 * 64) + j * 8)});
    });
  });
  const std::string copy = "    tensor_copy(dst=o, src=s.ap(32*i0:32, [[1, 8]], offset=8*i1))\n";
  EXPECT_EQ(text(k.finish()),
            "tensor s: sbuf float32 [128, 64]\ntensor o: sbuf float32 [32, 8]\n"
            "loop i0 = 0 .. 4 {\n  loop i1 = 0 .. 8 {\n" +
                copy + copy + "  }\n}\n");
}

TEST(Builder, PlacesAreTheCallersLines) {
  Kernel k("places");
  const int line = __LINE__ + 1;
  const View a = k.sbuf({128, 4}, f32);
  k.memset({.dst = a, .value = 0.0});
  const Program p = k.finish();
  EXPECT_EQ(p.locs[p.tensors[0].loc].line, line);
  EXPECT_EQ(p.locs[p.instructions[0].loc].line, line + 1);
  EXPECT_TRUE(p.locs[p.instructions[0].loc].file.ends_with("builder_test.cpp"));
}

}  // namespace
}  // namespace kiln::isa
