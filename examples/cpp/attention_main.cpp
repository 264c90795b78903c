#include <algorithm>
#include <cmath>

#include "attention_demo.h"
#include "programs.h"

using namespace kiln;
using namespace kiln::examples;

namespace {

// One query: the softmax of its scores weighs the rows of v.
void attend(const float* q, const float* keys, const float* values, std::int64_t S, std::int64_t D, float* out) {
  std::vector<double> weight(S), sum(D);
  for (std::int64_t j = 0; j < S; ++j) {
    for (std::int64_t d = 0; d < D; ++d) weight[j] += double{q[d * S]} * keys[d * S + j];
    weight[j] /= std::sqrt(static_cast<double>(D));
  }
  const double max = *std::max_element(weight.begin(), weight.end());
  double total = 0;
  for (std::int64_t j = 0; j < S; ++j) {
    weight[j] = std::exp(weight[j] - max);
    total += weight[j];
    for (std::int64_t d = 0; d < D; ++d) sum[d] += weight[j] * values[j * D + d];
  }
  for (std::int64_t d = 0; d < D; ++d) out[d] = static_cast<float>(sum[d] / total);
}

void reference(const Sizes& s, Arrays& a) {
  const std::int64_t H = s[0], S = s[1], D = s[2];
  for (std::int64_t h = 0; h < H; ++h) {
    for (std::int64_t i = 0; i < S; ++i) {
      const std::int64_t head = h * S * D;
      attend(&a["q_t"][head + i], &a["k_t"][head], &a["v"][head], S, D, &a["out"][head + i * D]);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Example example{
      .name = "attention",
      .summary =
          "out[H, S, D] = softmax(q kᵀ / sqrt D) v with an online softmax over blocks of keys; D is at most "
          "128",
      .size_names = {"H", "S", "D"},
      .default_sizes = {2, 384, 64},
      .build = [](const Sizes& s, Target target) { return attention(s[0], s[1], s[2], target); },
      .reference = reference,
      .demo = attention_demo,
  };
  return run_example(example, argc, argv);
}
