// Attention with keys on partitions (unshifted.cpp) where values are as deep as the tensor engine is wide, so that no
// column of ones goes beside them while it holds values. It holds blocks of weights instead, and values with ones come
// by: results and sums of weights come out with queries on partitions, and nothing is turned or added up elsewhere.
#include "kiln/tensor/lower/score_function.h"

namespace kiln::tensor {

using isa::Index;
using isa::View;

namespace {

constexpr std::int64_t kBlocksOfBank = 2;            // of queries, whose results and sums lie in a bank of PSUM
constexpr double kLeastSum = 1e-9, kMostSum = 1e26;  // as in unshifted.cpp

}  // namespace

// Results of the blocks of queries of a group, each with its sums behind it: (queries, blocks, elements and a sum).
struct RegionEmitter::HeldSums {
  std::int64_t rows = 0, blocks = 0, wide = 0;
  std::vector<View> banks;
};

void RegionEmitter::attend_with_held_weights(const Attention& a, const Index& start, std::int64_t n,
                                             const std::function<void(const AddWeights&)>& weigh) {
  const Unshifted& u = *unshifted_;
  const std::int64_t m = std::min(n, u.queries), blocks = n / m, wide = graph_.type(a.result).shape.back() + 1;
  const std::int64_t apart = u.follow ? blocks : 1, next = u.follow ? 1 : m;
  HeldSums sums{m, blocks, wide, {}};
  for (std::int64_t b = 0; b < blocks; b += kBlocksOfBank)
    sums.banks.push_back(k_.psum({m, std::min(kBlocksOfBank, blocks - b) * wide}, DType::float32));
  const Tile& values = held_matrix(layout_.load_of.at({a.result, 1}));
  weigh([&](const Keys& keys, const Tile& weights) {
    const std::int64_t row = weights.storage.dim(1);
    for (std::int64_t b = 0; b < keys.blocks; ++b) {
      for (std::int64_t q = keys.from / m; q * m < (keys.to < 0 ? n : keys.to); ++q)
        k_.nc_matmul({.dst = sums.banks[q / kBlocksOfBank].slice(1, q % kBlocksOfBank * wide, wide),
                      .stationary = weights.storage.ap({{row, keys.count}, {apart, m}}, b * n + q * next),
                      .moving = block(values, keys.block + b, 0, keys.count, wide, wide)});
    }
  });
  leave_held_sums(a, start, sums);
}

// Results divided by the sums, with what tells whether these are in range and the results numbers.
void RegionEmitter::leave_held_sums(const Attention& a, const Index& start, const HeldSums& sums) {
  const Unshifted& u = *unshifted_;
  const std::int64_t m = sums.rows, blocks = sums.blocks, wide = sums.wide, D = wide - 1;
  const bool rows = stores_rows(a);
  const Leaf& leaf = layout_.stores[0];
  const View inverse = k_.sbuf({m, blocks}, DType::float32), all = k_.sbuf({m, blocks}, DType::float32);
  const View out = rows ? k_.sbuf({m, blocks * D}, graph_.type(leaf.value).dtype) : View();
  for (std::int64_t first = 0; first < blocks; first += kBlocksOfBank) {
    const View& bank = sums.banks[first / kBlocksOfBank];
    const std::int64_t some = std::min(kBlocksOfBank, blocks - first);
    const View results = bank.ap({{some * wide, m}, {wide, some}, {1, D}});
    k_.reciprocal({.dst = inverse.slice(1, first, some), .data = bank.ap({{some * wide, m}, {wide, some}}, D)});
    if (rows)
      k_.tensor_tensor({.dst = out.ap({{blocks * D, m}, {D, some}, {1, D}}, first * D),
                        .data1 = results,
                        .data2 = inverse.ap({{blocks, m}, {1, some}, {0, D}}, first),
                        .op = AluOp::multiply,
                        .engine = Engine::vector});
    k_.tensor_reduce({.dst = all.slice(1, first, some), .op = AluOp::add, .data = results, .axis = {2}});
  }
  const View finite = u.finite.ap({{u.finite.dim(1), m}, {1, blocks}});
  k_.scalar_tensor_tensor(
      {.dst = finite, .data = all, .op0 = AluOp::multiply, .operand0 = 0.0, .op1 = AluOp::add, .operand1 = finite});
  const View fine = u.fine.ap({{u.fine.dim(1), m}, {1, blocks}});
  for (const auto& [compare, limit] :
       {std::pair(AluOp::greater_equal, 1 / kMostSum), {AluOp::less_equal, 1 / kLeastSum}})
    k_.scalar_tensor_tensor(
        {.dst = fine, .data = inverse, .op0 = compare, .operand0 = limit, .op1 = AluOp::multiply, .operand1 = fine});
  if (rows) {
    start_ = start;
    const std::int64_t each = u.follow ? blocks : 1, next = u.follow ? 1 : m;
    const View& hbm = leaf.output >= 0 ? storage_.outputs[leaf.output] : storage_.of.at(leaf.base);
    k_.dma_copy({.dst = hbm.ap({{each * leaf.partition, m}, {next * leaf.partition, blocks}, {1, D}}, place(leaf)),
                 .src = out.ap({{blocks * D, m}, {D, blocks}, {1, D}})});
    return;
  }
  for (std::int64_t b = 0; b < blocks; ++b) {
    start_ = start + b * m, rows_ = m;
    const View& bank = sums.banks[b / kBlocksOfBank];
    const std::int64_t at = b % kBlocksOfBank * wide;
    Scope& scope = scopes_.emplace_back();
    scope.values[a.result] = {bank, at, {0, 1}, Strided::contiguous(free_of(a.result).dims).dims, m};
    scope.values[a.total] = {bank, at + D, {0, 1}, Strided::contiguous(free_of(a.total).dims).dims, m};
    for (Value v : {a.scores, a.seen, a.weights, a.largest}) scope.consumed.insert(v);
    scope.consumed.insert(a.function.begin(), a.function.end());
    store_all();
    scopes_.pop_back();
  }
}

}  // namespace kiln::tensor
