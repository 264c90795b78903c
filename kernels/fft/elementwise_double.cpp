#include "kernels/fft/elementwise_double.h"

#include "kernels/blas/config_rules.h"
#include "kernels/blas/dtypes.h"
#include "kernels/fft/double_complex.h"

namespace kiln::kernels {
using namespace isa;

namespace {

constexpr std::int64_t kWidth = 256;  // complex numbers of a partition at once

DoubleView inputs(Kernel& k, const std::string& name, std::int64_t size) {
  const View high = k.input(name + "0", {1, size}, f32);
  return {high, k.input(name + "1", {1, size}, f32)};
}
DoubleView outputs(Kernel& k, const std::string& name, std::int64_t size) {
  const View high = k.output(name + "0", {1, size}, f32);
  return {high, k.output(name + "1", {1, size}, f32)};
}

// `rows` runs of `width` numbers each, from `first` on, of vectors whose numbers are `each` elements.
struct Block {
  Index first;
  std::int64_t rows, width;

  View of(const View& x, std::int64_t each) const {
    return x(0, ds(first * each, rows * width * each)).reshape({rows, width * each});
  }
};

void for_blocks(Kernel& k, std::int64_t count, const std::function<void(const Block&)>& body) {
  const std::int64_t whole = count / kWidth, left = count % kWidth;
  if (whole > 0) k.tiles(whole, kTile, [&](Index row, std::int64_t rows) { body({row * kWidth, rows, kWidth}); });
  if (left > 0) body({whole * kWidth, 1, left});
}

View load(Kernel& k, const Block& block, const View& x, std::int64_t each) {
  const View tile = k.sbuf({block.rows, block.width * each}, f32);
  k.dma_copy({.dst = tile, .src = block.of(x, each)});
  return tile;
}
DoubleView load(Kernel& k, const Block& block, const DoubleView& x) {
  return {load(k, block, x.high, 1), load(k, block, x.low, 1)};
}

View part(const View& tile, int which) {
  return tile.reshape_dim(1, {tile.dim(1) / 2, 2})(all, all, ds(which, 1)).squeeze_dim(2);
}
DoubleComplex load_complex(Kernel& k, const Block& block, const DoubleView& x) {
  const View high = load(k, block, x.high, 2), low = load(k, block, x.low, 2);
  return {{part(high, 0), part(low, 0)}, {part(high, 1), part(low, 1)}};
}

void store(Kernel& k, const Block& block, const DoubleView& y, const DoubleComplex& value) {
  const auto one = [&](const View& to, const View& re, const View& im) {
    const View tile = k.sbuf({block.rows, 2 * block.width}, f32);
    k.tensor_copy({.dst = part(tile, 0), .src = re});
    k.tensor_copy({.dst = part(tile, 1), .src = im});
    k.dma_copy({.dst = block.of(to, 2), .src = tile});
  };
  one(y.high, value.re.high, value.im.high);
  one(y.low, value.re.low, value.im.low);
}

}  // namespace

Program complex_multiply_double(std::int64_t count, Target target) {
  require_sizes("complex_multiply_double", {count});
  Kernel k("complex_multiply_double", target);
  const DoubleView x = inputs(k, "x", 2 * count), t = inputs(k, "factor", 2 * count), y = outputs(k, "y", 2 * count);
  DoubleFloat math(k, kTile, kWidth);
  for_blocks(k, count, [&](const Block& block) {
    const DoubleComplex a = load_complex(k, block, x), b = load_complex(k, block, t);
    store(k, block, y, times(math, a, b));
  });
  return k.finish();
}

Program mod_relu_double(std::int64_t count, Target target) {
  require_sizes("mod_relu_double", {count});
  Kernel k("mod_relu_double", target);
  const DoubleView x = inputs(k, "x", 2 * count);
  const View ratio = k.input("ratio", {1, count}, f32);
  const DoubleView bias = inputs(k, "bias", count), least = inputs(k, "least", count), y = outputs(k, "y", 2 * count);
  DoubleFloat math(k, kTile, kWidth);
  for_blocks(k, count, [&](const Block& block) {
    const DoubleComplex z = load_complex(k, block, x);
    const DoubleView low = load(k, block, least);
    const DoubleView square =
        math.larger(math.sum(math.product(z.re, z.re), math.product(z.im, z.im)), math.product(low, low));
    const DoubleView size = math.square_root(square);
    const DoubleView total = math.sum(math.times_each(size, load(k, block, ratio, 1)), load(k, block, bias));
    const DoubleView factor = math.product(math.not_negative(total), math.reciprocal(size));
    store(k, block, y, {math.product(z.re, factor), math.product(z.im, factor)});
  });
  return k.finish();
}

}  // namespace kiln::kernels
