#include <bit>

#include "example.h"
#include "programs.h"

using namespace kiln;
using namespace kiln::examples;

namespace {
constexpr std::int64_t kBlock = 128;

std::int32_t integer(float bits) { return std::bit_cast<std::int32_t>(bits); }
float bits(std::int64_t value) { return std::bit_cast<float>(static_cast<std::int32_t>(value)); }

// A structure that visits the corners: every third row of blocks is empty, the others share the blocks
// unevenly.
void prepare(const Sizes& s, Arrays& arrays) {
  const std::int64_t row_blocks = s[0], column_blocks = s[1], block_count = s[2];
  std::int64_t placed = 0;
  for (std::int64_t row = 0; row < row_blocks; ++row) {
    arrays["row_start"][row] = bits(placed);
    const bool last = row + 1 == row_blocks;
    if (last) {
      placed = block_count;
    } else if (row % 3 != 0) {
      placed += (block_count - placed) / 2;
    }
  }
  arrays["row_start"][row_blocks] = bits(placed);
  for (std::int64_t e = 0; e < block_count; ++e) arrays["column"][e] = bits((e * 7 + 3) % column_blocks);
}

void add_product(const float* block, const float* b, std::int64_t N, std::vector<double>& c) {
  for (std::int64_t k = 0; k < kBlock; ++k) {
    for (std::int64_t m = 0; m < kBlock; ++m) {
      for (std::int64_t n = 0; n < N; ++n) c[m * N + n] += double{block[k * kBlock + m]} * b[k * N + n];
    }
  }
}

void reference(const Sizes& s, Arrays& arrays) {
  const std::int64_t row_blocks = s[0], N = s[3];
  for (std::int64_t row = 0; row < row_blocks; ++row) {
    std::vector<double> c(kBlock * N);
    for (std::int32_t e = integer(arrays["row_start"][row]); e < integer(arrays["row_start"][row + 1]); ++e) {
      const std::int64_t column = integer(arrays["column"][e]);
      add_product(&arrays["blocks"][e * kBlock * kBlock], &arrays["b"][column * kBlock * N], N, c);
    }
    for (std::int64_t i = 0; i < kBlock * N; ++i) arrays["c"][row * kBlock * N + i] = static_cast<float>(c[i]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Example example{
      .name = "block_sparse",
      .summary =
          "c = block-sparse matrix times b[128 · CB, N]: 128 x 128 blocks in block-CSR form, loops on "
          "registers",
      .size_names = {"row_blocks", "column_blocks", "block_count", "N"},
      .default_sizes = {5, 4, 9, 600},
      .build = [](const Sizes& s, Target target) { return block_sparse(s[0], s[1], s[2], s[3], target); },
      .reference = reference,
      .prepare = prepare,
  };
  return run_example(example, argc, argv);
}
