#include "kiln/tensor/lower/held_products.h"

#include <algorithm>

#include "kiln/tensor/ir/verify.h"
#include "kiln/tensor/lower/candidates.h"
#include "kiln/tensor/lower/quick_time.h"
#include "kiln/tensor/passes/held_matrices.h"

namespace kiln::tensor {
namespace {

constexpr double kInFull = 2000;  // instructions: short loops make most of such programs
// Before anything is improved: what takes a share of the other's time is taken, or left, without a look at the other.
constexpr double kMuchQuicker = 0.72, kMuchSlower = 1.25;

bool are_same(const Graph& a, const Graph& b) {
  const auto same = [](const Op& x, const Op& y) {
    return x.code == y.code && x.type == y.type && x.operands == y.operands;
  };
  return std::ranges::equal(a.ops(), b.ops(), same);
}

struct Held {
  Solved solved;
  double time_ns = 0;  // with what is between products in SBUF
};

// The quicker of the ways in which products hold their matrices.
std::optional<Held> quickest_held(const Graph& graph, const CompileOptions& options) {
  std::optional<Held> best;
  for (const HeldMatrices which : {HeldMatrices::between, HeldMatrices::all}) {
    // Without such a mode the tensor engine multiplies to turn results: one that is infinite would spoil others.
    if (which == HeldMatrices::all && !arch(options.target).features.tensor_transpose_mode) continue;
    std::optional<Graph> held = with_held_matrices(graph, which);
    if (!held || (best && are_same(best->solved.cores[0], *held))) continue;
    verify(*held, "held-matrices");
    Solved solved = first_that_fits({std::move(*held)}, options);
    Choice kept = solved.choice;
    kept.keeps_blocks = true;
    const std::optional<Compiled> made = make(solved.cores, options, kept, *solved.plans);
    const bool fits = made && errors_of(*made, options).empty();
    const double ns = quick_time_ns((fits ? *made : solved.made).launch(), kInFull);
    if (!best || ns < best->time_ns) best = Held{std::move(solved), ns};
  }
  return best;
}

// The quicker of two, with what was tried for both.
Solved quicker(Solved a, Solved b) {
  const auto time = [&](const Solved& s) { return quick_time_as_seen(s.made.launch(), kInFull).ns; };
  if (time(b) < time(a)) std::swap(a, b);
  std::vector<Alternative>& all = a.made.alternatives;
  const std::size_t own = all.size();
  all.insert(all.end(), b.made.alternatives.begin(), b.made.alternatives.end());
  std::ranges::stable_sort(all.begin() + std::min<std::ptrdiff_t>(1, own), all.end(), {}, &Alternative::time_ns);
  return a;
}

}  // namespace

Solved improved(Solved solved, const CompileOptions& options) {
  std::optional<Held> held = quickest_held(solved.cores[0], options);
  const double share = held ? held->time_ns / quick_time_ns(solved.made.launch(), kInFull) : kMuchSlower;
  if (share > kMuchQuicker) improve(solved, options);
  if (share >= kMuchSlower) return solved;
  improve(held->solved, options);
  return share <= kMuchQuicker ? std::move(held->solved) : quicker(std::move(solved), std::move(held->solved));
}

}  // namespace kiln::tensor
