#include <fmt/format.h>

#include "kiln/isa/instructions/shared/rule_words.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::dropout {
namespace {
using namespace args::dropout;

constexpr Rule kSameShape{1, words::kDataAndDstShape};
constexpr Rule kDstDtype{2, "dst has the dtype of data",
                         "allocate dst with data's dtype, and convert with tensor_copy"};
constexpr Rule kProbDtype{3, "a prob tile is float32 when data is not a float", "convert prob with tensor_copy"};
constexpr Rule kProbColumn{4, "a prob tile has one value per partition", "slice prob to (P, 1)"};
constexpr Rule kProbRange{5, "prob lies between 0 and 1; below, nothing is dropped, and above, everything",
                          "clamp prob", Mark::undocumented};

constexpr Rule kRules[] = {kSameShape, kDstDtype, kProbDtype, kProbColumn, kProbRange};

bool is_probability(double p) { return p >= 0 && p <= 1; }

void check(Check& c) {
  c.require(kSameShape, c.same_shape(dst, data), [&] {
    return fmt::format("dst is {}, data is {}", shape_text(c.access(dst)), shape_text(c.access(data)));
  });
  c.require(kDstDtype, c.dtype(dst) == c.dtype(data),
            [&] { return fmt::format("dst is {}, data is {}", name(c.dtype(dst)), name(c.dtype(data))); });
  if (c.is_tile(prob)) {
    c.require(kProbDtype, is_float(c.dtype(data)) || c.dtype(prob) == DType::float32,
              [&] { return fmt::format("data is {}, prob is {}", name(c.dtype(data)), name(c.dtype(prob))); });
    c.require(kProbColumn, c.is_column(prob, c.partitions(data)), prob);
  } else {
    c.advise(kProbRange, is_probability(c.real(prob)), prob, [&] { return fmt::format("prob is {}", c.real(prob)); });
  }
}

void run(Run& r) {
  const Tile &d = r.tile(dst), &x = r.tile(data);
  std::vector<std::uint32_t> bits(d.free_size);
  for (std::int64_t row = 0; row < d.rows; ++row) {
    const float p = r.column(prob, row);
    if (r.is_tile(prob) && !is_probability(p)) r.warn(kProbRange, fmt::format("prob is {} in row {}", p, row));
    const double limit = p * 0x1p32;  // exact in double, so u * 2^-32 < p is compared exactly
    Xorwow& state = r.state().vector_random[d.lane + row][0];
    Xorwow random = state;  // kept in registers
    load_row_bits(r, x, row, 0, bits.size(), bits.data());
    // A mask instead of a branch, which nothing could predict.
    for (std::uint32_t& element : bits) element &= std::uint32_t{random.next() < limit} - 1;
    state = random;
    store_row_bits(r, d, row, 0, bits.size(), bits.data());
  }
}

Cost cost(const CostQuery& q) { return {.cycles = q.stream(static_cast<double>(q.free_size(data)))}; }

unsigned state(const InstView&) { return kVectorRandom; }

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "dst[p, f] = 0 when u < prob, else data[p, f] bit for bit, with u = bits * 2^-32 in [0, 1) and bits the next "
        "32 bits of partition p's vector engine generator (its first state), one per element in ascending order. Kept "
        "elements are not rescaled.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track_elementwise,
    .cost_text = "max(64, N)",
    .state = state,
    .facts = {.in_place = param_bit(data)},
};

}  // namespace kiln::isa::instruction::dropout
