// The oracle of convolutions and pools.
#include <cmath>
#include <limits>

#include "kiln/tensor/ir/evaluate_op.h"
#include "kiln/tensor/ir/window.h"

namespace kiln::tensor {
namespace {

// The element that tap `tap` of window `at` reads; nothing for a border or a gap.
std::optional<std::int64_t> read_place(const Op& op, bool spreads, std::size_t i, std::int64_t at, std::int64_t tap,
                                       std::int64_t size) {
  const std::int64_t spread = spreads ? op.ints("spread")[i] : 1;
  const std::int64_t p = at * op.ints("strides")[i] + tap * op.ints("dilation")[i] - op.ints("low")[i];
  if (p < 0 || p % spread != 0 || p / spread >= size) return {};
  return p / spread;
}

// Calls fn(place of x, place among taps) for all taps that read an element; both count dimensions from the window's.
template <class Fn>
void for_taps(const Eval& e, bool spreads, const Shape& spatial, const Shape& taps, const Shape& at, Fn&& fn) {
  const std::size_t first = at.size() - taps.size();
  for_each(taps, [&](std::int64_t t, const Shape& tap) {
    std::int64_t place = 0;
    for (std::size_t i = 0; i < taps.size(); ++i) {
      const auto p = read_place(e.op, spreads, i, at[first + i], tap[i], spatial[i]);
      if (!p) return fn(std::int64_t{-1}, t);
      place = place * spatial[i] + *p;
    }
    fn(place, t);
  });
}

// w(o, c, tap) for each output channel o, its input channels and taps.
template <class Weight>
Array convolved(const Eval& e, const Shape& taps, std::int64_t groups, Weight&& weight) {
  Array out = e.make();
  const Shape& x = e.in[0]->type.shape;
  const Shape spatial(x.begin() + 2, x.end());
  const std::int64_t each = product(spatial), in = x[1] / groups, per_group = out.type.shape[1] / groups;
  for_each(out.type.shape, [&](std::int64_t i, const Shape& at) {
    double sum = 0;
    const std::int64_t group = at[1] / per_group;
    for_taps(e, true, spatial, taps, at, [&](std::int64_t place, std::int64_t tap) {
      if (place < 0) return;
      for (std::int64_t c = 0; c < in; ++c)
        sum += e.in[0]->data[(at[0] * x[1] + group * in + c) * each + place] * weight(at[1], c, tap);
    });
    out.data[i] = sum;
  });
  return out;
}

}  // namespace

Array eval_conv(const Eval& e) {
  const Array& w = *e.in[1];
  const Shape taps(w.type.shape.begin() + 2, w.type.shape.end());
  const std::int64_t n = product(taps), in = w.type.shape[1];
  return convolved(e, taps, e.op.integer("groups"),
                   [&](std::int64_t o, std::int64_t c, std::int64_t t) { return w.data[(o * in + c) * n + t]; });
}

Array eval_pool(const Eval& e) {
  Array out = e.make();
  const Ints& taps = e.op.ints("window");
  const std::string& mode = e.op.text("mode");
  const Shape& x = e.in[0]->type.shape;
  const std::size_t first = x.size() - taps.size();
  const Shape spatial(x.begin() + static_cast<std::ptrdiff_t>(first), x.end());
  const Shape outer = strides_of(x);
  for_each(out.type.shape, [&](std::int64_t i, const Shape& at) {
    std::int64_t base = 0, inside = 0;
    for (std::size_t d = 0; d < first; ++d) base += at[d] * outer[d];
    double total = mode == "max" ? lowest(out.type.dtype) : mode == "min" ? highest(out.type.dtype) : 0;
    for_taps(e, false, spatial, taps, at, [&](std::int64_t place, std::int64_t) {
      if (place < 0) return;
      const double v = e.in[0]->data[base + place];
      ++inside;
      if (mode == "max")
        total = std::isnan(total) || total >= v ? total : v;
      else if (mode == "min")
        total = std::isnan(total) || total <= v ? total : v;
      else
        total += v;
    });
    if (mode == "mean") total /= static_cast<double>(product(taps));
    if (mode == "mean_inside") total /= static_cast<double>(inside);
    out.data[i] = total;
  });
  return out;
}

}  // namespace kiln::tensor
