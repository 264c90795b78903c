// all_to_all_v and all_gather_v as ops: types, the oracle by hand, text form, and compiled programs on ranks.
#include <gtest/gtest.h>

#include <random>

#include "kiln/tensor/ir/control.h"
#include "kiln/tensor/ir/more.h"
#include "kiln/tensor/ir/text.h"
#include "tests/error_of.h"
#include "tests/seed.h"
#include "tests/tensor/on_ranks.h"

namespace kiln::tensor {
namespace {

const RankGroups kChip = {{0, 1, 2, 3}}, kTwoChips = {{0, 1, 2, 3, 4, 5, 6, 7}};

RankGroups same_places(int servers, int ranks_of_each) {
  RankGroups groups(static_cast<std::size_t>(ranks_of_each));
  for (int s = 0; s < servers; ++s)
    for (int r = 0; r < ranks_of_each; ++r) groups[r].push_back(s * ranks_of_each + r);
  return groups;
}

struct Sizes {
  int ranks, of_group;  // how many run, and meet
  std::int64_t src, dst;
};

Graph exchange(const RankGroups& groups, const Sizes& sizes, bool placed = false, DType counted = DType::int32) {
  const std::int64_t n = sizes.of_group;
  Builder b("exchange");
  const Expr x = b.input("x", {DType::float32, {sizes.src / 2, 2}}),
             into = b.input("into", {DType::float32, {sizes.dst}});
  const Expr counts = b.input("counts", {counted, {n}}), displs = b.input("displs", {counted, {n}});
  const Received got = placed ? all_to_all_v(x * 2.0, into, counts, displs, b.input("places", {counted, {n}}), groups)
                              : all_to_all_v(x * 2.0, into, counts, displs, groups);
  b.output("y", got.dst + 1.0);
  b.output("came", got.counts + 0);
  return b.finish();
}

Graph gather(const RankGroups& groups, const Sizes& sizes) {
  Builder b("gather");
  const Expr x = b.input("x", {DType::float32, {sizes.src}}),
             into = b.input("into", {DType::float32, {sizes.dst / 4, 4}});
  const Expr count = b.input("count", {DType::int32, {}}), displ = b.input("displ", {DType::int32, {}});
  const Received got = all_gather_v(x, into, count, displ, groups);
  b.output("y", got.dst * 2.0);
  b.output("came", got.counts);
  return b.finish();
}

class Drawn {
 public:
  explicit Drawn(const Sizes& sizes) : sizes_(sizes) {}

  std::vector<Arrays> inputs(const Graph& graph) {
    std::vector<Arrays> all(static_cast<std::size_t>(sizes_.ranks));
    for (Arrays& own : all) {
      for (const Value v : graph.inputs()) own[graph.op(v).text("name")] = drawn(graph.op(v));
      place(own);
    }
    return all;
  }

 private:
  Array drawn(const Op& op) {
    Array a{op.type, {}};
    const std::int64_t slot = sizes_.dst / sizes_.of_group;
    for (std::int64_t i = 0; i < op.type.size(); ++i) {
      const auto number = static_cast<std::int64_t>(rng_() % 1000);
      const bool is_count = op.text("name").starts_with("count"), is_place = op.text("name").starts_with("displ");
      a.data.push_back(static_cast<double>(is_count   ? number % (slot + 1)
                                           : is_place ? number % (sizes_.src - slot + 1)
                                                      : number - 500));
    }
    return a;
  }
  // Slots backwards, so that no part lies upon another.
  void place(Arrays& own) const {
    if (!own.contains("places")) return;
    std::vector<double>& places = own["places"].data;
    const std::int64_t slot = sizes_.dst / sizes_.of_group;
    for (std::size_t i = 0; i < places.size(); ++i)
      places[i] = static_cast<double>(sizes_.dst - slot * (static_cast<std::int64_t>(i) + 1));
  }

  Sizes sizes_;
  std::mt19937 rng_{test::seed()};
};

TEST(SizedCollectives, AllGather) {
  const Sizes sizes{4, 4, 30, 48};
  const Graph graph = gather(kChip, sizes);
  for (const Target target : {Target::trn2, Target::trn3})
    expect_on_ranks(graph, Drawn(sizes).inputs(graph), {.target = target, .lnc = 2});
}

TEST(SizedCollectives, AllToAllOfTwoDevices) {
  const Sizes sizes{8, 8, 40, 72};
  for (const bool placed : {false, true}) {
    for (const DType counted : {DType::int32, DType::uint32}) {
      const Graph graph = exchange(kTwoChips, sizes, placed, counted);
      expect_on_ranks(graph, Drawn(sizes).inputs(graph), {.target = Target::trn3, .lnc = 2});
    }
  }
}

TEST(SizedCollectives, AllToAllBetweenServers) {
  const Sizes sizes{128, 2, 16, 12};
  const Graph graph = exchange(same_places(2, 64), sizes);
  expect_on_ranks(graph, Drawn(sizes).inputs(graph), {.target = Target::trn2, .lnc = 2});
  const Sizes alone{3, 1, 16, 12};  // each rank for itself
  const Graph of_itself = exchange({{0}, {1}, {2}}, alone);
  for (const int lnc : {1, 2})
    expect_on_ranks(of_itself, Drawn(alone).inputs(of_itself), {.target = Target::trn2, .lnc = lnc});
  const Sizes single{256, 2, 16, 12};
  const Graph of_one = exchange(same_places(2, 128), single);
  expect_on_ranks(of_one, Drawn(single).inputs(of_one), {.target = Target::trn2, .lnc = 1});
}

// What came goes on in the next pass, and so do its counts.
TEST(SizedCollectives, InLoops) {
  Builder b("loop");
  const Type data{DType::float32, {16}};
  const Expr x = b.input("x", data), count = b.input("count", {DType::int32, {}}),
             displ = b.input("displ", {DType::int32, {}});
  const Exprs out = for_loop(3, {x, count}, {displ}, [](const Expr&, const Exprs& s, const Exprs& reads) {
    const Received got = all_gather_v(s[0], s[0] * 0.5, s[1], reads[0], kChip);
    return Exprs{got.dst, reshape(min(got.counts, {{0}}), {})};
  });
  b.output("y", out[0]);
  b.output("n", out[1]);
  const Graph graph = b.finish();
  const Sizes sizes{4, 4, 16, 16};
  expect_on_ranks(graph, Drawn(sizes).inputs(graph), {.target = Target::trn2, .lnc = 2});
}

// By hand: rank r has 10 r + i.
TEST(SizedCollectives, Oracle) {
  const auto vector = [](DType dtype, std::vector<double> numbers) {
    return Array{{dtype, {std::ssize(numbers)}}, std::move(numbers)};
  };
  std::vector<Arrays> inputs(2);
  for (int r = 0; r < 2; ++r) {
    inputs[r]["x"] = {{DType::float32, {2, 2}}, {10. * r, 10. * r + 1, 10. * r + 2, 10. * r + 3}};
    inputs[r]["into"] = vector(DType::float32, {-1, -1, -1, -1, -1, -1});
    inputs[r]["counts"] = vector(DType::int32, {1. + r, 2});
    inputs[r]["displs"] = vector(DType::int32, {1, 2});
  }
  const std::vector<Arrays> got = evaluate(exchange({{0, 1}}, {2, 2, 4, 6}), inputs);
  // Twice what was sent, and one more: rank 0 gets 1 of its own and 11, 12 of rank 1.
  EXPECT_EQ(got[0].at("y").data, (std::vector<double>{3, 0, 0, 23, 25, 0}));
  EXPECT_EQ(got[1].at("y").data, (std::vector<double>{5, 7, 0, 25, 27, 0}));
  EXPECT_EQ(got[0].at("came").data, (std::vector<double>{1, 2}));
  EXPECT_EQ(got[1].at("came").data, (std::vector<double>{2, 2}));
}

TEST(SizedCollectives, TextForm) {
  for (const Graph& graph : {gather(kChip, {4, 4, 30, 48}), exchange(kTwoChips, {8, 8, 40, 72}, true)}) {
    const std::string text = print(graph);
    EXPECT_EQ(print(parse(text, "p.kt")), text);
  }
}

TEST(SizedCollectives, Refusals) {
  using Given = std::vector<Type>;
  const auto code = [](const Given& types, const RankGroups& groups, bool gathers = false) {
    return error_of([&] {
             Builder b("p");
             std::vector<Value> operands;
             for (const Type& t : types)
               operands.push_back(b.input(std::string("x") + std::to_string(operands.size()), t).value());
             b.graph().add(gathers ? OpCode::all_gather_v : OpCode::all_to_all_v, operands, {flat_groups(groups)});
           })
        .code;
  };
  const Type data{DType::float32, {8}}, counts{DType::int32, {4}}, one{DType::int32, {}};
  EXPECT_EQ(code({data, data, counts, counts}, {}), "tensor.R21");
  EXPECT_EQ(code({data, data, counts}, kChip), "tensor.R1");
  EXPECT_EQ(code({data, data, counts, counts, counts, counts}, kChip), "tensor.R1");
  EXPECT_EQ(code({data, {DType::bfloat16, {8}}, counts, counts}, kChip), "tensor.R11");
  EXPECT_EQ(code({data, {DType::float32, {}}, counts, counts}, kChip), "tensor.R11");
  EXPECT_EQ(code({data, data, counts, data}, kChip), "tensor.R12");
  EXPECT_EQ(code({data, data, counts, one}, kChip), "tensor.R12");
  EXPECT_EQ(code({data, data, counts, counts}, kTwoChips), "tensor.R12");
  EXPECT_EQ(code({data, data, one, counts}, kChip, true), "tensor.R12");
  EXPECT_EQ(code({data, data, one}, kChip, true), "tensor.R1");
}

// Known when it runs only: by the oracle, and by the simulator.
TEST(SizedCollectives, PartsThatDoNotFit) {
  const Sizes sizes{4, 4, 30, 48};
  const Graph graph = gather(kChip, sizes);
  for (const auto& [count, displ] : {std::pair{13, 0}, {5, 26}, {-1, 0}, {2, -1}}) {
    std::vector<Arrays> inputs = Drawn(sizes).inputs(graph);
    inputs[2]["count"].data[0] = count;
    inputs[2]["displ"].data[0] = displ;
    EXPECT_EQ(error_of([&] { evaluate(graph, inputs); }).code, "tensor.R25") << count << " from " << displ;
    EXPECT_EQ(error_of([&] { run_on_ranks(graph, inputs, {.target = Target::trn2, .lnc = 2}); }).code,
              "all_gather_v.R9");
  }
}

// Where the chip has them: rules of the instructions.
TEST(SizedCollectives, Platforms) {
  const auto code = [](const Graph& graph, const CompileOptions& options) {
    return error_of([&] { compile(graph, options); }).code;
  };
  EXPECT_EQ(code(gather(kChip, {4, 4, 30, 48}), {.target = Target::trn2}), "all_gather_v.R11");
  EXPECT_EQ(code(exchange(kTwoChips, {8, 8, 40, 72}), {.target = Target::trn2, .lnc = 2}), "all_to_all_v.R11");
  EXPECT_EQ(code(exchange(same_places(2, 64), {128, 2, 16, 12}, true), {.target = Target::trn2, .lnc = 2}),
            "all_to_all_v.R10");
  EXPECT_EQ(code(exchange({{0, 1, 2, 3}}, {4, 4, 40, 72}), {.target = Target::trn3, .lnc = 2}), "all_to_all_v.R11");
}

}  // namespace
}  // namespace kiln::tensor
