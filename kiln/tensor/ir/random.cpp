// Types and values of random numbers by counter.
#include <bit>

#include "kiln/tensor/ir/evaluate_op.h"
#include "kiln/tensor/ir/infer_op.h"
#include "kiln/tensor/ir/threefry.h"

namespace kiln::tensor {
namespace {

Shape asked_shape(const Ask& a) {
  const Type& key = a.operand(0);
  a.require(key.dtype == DType::uint32 && key.shape == Shape{2}, rules::kDtype, "a key " + to_string(key));
  for (std::int64_t n : a.op.ints("shape")) a.require(n >= 0, rules::kShape, to_string(a.op.ints("shape")));
  return a.op.ints("shape");
}

std::uint32_t word(double x) { return static_cast<std::uint32_t>(x); }

}  // namespace

Type infer_random_bits(const Ask& a) { return {DType::uint32, asked_shape(a)}; }
Type infer_random_uniform(const Ask& a) { return {DType::float32, asked_shape(a)}; }

Array eval_random_bits(const Eval& e) {
  Array out = e.make();
  const std::array<std::uint32_t, 2> key{word(e.in[0]->data[0]), word(e.in[0]->data[1])};
  const std::size_t n = out.data.size(), half = (n + 1) / 2;
  for (std::size_t i = 0; i < half; ++i) {
    const auto x = threefry<std::uint32_t>(
        key, {static_cast<std::uint32_t>(i), 0}, [](std::uint32_t w, int turn) { return std::rotl(w, turn); },
        [](std::uint32_t w) { return w; });
    out.data[i] = x[0];
    if (half + i < n) out.data[half + i] = x[1];
  }
  return out;
}

Array eval_random_uniform(const Eval& e) {
  Array out = eval_random_bits(e);
  for (double& x : out.data) x = static_cast<double>(word(x) >> 8) / (1 << 24);
  return out;
}

}  // namespace kiln::tensor
