// Random numbers as sums, shifts and exclusive ors of 32-bit integers, which are exact on every chip.
#include <algorithm>

#include "kiln/tensor/ir/threefry.h"
#include "kiln/tensor/passes/expand.h"

namespace kiln::tensor {
namespace {

struct Word {
  Expr e;
  friend Word operator+(const Word& x, const Word& y) { return {add(x.e, y.e)}; }
  friend Word operator^(const Word& x, const Word& y) { return {bitwise_xor(x.e, y.e)}; }
};

Expr number(Graph& g, std::uint32_t x) { return {g, g.constant({DType::uint32, {}}, {static_cast<double>(x)})}; }

Word rotated(const Word& x, int turn) {
  Graph& g = x.e.graph();
  const auto bits = static_cast<std::uint32_t>(turn);
  return {bitwise_or(left_shift(x.e, number(g, bits)), right_shift(x.e, number(g, 32 - bits)))};
}

Expr bits_of(const Rewriting& r) {
  constexpr std::int64_t kRow = 512;
  Graph& g = r.to;
  const std::int64_t n = r.op.type.size(), half = (n + 1) / 2;
  const std::int64_t columns = std::min(half, kRow), rows = (half + columns - 1) / columns;
  const Type ramp{DType::int32, {rows, columns}};
  const Expr row{g, g.iota(ramp, 0)}, column{g, g.iota(ramp, 1)};
  const Expr counter = bitcast(row * columns + column, DType::uint32);
  const auto key = [&](std::int64_t i) { return Word{reshape(slice(r.operand(0), 0, i, i + 1), {1, 1})}; };
  const Word zero{broadcast_to(number(g, 0), {rows, columns})};
  const auto x = threefry<Word>({key(0), key(1)}, {Word{counter}, zero}, rotated,
                                [&](std::uint32_t w) { return Word{number(g, w)}; });
  const auto words = [&](const Word& w, std::int64_t count) {
    return slice(reshape(w.e, {rows * columns}), 0, 0, count);
  };
  return n == 1 ? words(x[0], 1) : concat({words(x[0], half), words(x[1], n - half)}, 0);
}

}  // namespace

std::optional<Value> expanded_random(const Rewriting& r) {
  if (r.op.code != OpCode::random_bits && r.op.code != OpCode::random_uniform) return {};
  const Shape& shape = r.op.type.shape;
  if (r.op.type.size() == 0) return r.to.constant(r.op.type, {0});
  const Expr bits = reshape(bits_of(r), shape);
  if (r.op.code == OpCode::random_bits) return bits.value();
  const Expr upper = right_shift(bits, number(r.to, 8));
  return (cast(upper, DType::float32) * (1.0 / (1 << 24))).value();
}

}  // namespace kiln::tensor
