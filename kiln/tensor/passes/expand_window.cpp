// Pools as slices that are put together, dimension by dimension; convolutions as products where they are one, else with
// three dimensions and weights as the tensor engine holds them.
#include "kiln/tensor/lower/windows.h"
#include "kiln/tensor/passes/expand.h"

namespace kiln::tensor {
namespace {

std::vector<Window> windows_of(const Op& op, const Shape& x, const Ints& taps, bool spreads) {
  std::vector<Window> out;
  for (std::size_t i = 0; i < taps.size(); ++i)
    out.push_back({.size = x[x.size() - taps.size() + i],
                   .taps = taps[i],
                   .stride = op.ints("strides")[i],
                   .low = op.ints("low")[i],
                   .high = op.ints("high")[i],
                   .dilation = op.ints("dilation")[i],
                   .spread = spreads ? op.ints("spread")[i] : 1});
  return out;
}

// One dimension of a pool: every stride-th element from each tap on.
Expr pooled(const Expr& x, std::int64_t axis, const Window& w, const std::string& mode) {
  const bool is_max = mode == "max", is_min = mode == "min";
  Expr wide = x;
  if (w.low + w.high > 0) {
    Ints low(x.rank(), 0), high(x.rank(), 0);
    low[axis] = w.low;
    high[axis] = w.high;
    wide = pad(x, low, high, is_max ? lowest(x.dtype()) : is_min ? highest(x.dtype()) : 0);
  }
  std::optional<Expr> out;
  for (std::int64_t t = 0; t < w.taps; ++t) {
    const std::int64_t first = t * w.dilation;
    const Expr part = slice(wide, axis, first, first + (w.count() - 1) * w.stride + 1, w.stride);
    out = !out ? part : is_max ? maximum(*out, part) : is_min ? minimum(*out, part) : add(*out, part);
  }
  return *out;
}

// How many elements of a window lie inside, for each window.
Expr counts(Graph& g, const std::vector<Window>& windows, int rank) {
  Shape shape(static_cast<std::size_t>(rank), 1);
  std::vector<double> all{1};
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const Window& w = windows[i];
    shape[shape.size() - windows.size() + i] = w.count();
    std::vector<double> next;
    for (double before : all) {
      for (std::int64_t at = 0; at < w.count(); ++at) {
        double inside = 0;
        for (std::int64_t t = 0; t < w.taps; ++t) {
          const std::int64_t p = at * w.stride + t * w.dilation - w.low;
          inside += p >= 0 && p < w.size;
        }
        next.push_back(before * inside);
      }
    }
    all = std::move(next);
  }
  for (double& n : all) n = 1 / n;
  return {g, g.constant({DType::float32, shape}, all)};
}

Expr pool_of(const Rewriting& r) {
  const std::string& mode = r.op.text("mode");
  const std::vector<Window> windows = windows_of(r.op, r.operand(0).shape(), r.op.ints("window"), false);
  const bool sums = mode != "max" && mode != "min";
  Expr x = sums ? cast(r.operand(0), DType::float32) : r.operand(0);
  const std::int64_t first = static_cast<std::int64_t>(x.rank()) - static_cast<std::int64_t>(windows.size());
  double elements = 1;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    x = pooled(x, first + static_cast<std::int64_t>(i), windows[i], mode);
    elements *= static_cast<double>(windows[i].taps);
  }
  if (mode == "mean") x = x * (1 / elements);
  if (mode == "mean_inside") x = x * counts(r.to, windows, x.rank());
  return cast(x, r.op.type.dtype);
}

// Windows side by side, each element in one: rows of patches with all taps.
Expr patches(const Rewriting& r, const Expr& x, const Expr& w, const std::vector<Window>& windows) {
  const Shape xs = x.shape(), ws = w.shape();
  Shape apart{xs[0], xs[1]};
  Ints perm{0}, inner{1};
  std::int64_t count = 1;
  for (const Window& i : windows) {
    apart.insert(apart.end(), {i.count(), i.taps});
    perm.push_back(static_cast<std::int64_t>(apart.size()) - 2);
    inner.push_back(static_cast<std::int64_t>(apart.size()) - 1);
    count *= i.count();
  }
  perm.insert(perm.end(), inner.begin(), inner.end());
  const std::int64_t k = product(ws, 1, ws.size());
  const Expr rows = reshape(transpose(reshape(x, apart), perm), {xs[0], count, k});
  const Expr out = matmul(rows, transpose(reshape(w, {ws[0], k})));
  return reshape(transpose(out), r.op.type.shape);
}

// Zeros between elements, along one dimension.
Expr spread_out(const Expr& x, std::int64_t axis, std::int64_t by) {
  if (by == 1) return x;
  const Shape shape = x.shape();
  const Expr lines = expand_dims(x, axis + 1);
  Ints low(lines.rank(), 0), high(lines.rank(), 0);
  high[axis + 1] = by - 1;
  Shape joined = shape;
  joined[axis] *= by;
  return slice(reshape(pad(lines, low, high), joined), axis, 0, (shape[axis] - 1) * by + 1);
}

// One channel in for each channel out: taps are scaled slices of rows that lie on partitions.
Expr channel_by_channel(const Rewriting& r, const Expr& x, const Expr& w, const std::vector<Window>& windows) {
  const Shape xs = x.shape(), ws = w.shape();
  const std::int64_t more = ws[0] / xs[1];  // channels out of each channel in
  Expr wide = cast(x, DType::float32);
  Ints low(xs.size(), 0), high(xs.size(), 0);
  for (std::size_t i = 0; i < windows.size(); ++i) {
    wide = spread_out(wide, static_cast<std::int64_t>(i) + 2, windows[i].spread);
    low[i + 2] = windows[i].low;
    high[i + 2] = windows[i].high;
  }
  wide = pad(wide, low, high);
  if (more > 1) {
    Shape apart = wide.shape();
    apart.insert(apart.begin() + 2, more);
    Shape joined = wide.shape();
    joined[1] = ws[0];
    wide = reshape(broadcast_to(expand_dims(wide, 2), apart), joined);
  }
  const std::int64_t taps = product(ws, 2, ws.size());
  const Expr scales = reshape(cast(w, DType::float32), {ws[0], taps});
  Shape column(xs.size(), 1);
  column[1] = ws[0];
  std::optional<Expr> out;
  for (std::int64_t t = 0; t < taps; ++t) {
    Expr part = wide;
    std::int64_t left = t;
    for (std::size_t i = windows.size(); i-- > 0;) {
      const Window& o = windows[i];
      const std::int64_t first = left % o.taps * o.dilation;
      left /= o.taps;
      part = slice(part, static_cast<std::int64_t>(i) + 2, first, first + (o.count() - 1) * o.stride + 1, o.stride);
    }
    part = part * reshape(slice(scales, 1, t, t + 1), column);
    out = out ? *out + part : part;
  }
  return cast(*out, r.op.type.dtype);
}

// Three dimensions, so that there is one way to instructions; the border and the gaps in HBM where the volume does not
// fit SBUF.
std::optional<Value> conv_of(const Rewriting& r) {
  const DType t = r.op.type.dtype;
  const std::int64_t groups = r.op.integer("groups");
  const Shape xs = r.operand(0).shape(), ws = r.operand(1).shape();
  std::vector<Window> windows = windows_of(r.op, xs, Shape(ws.begin() + 2, ws.end()), true);
  bool apart = groups == 1, single = groups == 1, plain = true;
  for (const Window& i : windows) {
    apart = apart && i.is_plain() && i.stride == i.taps && i.dilation == 1 && i.size % i.taps == 0;
    single = single && i.is_plain() && i.stride == 1 && i.taps == 1;
    plain = plain && i.is_plain();
  }
  const bool ready = xs.size() == 5 && r.operand(0).dtype() == t && r.operand(1).dtype() == t;
  const bool fits = plain || fits_whole(xs[1] / groups, windows, size_bytes(t));
  if (ready && fits && !single && !apart && ws[1] > 1) return {};
  Expr x = cast(r.operand(0), t), w = cast(r.operand(1), t);
  if (single) {
    const std::int64_t each = product(xs, 2, xs.size());
    return reshape(matmul(reshape(w, {ws[0], ws[1]}), reshape(x, {xs[0], xs[1], each})), r.op.type.shape).value();
  }
  if (apart) return patches(r, x, w, windows).value();
  if (ws[1] == 1) return channel_by_channel(r, x, w, windows).value();
  if (!fits) {
    Shape low(x.rank(), 0), high(x.rank(), 0);
    for (std::size_t i = 0; i < windows.size(); ++i) {
      const auto axis = static_cast<std::int64_t>(i) + 2;
      x = spread_out(x, axis, windows[i].spread);
      low[axis] = windows[i].low;
      high[axis] = windows[i].high;
      windows[i] = {.size = windows[i].padded(),
                    .taps = windows[i].taps,
                    .stride = windows[i].stride,
                    .dilation = windows[i].dilation};
    }
    x = pad(x, low, high);
  }
  windows.insert(windows.begin(), 3 - windows.size(), Window{});
  Ints strides, low, high, dilation, spread;
  Shape volume{xs[0], xs[1]}, taps{ws[0], ws[1]};
  for (const Window& i : windows) {
    strides.push_back(i.stride);
    low.push_back(i.low);
    high.push_back(i.high);
    dilation.push_back(i.dilation);
    spread.push_back(i.spread);
    volume.push_back(i.size);
    taps.push_back(i.taps);
  }
  const Value v = r.to.add(OpCode::conv, {reshape(x, volume).value(), reshape(w, taps).value()},
                           {strides, low, high, dilation, spread, groups});
  return reshape(Expr(r.to, v), r.op.type.shape).value();
}

}  // namespace

std::optional<Value> expanded_window(const Rewriting& r) {
  if (r.op.code == OpCode::conv) return conv_of(r);
  if (r.op.code == OpCode::pool) return pool_of(r).value();
  return {};
}

}  // namespace kiln::tensor
