// Long rows and matrices that are chosen by indices of the run: right on every chip, read where they lie.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "kiln/tensor/ir/more.h"
#include "tests/seed.h"
#include "tests/tensor/compiled.h"

namespace kiln::tensor {
namespace {

constexpr DType f32 = DType::float32, i32 = DType::int32;

// Indices of both signs, within n.
Arrays with_indices(const Graph& graph, std::int64_t n) {
  Arrays inputs = random_inputs(graph, static_cast<unsigned>(test::seed() % 1'000'000'000));
  std::vector<double>& at = inputs.at("at").data;
  for (std::size_t i = 0; i < at.size(); ++i)
    at[i] = static_cast<double>(static_cast<std::int64_t>(7 * i) % n) - (i % 2 ? n : 0);
  return inputs;
}

void expect_right(const Graph& graph, std::int64_t n) {
  for (const Target target : {Target::trn1, Target::trn2, Target::trn3}) {
    const Outcome out = compare(graph, with_indices(graph, n), {.target = target});
    EXPECT_EQ(out.wrong, "") << graph.name << " on " << arch(target).name;
  }
}

Graph rows(std::int64_t n, std::int64_t inner, std::int64_t m) {
  Builder b(fmt::format("rows_{}_{}", inner, m));
  b.output("out", take(b.input("table", {f32, {n, inner}}), b.input("at", {i32, {m}}), 0));
  return b.finish();
}

TEST(Chosen, LongRows) {
  expect_right(rows(5, 60000, 4), 5);    // in pieces
  expect_right(rows(3, 20011, 3), 3);    // a prime: one after the other
  expect_right(rows(4, 100000, 1), 4);   // one
  expect_right(rows(3, 16384, 150), 3);  // more than partitions
}

Graph product(Shape index, Shape y, std::int64_t n = 6) {
  Builder b("experts");
  const Expr table = b.input("table", {f32, {n, 70, 90}}), at = b.input("at", {i32, std::move(index)});
  b.output("out", matmul(b.input("y", {f32, std::move(y)}), take(table, at, 0)) + 1.0);
  return b.finish();
}

TEST(Chosen, Products) {
  expect_right(product({4}, {4, 1, 70}), 6);
  expect_right(product({3}, {3, 130, 70}), 6);
  expect_right(product({2}, {5, 70}), 6);           // the same rows for all
  expect_right(product({2, 3}, {2, 3, 4, 70}), 6);  // indices of two dimensions
  expect_right(product({3}, {2, 3, 4, 70}), 6);     // another batch: gathered
  expect_right(product({40}, {40, 1, 70}), 6);      // too many to write out
}

// The matrices are not copied.
TEST(Chosen, MatricesStayWhereTheyLie) {
  Builder b("experts");
  const Expr table = b.input("table", {f32, {16, 256, 512}}), at = b.input("at", {i32, {4}});
  b.output("out", matmul(b.input("y", {f32, {4, 1, 256}}), take(table, at, 0)));
  const Compiled made = compile(b.finish(), {});
  double spilled = 0, moved = 0;
  for (const Spill& s : made.spills) spilled += s.bytes;
  for (const RegionReport& r : made.regions) moved += r.hbm_bytes;
  const double read = 4.0 * 256 * 512 * 4;
  EXPECT_LT(spilled, 0.01 * read);
  EXPECT_GT(moved, read);
  EXPECT_LT(moved, 1.05 * read);
}

}  // namespace
}  // namespace kiln::tensor
