// Attention of several heads together (heads_together.cpp) where keys are many: the tensor engine holds values, with a
// column of ones behind them, and the weights of up to 512 queries come by. Results and sums of weights then have
// queries as columns, and are turned.
#include <algorithm>
#include <deque>
#include <list>

#include "kiln/tensor/lower/heads_together.h"

namespace kiln::tensor {

using isa::Index;
using isa::View;

namespace {

constexpr std::size_t kAheadOfValues = 2;  // exponentials that are under way before the values of others are added
constexpr std::int64_t kMostAtOnce = 4;    // heads whose weights are made one after the other
constexpr std::int64_t kBankColumns = 512;

}  // namespace

// The weighted values of a head, and sums of weights, for a group of queries: (elements, queries).
struct RegionEmitter::HeldResult {
  std::int64_t head = 0;
  Index first_block = 0;
  std::int64_t blocks = 0;
  View left = {};
};

// As few heads as have whole banks of scores.
std::int64_t RegionEmitter::heads_at_once(const Together& t) const {
  if (t.side_by_side) return t.stacked;
  const std::int64_t all = t.heads.all(), P = t.queries.rows,
                     groups = (t.queries.follow * P + kBankColumns - 1) / kBankColumns;
  const std::int64_t n = (t.queries.follow + groups - 1) / groups * P;
  const std::int64_t units = t.score_banks * std::max<std::int64_t>(1, kBankColumns / n);
  for (std::int64_t heads = 1; heads <= std::min(all, kMostAtOnce); ++heads) {
    if (all % heads == 0 && heads * t.keys.follow % units == 0) return heads;
  }
  return 1;
}

// Exponentials of some keys are under way while the values of those before them are added, and the results of a head
// are turned behind the scores of the next: the tensor engine waits for no other.
void RegionEmitter::hold_values(const Together& t, const PassOfHeads& pass) {
  struct Weighed {
    SomeHeads* some;
    std::vector<std::int64_t> units;
  };
  std::list<SomeHeads> all;
  std::deque<Weighed> waiting;
  std::vector<HeldResult> left;
  const std::int64_t keys = t.keys.follow, wide = t.wide + 1, values_row = pass.values.dim(1);
  const auto turn_those_left = [&] {
    for (const HeldResult& r : left) turn_result(t, pass, r);
    left.clear();
  };
  const auto add = [&](const Weighed& w) {
    SomeHeads& some = *w.some;
    const std::int64_t n = some.blocks * t.queries.rows;
    std::vector<HeldResult> done;
    for (const std::int64_t unit : w.units) {
      const std::int64_t i = unit / keys, b = unit % keys, head = some.first + i;
      if (b == 0) some.products[i] = k_.psum({wide, n}, DType::float32);
      k_.nc_matmul({.dst = some.products[i],
                    .stationary = pass.values.ap({{values_row, t.keys.count(b)}, {1, wide}},
                                                 (pass.values_of.index(head) * keys + b) * wide),
                    .moving = some.weights[unit]});
      if (b + 1 < keys) continue;
      done.push_back({head, some.first_block, some.blocks, k_.sbuf({wide, n}, t.turned)});
      k_.tensor_copy({.dst = done.back().left, .src = some.products[i]});
    }
    turn_those_left();
    left = std::move(done);
  };
  const auto finish = [&](std::size_t most) {
    for (; waiting.size() > most; waiting.pop_front()) add(waiting.front());
  };
  const std::int64_t heads = heads_at_once(t);
  const auto attend = [&](const Index& first_block, std::int64_t blocks) {
    for (std::int64_t first = 0; first < t.heads.all(); first += heads) {
      SomeHeads& some = all.emplace_back(SomeHeads{first, heads, first_block, blocks, {}});
      some.products.resize(heads);
      weigh_heads(t, pass, some, [&](const std::vector<std::int64_t>& units) {
        waiting.push_back({&some, units});
        finish(kAheadOfValues);
      });
    }
  };
  over_groups_of_queries(t, attend, [&] {
    finish(0);
    turn_those_left();
  });
}

// Queries on partitions, divided by the sums of weights.
void RegionEmitter::turn_result(const Together& t, const PassOfHeads& pass, const HeldResult& r) {
  const std::int64_t P = t.queries.rows, wide = t.wide + 1, all = t.heads.all();
  const std::int64_t inverse_row = pass.inverse.dim(1), row = pass.out.tile.dim(1);
  const std::int64_t apart = (wide + 1) / 2 * 2, fit = arch_.psum_bank_bytes / (apart * size_bytes(t.turned));
  for (std::int64_t f0 = 0; f0 < r.blocks; f0 += fit) {
    const std::int64_t m = std::min(fit, r.blocks - f0);
    const View turned = k_.psum({P, m * apart}, t.turned);
    for (std::int64_t f = f0; f < f0 + m; ++f)
      k_.nc_transpose({.dst = turned.ap({{m * apart, P}, {1, wide}}, (f - f0) * apart),
                       .data = t.queries.in_blocks ? r.left.slice(1, f * P, P) : r.left.slice(1, f, P, r.blocks)});
    const Index block = r.first_block + f0, at = block * all + r.head;
    k_.reciprocal({.dst = pass.inverse.ap({{inverse_row, P}, {all, m}}, at),
                   .data = turned.ap({{m * apart, P}, {apart, m}}, t.wide)});
    k_.tensor_tensor({.dst = pass.out.tile.ap({{row, P}, {pass.out.block, m}, {1, t.wide}},
                                              pass.out.place + pass.out.offset(r.head) + block * pass.out.block),
                      .data1 = turned.ap({{m * apart, P}, {apart, m}, {1, t.wide}}),
                      .data2 = pass.inverse.ap({{inverse_row, P}, {all, m}, {0, t.wide}}, at),
                      .op = AluOp::multiply,
                      .engine = Engine::vector});
  }
}

}  // namespace kiln::tensor
