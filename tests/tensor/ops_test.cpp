// Every elementwise op on every dtype that it takes, compiled, equals the oracle; what is not there yet says so.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "kiln/isa/text/print.h"
#include "kiln/tensor/ir/expr.h"
#include "tests/tensor/compiled.h"

namespace kiln::tensor {
namespace {

constexpr DType kDtypes[] = {DType::float16, DType::float8_e5m2, DType::float32, DType::bfloat16,
                             DType::int32,   DType::uint32,      DType::int16,   DType::uint16,
                             DType::int8,    DType::uint8,       DType::bool_};

// Where a function is steep or has no value for most numbers.
InputOptions range_of(OpCode code) {
  switch (code) {
    case OpCode::log:
    case OpCode::log2:
    case OpCode::log10:
    case OpCode::sqrt:
    case OpCode::rsqrt:
      return {0.01, 50};
    case OpCode::arccosh:
      return {1, 50};
    case OpCode::arcsin:
    case OpCode::arccos:
    case OpCode::arctanh:
      return {-0.999, 0.999};
    case OpCode::log1p:
      return {-0.9, 5};
    case OpCode::power:
      return {0.5, 3};
    case OpCode::sin:
    case OpCode::cos:
      return {-500, 500};
    case OpCode::tan:
      return {-1.4, 1.4};
    case OpCode::floor:
    case OpCode::ceil:
    case OpCode::trunc:
    case OpCode::rint:
      return {-1e7, 1e7};
    default:
      return {-5, 5};
  }
}

TEST(Ops, Elementwise) {
  std::set<std::string> missing;
  for (OpCode code : all_ops()) {
    if (!is_elementwise(code)) continue;
    for (DType t : kDtypes) {
      Builder b("op");
      const Type type{t, {9, 37}};
      try {
        const Expr x = b.input("x", type);
        b.output("out", info(code).operands == 1 ? apply(code, {x}, {}, At::current())
                                                 : apply(code, {x, b.input("y", type)}, {}, At::current()));
      } catch (const Error&) {
        continue;  // the op does not take the dtype
      }
      const Graph graph = b.finish();
      Arrays inputs = random_inputs(graph, 7, range_of(code));
      if (code == OpCode::tan && !is_float(t)) continue;  // whole numbers come as near to its poles as rounding allows
      if (code == OpCode::left_shift || code == OpCode::right_shift) {
        for (double& y : inputs["y"].data) y = std::fmod(std::fabs(y), 5);
      }
      const std::string what = fmt::format("{} of {}", name(code), name(t));
      try {
        const Outcome out = compare(graph, inputs, {.level = 1});
        EXPECT_EQ(out.wrong, "") << what << "\n" << isa::print(out.compiled.program);
      } catch (const Error& e) {
        if (e.first().category == Category::not_yet)
          missing.insert(what);
        else
          ADD_FAILURE() << what << e.what();
      }
    }
  }
  EXPECT_EQ(missing, std::set<std::string>{});
}

TEST(Ops, SpecialNumbers) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  for (OpCode code : {OpCode::isnan, OpCode::isinf, OpCode::isfinite, OpCode::abs, OpCode::maximum, OpCode::relu,
                      OpCode::floor, OpCode::rint, OpCode::sign, OpCode::exp, OpCode::logical_not}) {
    Builder b("special");
    const Expr x = b.input("x", {DType::float32, {1, 6}}), y = b.input("y", {DType::float32, {1, 6}});
    b.output("out",
             info(code).operands == 1 ? apply(code, {x}, {}, At::current()) : apply(code, {x, y}, {}, At::current()));
    b.output("chosen", where(x > y, x, y));
    const Type type{DType::float32, {1, 6}};
    const Arrays inputs{{"x", {type, {inf, -inf, nan, 0.0, -0.0, 1e30}}}, {"y", {type, {1, 2, 3, nan, 5, -inf}}}};
    const Outcome out = compare(b.finish(), inputs);
    EXPECT_EQ(out.wrong, "") << name(code);
  }
}

TEST(Ops, ZeroSize) {
  Builder b("empty");
  const Expr x = b.input("x", {DType::float32, {0, 5}}), w = b.input("w", {DType::float32, {5, 3}});
  b.output("out", exp(x));
  b.output("sum", sum(x, {{0}}));
  b.output("product", matmul(x, w));
  b.output("none", matmul(b.input("a", {DType::float32, {2, 0}}), b.input("c", {DType::float32, {0, 3}})));
  EXPECT_EQ(compare(b.finish()).wrong, "");
}

TEST(Ops, IndexedRows) {
  Builder b("rows");
  const Expr table = b.input("table", {DType::float32, {50, 24}}), at = b.input("at", {DType::int32, {6}});
  b.output("taken", gather_rows(table, at) * 2.0);
  b.output("changed", scatter_rows(table, at, b.input("rows", {DType::float32, {6, 24}})));
  const Expr start = b.input("start", {DType::int32, {}});
  b.output("cut", dynamic_slice(table, start, 0, 7));
  b.output("put", update_slice(table, b.input("part", {DType::float32, {3, 24}}), start, 0));
  const Graph graph = b.finish();
  Arrays inputs = random_inputs(graph, 3);
  inputs["at"].data = {4, 49, 0, 7, 12, 30};
  inputs["start"].data = {11};
  for (Target target : {Target::trn1, Target::trn2, Target::trn3}) {
    EXPECT_EQ(compare(graph, inputs, {.target = target}).wrong, "") << arch(target).name;
  }
}

TEST(Ops, CacheWriteInPlace) {
  Builder b("cache");
  const Expr cache = b.input("cache", {DType::float32, {1, 400, 2, 16}}),
             x = b.input("x", {DType::float32, {1, 1, 2, 16}});
  b.output("out", update_slice(cache, x, b.input("at", {DType::int32, {}}), 1));
  const Graph graph = b.finish();
  Arrays inputs = random_inputs(graph, 5);
  inputs["at"].data = {399};
  const Outcome out = compare(graph, inputs, {.donated = {"cache"}});
  EXPECT_EQ(out.wrong, "");
  EXPECT_LE(out.executed, 6);
  EXPECT_EQ(out.compiled.aliases.at("out"), "cache");
}

}  // namespace
}  // namespace kiln::tensor
