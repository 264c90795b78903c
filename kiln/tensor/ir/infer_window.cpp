// Types of convolutions and pools.
#include <algorithm>
#include <array>

#include "kiln/tensor/ir/infer_op.h"
#include "kiln/tensor/ir/window.h"

namespace kiln::tensor {
namespace {

// The windows that attributes name, over the last dimensions of the first operand.
std::vector<Window> windows(const Ask& a, const Ints& taps, bool spreads) {
  const Shape& x = a.operand(0).shape;
  const std::size_t n = taps.size();
  for (const char* name : {"strides", "low", "high", "dilation"}) {
    a.require(a.op.ints(name).size() == n, rules::kWindow,
              fmt::format("{} {} for {} dimensions", a.op.ints(name).size(), name, n));
  }
  a.require(!spreads || a.op.ints("spread").size() == n, rules::kWindow, fmt::format("spread for {} dimensions", n));
  std::vector<Window> out;
  for (std::size_t i = 0; i < n; ++i) {
    const Window w{.size = x[x.size() - n + i],
                   .taps = taps[i],
                   .stride = a.op.ints("strides")[i],
                   .low = a.op.ints("low")[i],
                   .high = a.op.ints("high")[i],
                   .dilation = a.op.ints("dilation")[i],
                   .spread = spreads ? a.op.ints("spread")[i] : 1};
    const bool ok = w.size >= 1 && w.taps >= 1 && w.stride >= 1 && w.low >= 0 && w.high >= 0 && w.dilation >= 1 &&
                    w.spread >= 1 && w.count() >= 1;
    a.require(ok, rules::kWindow,
              fmt::format("a window of {} elements, {} apart, over {}", w.taps, w.dilation, w.padded()));
    out.push_back(w);
  }
  return out;
}

DType product_dtype(const Ask& a) {
  const auto t = promote(a.operand(0).dtype, a.operand(1).dtype);
  a.require(t && is_float(*t), rules::kDtype,
            fmt::format("{} with {}", name(a.operand(0).dtype), name(a.operand(1).dtype)));
  return *t;
}

}  // namespace

Type infer_conv(const Ask& a) {
  const Type &x = a.operand(0), &w = a.operand(1);
  const std::int64_t groups = a.op.integer("groups");
  bool ok = x.rank() >= 3 && x.rank() <= 5 && w.rank() == x.rank() && groups >= 1;
  ok = ok && x.shape[1] % groups == 0 && w.shape[0] % groups == 0 && w.shape[1] == x.shape[1] / groups;
  a.require(ok, rules::kWindow, fmt::format("{} with {} in {} groups", to_string(x), to_string(w), groups));
  Type out{product_dtype(a), {x.shape[0], w.shape[0]}};
  for (const Window& i : windows(a, Shape(w.shape.begin() + 2, w.shape.end()), true)) out.shape.push_back(i.count());
  return out;
}

Type infer_pool(const Ask& a) {
  constexpr std::array<std::string_view, 5> kModes{"max", "min", "sum", "mean", "mean_inside"};
  Type out = a.operand(0);
  const Ints& taps = a.op.ints("window");
  const std::string& mode = a.op.text("mode");
  a.require(std::find(kModes.begin(), kModes.end(), mode) != kModes.end(), rules::kOperands,
            fmt::format("mode `{}`; there are {}", mode, fmt::join(kModes, ", ")));
  a.require(taps.size() <= out.shape.size(), rules::kWindow,
            fmt::format("{} dimensions of {}", taps.size(), to_string(out)));
  const auto sums = mode != "max" && mode != "min";
  a.require(!sums || is_float(out.dtype), rules::kDtype, fmt::format("{} of {}", mode, name(out.dtype)));
  const std::size_t first = out.shape.size() - taps.size();
  const std::vector<Window> all = windows(a, taps, false);
  for (std::size_t i = 0; i < all.size(); ++i) out.shape[first + i] = all[i].count();
  return out;
}

}  // namespace kiln::tensor
