// Convolutions as shifted products: channels of a volume lie on partitions, a tap is another place to start reading it,
// and all taps add up in PSUM. Where channels are few, taps along rows lie on partitions beside them; where one row of
// taps is left over, taps along its columns do, in a second slab.
#include <algorithm>

#include "kiln/tensor/ir/rules.h"
#include "kiln/tensor/lower/copies.h"
#include "kiln/tensor/lower/windows.h"
#include "kiln/tensor/passes/conv_tail.h"
#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {

using isa::Index;
using isa::View;

namespace {

constexpr std::int64_t kColumns = 512;        // of a bank of PSUM, and of a moving operand
constexpr std::int64_t kWeightBytes = 73728;  // of a partition
constexpr std::int64_t kFewChannels = 64;
constexpr std::int64_t kShortRow = 512;      // bytes
constexpr std::int64_t kSideBytes = 49152;   // of a partition, for a second slab
constexpr std::int64_t kPartElements = 784;  // of a partition, that are put in their places before products begin

// Calls body with 0 .. count - 1: once, or in a rolled loop.
void repeat(isa::Kernel& k, std::int64_t count, const std::function<void(Index)>& body) {
  if (count == 1)
    body(0);
  else
    k.loop(count, body);
}

// Elements of a volume that go to a slab: from `first` on, by two lists of dimensions, there and here.
struct Placement {
  View to;
  Index at;
  std::int64_t first;
  std::vector<Dims> lists;
};

// What is done to the result: an operator with a number or with one value per channel, or a function.
struct TailPart {
  Lowering how;
  std::optional<double> number = {};
  View per_channel = {};            // in HBM
  std::int64_t at = 0, stride = 1;  // where it begins there, and how far apart channels are
  View columns = {};                // (channels of a block, blocks)
  bool has_columns = false;
};

struct Convolution {
  isa::Kernel& k;
  const Arch& arch;
  View x, w, y;
  std::int64_t x_at, w_at;  // where they begin in their storage
  DType dtype;
  std::int64_t images, groups, in, out;  // channels of a group
  Window d, h, v;                        // depth, rows, columns
  bool whole = true;                     // all of a volume is in SBUF at once
  std::int64_t stacked = 1, steps = 1;   // taps along rows that lie on partitions, and how often they are moved on
  std::int64_t rows = 1;                 // of the result, of a slab
  std::int64_t chunk = 1;                // channels out whose weights are in SBUF
  std::int64_t depth = 1, height = 1, width = 1;  // of a slab
  std::int64_t beside = 1;                        // taps along columns that lie on partitions, of the last row of taps
  View slab, side, weights;
  std::vector<TailPart> tail;
  int evacuations = 0;

  std::int64_t channel_blocks() const { return (in + kBlock - 1) / kBlock; }
  std::int64_t taps() const { return d.taps * steps * v.taps; }
  std::int64_t whole_steps() const { return h.taps / stacked; }
  std::int64_t rest() const { return h.taps % stacked; }  // taps of the last step, where they are fewer
  std::int64_t plane() const { return height * width; }
  bool is_spread() const { return d.spread > 1 || h.spread > 1 || v.spread > 1; }

  void plan();
  void run();
  void load_weights(const Index& o, std::int64_t count);
  void turn_weights(const View& rows, const Index& ob, std::int64_t m);
  void load(const Index& n, const Index& g, const Index& z, const Index& row, std::int64_t count);
  void clear_border();
  void order_weights(const View& rows, const View& plain, const Index& z);
  void clear_side();
  void place(Placement one, std::int64_t p, std::int64_t parts, const View& source, const Index& from,
             std::int64_t channels);
  void load_block(const Index& from, const Index& block, std::int64_t channels);
  void load_slab(const Index& from, const Index& block, std::int64_t channels, const Index& z, const Index& row,
                 std::int64_t count);
  void compute(const Index& n, const Index& o, std::int64_t channels, const Index& z, const Index& row,
               std::int64_t count);
  void sum(const View& total, const Index& ob, std::int64_t o, const Index& z, const Index& r, std::int64_t pr,
           const Index& c, std::int64_t pc);
  void load_columns(const Index& o, std::int64_t channels);
  void finish(const View& done, const View& total, const Index& ob);
  Engine evacuator() {
    if (!arch.features.scalar_tensor_ops) return Engine::unknown;
    return stacked > 1 || ++evacuations % 2 == 0 ? Engine::scalar : Engine::unknown;  // the other one places volumes
  }
};

void Convolution::plan() {
  stacked = in <= kFewChannels ? std::min(h.taps, kBlock / in) : 1;
  steps = (h.taps + stacked - 1) / stacked;
  const std::int64_t bytes = size_bytes(dtype);
  whole = fits_whole(in, {d, h, v}, bytes);
  depth = whole ? d.padded() : d.taps;
  width = v.padded();
  const std::int64_t reach = (steps - 1) * stacked * h.dilation + 1;
  rows = h.count();
  if (!whole) {
    const std::int64_t most = kVolumeBytes / (channel_blocks() * depth * width * bytes);
    rows = std::clamp<std::int64_t>((most - reach) / h.stride + 1, 1, rows);
    const std::int64_t bank = std::max<std::int64_t>(1, kColumns / v.count());
    if (rows > bank) rows -= rows % bank;
  }
  height = whole ? h.padded() : (rows - 1) * h.stride + reach;
  if (whole && stacked > 1 && rest() == 1 && !is_spread() && depth * plane() * bytes <= kSideBytes)
    beside = std::min(stacked, v.taps);
  const std::int64_t each = channel_blocks() * taps() * bytes;
  chunk = out * each <= kWeightBytes ? out : std::max(kBlock, kWeightBytes / each / kBlock * kBlock);
  chunk = std::min(chunk, out);
}

// From (channels out, channels in, taps) to (channels in beside stacked taps, blocks of channels, taps, channels out):
// rows of channels out are put in order and turned on the tensor engine, tap by tap.
void Convolution::load_weights(const Index& o, std::int64_t count) {
  const std::int64_t all = d.taps * h.taps * v.taps, row = in * all;
  over_blocks(k, count, [&](Index ob, std::int64_t m) {
    const View plain = k.sbuf({m, row}, dtype);
    k.dma_copy({.dst = plain, .src = w.ap({{row, m}, {1, row}}, w_at + o * row + ob * (kBlock * row))});
    View rows = plain;
    if (stacked > 1) {  // (taps, stacked taps, channels)
      rows = k.sbuf({m, taps() * stacked * in}, dtype);
      if (rest() > 0) k.memset({.dst = rows, .value = 0.0});
      repeat(k, d.taps, [&](const Index& z) { order_weights(rows, plain, z); });
    }
    turn_weights(rows, ob, m);
  });
}

// Weights of one depth: (steps, taps along columns, stacked taps, channels).
void Convolution::order_weights(const View& rows, const View& plain, const Index& z) {
  const std::int64_t m = rows.dim(0), wide = rows.dim(1), row = plain.dim(1), all = d.taps * h.taps * v.taps;
  const std::int64_t tap = v.taps * stacked;
  const Index from = z * (h.taps * v.taps), to = z * (steps * tap * in);
  const auto order = [&](const Index& s, std::int64_t count) {
    k.tensor_copy({.dst = rows.ap({{wide, m}, {in * stacked, v.taps}, {in, count}, {1, in}}, to + s * (tap * in)),
                   .src = plain.ap({{row, m}, {1, v.taps}, {v.taps, count}, {all, in}}, from + s * tap)});
  };
  repeat(k, whole_steps(), [&](const Index& s) { order(s, stacked); });
  if (rest() == 0) return;
  if (beside == 1) return order(whole_steps(), rest());
  const auto order_side = [&](std::int64_t first, std::int64_t groups, std::int64_t count) {
    k.tensor_copy({.dst = rows.ap({{wide, m}, {in * stacked, groups}, {in, count}, {1, in}},
                                  to + (whole_steps() * tap * in + first * (in * stacked))),
                   .src = plain.ap({{row, m}, {beside, groups}, {1, count}, {all, in}},
                                   from + (whole_steps() * tap + first * beside))});
  };
  order_side(0, v.taps / beside, beside);
  if (v.taps % beside) order_side(v.taps / beside, 1, v.taps % beside);
}

void Convolution::turn_weights(const View& rows, const Index& ob, std::int64_t m) {
  const std::int64_t row = rows.dim(1), n = taps(),
                     together = std::max<std::int64_t>(1, arch.psum_bank_bytes / (m * size_bytes(dtype)));
  const auto turn = [&](const Index& b, std::int64_t channels) {
    k.tiles(n, together, [&](Index first, std::int64_t count) {
      const View turned = k.psum({channels, count * m}, dtype);
      repeat(k, count, [&](const Index& i) {
        const Index tap = first + i;
        const std::vector<isa::Dim> from{{row, m}, {stacked > 1 ? 1 : n, channels}};
        k.nc_transpose({.dst = turned.ap({{count * m, channels}, {1, m}}, i * m),
                        .data = rows.ap(from, stacked > 1 ? tap * channels : b * (kBlock * n) + tap)});
      });
      k.tensor_copy({.dst = weights.ap({{weights.dim(1), channels}, {chunk, count}, {1, m}},
                                       b * (n * chunk) + first * chunk + ob * kBlock),
                     .src = turned,
                     .engine = evacuator()});
    });
  };
  if (stacked > 1)
    turn(0, stacked * in);
  else
    over_blocks(k, in, turn);
}

// All of a volume with its border; stacked taps see it from further on. Short rows are put in their places by an
// engine: a DMA would move them one by one.
void Convolution::load_block(const Index& from, const Index& block, std::int64_t channels) {
  const std::int64_t row = slab.dim(1), volume = d.size * h.size * v.size;
  const bool placed = v.size * size_bytes(dtype) < kShortRow && (stacked == 1 || in % kQuadrantPartitions == 0) &&
                      volume * size_bytes(dtype) <= kVolumeBytes;
  std::vector<Placement> all;
  for (std::int64_t t = 0; t < stacked; ++t) {
    const std::int64_t away = t * h.dilation - h.low, first = away > 0 ? (away + h.spread - 1) / h.spread : 0;
    if (first >= h.size) continue;
    const std::int64_t to = d.low * plane() + (first * h.spread - away) * width + v.low;
    all.push_back({slab,
                   block * (depth * plane()) + (t * in * row + to),
                   first * v.size,
                   {{{plane() * d.spread, d.size}, {width * h.spread, h.size - first}, {v.spread, v.size}},
                    {{h.size * v.size, d.size}, {v.size, h.size - first}, {1, v.size}}}});
  }
  for (std::int64_t t = 0; t < beside && beside > 1; ++t) {
    const std::int64_t away = t * v.dilation - v.low, first = std::max<std::int64_t>(0, away);
    if (first >= v.size) continue;
    const std::int64_t to = d.low * plane() + h.low * width + (first - away);
    all.push_back({side,
                   t * in * row + to,
                   first,
                   {{{plane(), d.size}, {width, h.size}, {1, v.size - first}},
                    {{h.size * v.size, d.size}, {v.size, h.size}, {1, v.size - first}}}});
  }
  const View plain = placed ? k.sbuf({channels, volume}, dtype) : View();
  const std::int64_t parts = placed ? std::clamp<std::int64_t>(volume / kPartElements, 1, 8) : 1;
  for (std::int64_t p = 0; p < parts; ++p) {
    const std::int64_t begin = volume * p / parts, end = volume * (p + 1) / parts;
    if (placed)
      k.dma_copy({.dst = plain.ap({{volume, channels}, {1, end - begin}}, begin),
                  .src = x.ap({{volume, channels}, {1, end - begin}}, from + begin)});
    for (const Placement& one : all) place(one, p, parts, placed ? plain : x, placed ? Index(0) : from, channels);
  }
}

// Part p of what goes to one place, so that products of the first parts begin before the last ones are there.
void Convolution::place(Placement one, std::int64_t p, std::int64_t parts, const View& source, const Index& from,
                        std::int64_t channels) {
  join_together(one.lists);
  for (Dims& l : one.lists) {
    if (l.empty()) l.push_back({1, 1});
  }
  const std::int64_t n = one.lists[0][0].count, begin = n * p / parts, count = n * (p + 1) / parts - begin;
  if (count == 0) return;
  const bool in_sbuf = source.memory() == Memory::sbuf;
  const std::int64_t volume = d.size * h.size * v.size;
  std::vector<isa::Dim> to{{one.to.dim(1), channels}}, at{{volume, channels}};
  to.insert(to.end(), one.lists[0].begin(), one.lists[0].end());
  at.insert(at.end(), one.lists[1].begin(), one.lists[1].end());
  to[1].count = at[1].count = count;
  const View dst = one.to.ap(to, one.at + begin * to[1].stride);
  const View src = source.ap(at, from + one.first + begin * at[1].stride);
  if (in_sbuf)
    k.tensor_copy({.dst = dst, .src = src, .engine = Engine::vector});
  else
    k.dma_copy({.dst = dst, .src = src});
}

// What some rows of the result need, of a volume without a border.
void Convolution::load_slab(const Index& from, const Index& block, std::int64_t channels, const Index& z,
                            const Index& row, std::int64_t count) {
  const std::int64_t area = h.size * v.size;
  for (std::int64_t t = 0; t < stacked; ++t) {
    const std::int64_t moves = (rest() > 0 && t >= rest() ? steps - 2 : steps - 1) * stacked * h.dilation;
    const std::int64_t high = (count - 1) * h.stride + moves + 1;
    k.dma_copy({.dst = slab.ap({{slab.dim(1), channels}, {plane(), d.taps}, {1, high * width}},
                               block * (depth * plane()) + t * in * slab.dim(1)),
                .src = x.ap({{d.size * area, channels}, {d.dilation * area, d.taps}, {1, high * width}},
                            from + z * (d.stride * area) + row * (h.stride * width) + t * h.dilation * width)});
  }
}

// Zeros around what is loaded, also where it begins later for stacked taps.
void Convolution::clear_border() {
  std::int64_t top = 0, bottom = height;
  bool simple = channel_blocks() == 1 && d.spread == 1 && h.spread == 1 && v.spread == 1;
  for (std::int64_t t = 0; t < stacked; ++t) {
    const std::int64_t away = t * h.dilation - h.low, first = std::max<std::int64_t>(0, away);
    simple = simple && first < h.size;
    top = std::max(top, first - away);
    bottom = std::min(bottom, h.size - away);
  }
  if (!simple) {
    k.memset({.dst = slab, .value = 0.0});
    return;
  }
  const std::int64_t row = slab.dim(1), all = slab.dim(0), right = v.low + v.size, back = d.low + d.size;
  const auto clear = [&](std::int64_t stride, std::int64_t count, std::int64_t from, std::int64_t to) {
    if (to > from && count > 0)
      k.memset({.dst = slab.ap({{row, all}, {stride, count}, {1, to - from}}, from), .value = 0.0});
  };
  clear(plane(), depth, 0, top * width);
  clear(plane(), depth, bottom * width, plane());
  clear(width, depth * height, 0, v.low);
  clear(width, depth * height, right, width);
  clear(plane(), 1, 0, d.low * plane());
  clear(plane(), 1, back * plane(), depth * plane());
}

void Convolution::clear_side() {
  const std::int64_t row = side.dim(1), all = side.dim(0);
  const auto clear = [&](std::int64_t stride, std::int64_t count, std::int64_t from, std::int64_t to) {
    if (to > from && count > 0)
      k.memset({.dst = side.ap({{row, all}, {stride, count}, {1, to - from}}, from), .value = 0.0});
  };
  const std::int64_t right = std::max<std::int64_t>(0, v.low + v.size - (beside - 1) * v.dilation);
  clear(plane(), depth, 0, h.low * width);
  clear(plane(), depth, (h.low + h.size) * width, plane());
  clear(width, depth * height, 0, v.low);
  clear(width, depth * height, right, width);
  clear(plane(), 1, 0, d.low * plane());
  clear(plane(), 1, (d.low + d.size) * plane(), depth * plane());
}

void Convolution::load(const Index& n, const Index& g, const Index& z, const Index& row, std::int64_t count) {
  const std::int64_t volume = d.size * h.size * v.size;
  slab = k.sbuf({std::min(kBlock, stacked * in), channel_blocks() * depth * plane()}, dtype);
  const bool plain = d.is_plain() && h.is_plain() && v.is_plain();
  if (whole && !(plain && stacked == 1)) clear_border();
  if (beside > 1) {
    side = k.sbuf({beside * in, depth * plane()}, dtype);
    clear_side();
  }
  over_blocks(k, in, [&](Index b, std::int64_t channels) {
    const Index from = x_at + n * (groups * in * volume) + g * (in * volume) + b * (kBlock * volume);
    if (whole)
      load_block(from, b, channels);
    else
      load_slab(from, b, channels, z, row, count);
  });
}

// All taps of all channels, added up.
void Convolution::sum(const View& total, const Index& ob, std::int64_t o, const Index& z, const Index& r,
                      std::int64_t pr, const Index& c, std::int64_t pc) {
  const auto add = [&](const Index& b, std::int64_t channels, const Index& kz, const Index& kr) {
    repeat(k, v.taps, [&](const Index& kc) {
      const Index place = whole ? z * (d.stride * plane()) + kz * (d.dilation * plane()) : kz * plane();
      const Index at = b * (depth * plane()) + place + (r * h.stride + kr * (stacked * h.dilation)) * width +
                       c * v.stride + kc * v.dilation;
      const Index tap = b * (taps() * chunk) + ((kz * steps + kr) * v.taps + kc) * chunk + ob * kBlock;
      k.nc_matmul({.dst = total,
                   .stationary = weights.ap({{weights.dim(1), channels}, {1, o}}, tap),
                   .moving = slab.ap({{slab.dim(1), channels}, {h.stride * width, pr}, {v.stride, pc}}, at)});
    });
  };
  repeat(k, d.taps, [&](const Index& kz) {
    if (stacked == 1) {
      over_blocks(k, in, [&](Index b, std::int64_t channels) {
        repeat(k, steps, [&](const Index& kr) { add(b, channels, kz, kr); });
      });
      return;
    }
    repeat(k, whole_steps(), [&](const Index& kr) { add(0, stacked * in, kz, kr); });
    if (rest() > 0 && beside == 1) add(0, rest() * in, kz, whole_steps());
    if (beside == 1) return;
    const auto add_side = [&](const Index& kc, std::int64_t count) {
      const Index at = z * (d.stride * plane()) + kz * (d.dilation * plane()) +
                       (r * h.stride + whole_steps() * stacked * h.dilation) * width + c * v.stride +
                       kc * (beside * v.dilation);
      const Index tap = ((kz * steps + whole_steps()) * v.taps + kc) * chunk + ob * kBlock;
      k.nc_matmul({.dst = total,
                   .stationary = weights.ap({{weights.dim(1), count * in}, {1, o}}, tap),
                   .moving = side.ap({{side.dim(1), count * in}, {h.stride * width, pr}, {v.stride, pc}}, at)});
    };
    repeat(k, v.taps / beside, [&](const Index& kc) { add_side(kc, beside); });
    if (v.taps % beside) add_side(v.taps / beside, v.taps % beside);
  });
}

// One value per channel for the channels whose weights are there, in float32.
void Convolution::load_columns(const Index& o, std::int64_t channels) {
  const std::int64_t rows = std::min(channels, kBlock), blocks = (channels + kBlock - 1) / kBlock;
  for (TailPart& step : tail) {
    if (!step.has_columns) continue;
    const View loaded = k.sbuf({rows, blocks}, dtype);
    const auto load = [&](std::int64_t m, std::int64_t first, std::int64_t count) {
      if (m > 0 && count > 0)
        k.dma_copy({.dst = loaded.ap({{blocks, m}, {1, count}}, first),
                    .src = step.per_channel.ap({{step.stride, m}, {step.stride * kBlock, count}},
                                               o * step.stride + (step.at + first * kBlock * step.stride))});
    };
    load(rows, 0, channels / rows);
    load(channels % rows, channels / rows, channels % rows ? 1 : 0);
    step.columns = loaded;
    if (dtype == DType::float32) continue;
    step.columns = k.sbuf({rows, blocks}, DType::float32);
    if (channels % rows) k.memset({.dst = step.columns, .value = 0.0});
    if (channels / rows)
      k.tensor_copy({.dst = step.columns.ap({{blocks, rows}, {1, channels / rows}}),
                     .src = loaded.ap({{blocks, rows}, {1, channels / rows}})});
    if (const std::int64_t rest = channels % rows)
      k.tensor_copy({.dst = step.columns.ap({{blocks, rest}, {1, 1}}, blocks - 1),
                     .src = loaded.ap({{blocks, rest}, {1, 1}}, blocks - 1)});
  }
}

// From PSUM, through the tail: operators two at a time, a function together with the sum before it.
void Convolution::finish(const View& done, const View& total, const Index& ob) {
  const std::int64_t m = done.dim(0);
  const auto column = [&](const TailPart& s) { return s.columns.ap({{s.columns.dim(1), m}, {1, 1}}, ob); };
  const auto operand = [&](const TailPart& s) {
    return s.has_columns ? isa::Operand(column(s)) : isa::Operand(*s.number);
  };
  const auto is_alu = [&](std::size_t i) { return i < tail.size() && tail[i].how.kind == Lowering::Kind::alu; };
  if (tail.empty()) {
    k.tensor_copy({.dst = done, .src = total, .engine = evacuator()});
    return;
  }
  View data = total;
  const bool on_scalar = evacuator() == Engine::scalar;
  for (std::size_t i = 0; i < tail.size(); data = done) {
    const TailPart& s = tail[i];
    const bool adds = is_alu(i) && s.how.alu == AluOp::add && s.has_columns;
    const bool more = i + 1 < tail.size();
    const bool rectifies = more && is_alu(i + 1) && tail[i + 1].how.alu == AluOp::maximum && tail[i + 1].number == 0.0;
    if (adds && more && (!is_alu(i + 1) || (rectifies && on_scalar))) {
      k.activation({.dst = done,
                    .op = rectifies ? ActFn::relu : tail[i + 1].how.act,
                    .data = data,
                    .bias = column(s),
                    .scale = 1.0});
      i += 2;
    } else if (!is_alu(i)) {
      k.activation({.dst = done, .op = s.how.act, .data = data, .scale = 1.0});
      ++i;
    } else if (is_alu(i + 1)) {
      k.tensor_scalar({.dst = done,
                       .data = data,
                       .op0 = s.how.alu,
                       .operand0 = operand(s),
                       .op1 = tail[i + 1].how.alu,
                       .operand1 = operand(tail[i + 1])});
      i += 2;
    } else {
      k.tensor_scalar({.dst = done, .data = data, .op0 = s.how.alu, .operand0 = operand(s)});
      ++i;
    }
  }
}

void Convolution::compute(const Index& n, const Index& o, std::int64_t channels, const Index& z, const Index& row,
                          std::int64_t count) {
  const std::int64_t columns = v.count(), area = h.count() * columns, volume = d.count() * area;
  const std::int64_t bank = std::max<std::int64_t>(1, kColumns / columns);
  k.tiles(count, bank, [&](Index r, std::int64_t pr) {
    k.tiles(columns, kColumns, [&](Index c, std::int64_t pc) {
      over_blocks(k, channels, [&](Index ob, std::int64_t m) {
        const View total = k.psum({m, pr, pc}, DType::float32);
        sum(total, ob, m, z, whole ? row + r : r, pr, c, pc);
        const View done = k.sbuf({m, pr, pc}, y.dtype());
        finish(done, total, ob);
        const Index to = n * (groups * out * volume) + (o + ob * kBlock) * volume + z * area + (row + r) * columns + c;
        k.dma_copy({.dst = y.ap({{volume, m}, {columns, pr}, {1, pc}}, to), .src = done});
      });
    });
  });
}

void Convolution::run() {
  plan();
  repeat(k, groups, [&](const Index& g) {
    k.tiles(out, chunk, [&](Index o, std::int64_t channels) {
      weights = k.sbuf({std::min(kBlock, stacked * in), channel_blocks() * taps() * chunk}, dtype);
      load_weights(g * out + o, channels);
      load_columns(o, channels);
      repeat(k, images, [&](const Index& n) {
        if (whole) load(n, g, 0, 0, 0);
        repeat(k, d.count(), [&](const Index& z) {
          k.tiles(h.count(), rows, [&](Index row, std::int64_t count) {
            if (!whole) load(n, g, z, row, count);
            compute(n, g * out + o, channels, z, row, count);
          });
        });
      });
    });
  });
}

}  // namespace

void Copies::convolve(const std::vector<Value>& ops) {
  const Op& op = graph.op(ops[0]);
  const Shape x = graph.type(op.operands[0]).shape, w = graph.type(op.operands[1]).shape;
  const auto window = [&](std::size_t i) {
    return Window{.size = x[2 + i],
                  .taps = w[2 + i],
                  .stride = op.ints("strides")[i],
                  .low = op.ints("low")[i],
                  .high = op.ints("high")[i],
                  .dilation = op.ints("dilation")[i],
                  .spread = op.ints("spread")[i]};
  };
  std::int64_t begins[2] = {0, 0};
  const auto stored = [&](std::size_t i) {
    const Value operand = op.operands[i];
    if (splat_of(graph, operand)) {
      const View made = k.hbm(graph.type(operand).shape, graph.type(operand).dtype);
      place(made, Strided::contiguous(graph.type(operand).shape), operand);
      return made;
    }
    const Source s = source_of(graph, fusion, operand);
    begins[i] = s.access.offset;
    return storage.of.at(s.base);
  };
  const View xs = stored(0), ws = stored(1);
  Convolution c{.k = k,
                .arch = arch,
                .x = xs,
                .w = ws,
                .y = storage.of.at(ops.back()),
                .x_at = begins[0],
                .w_at = begins[1],
                .dtype = graph.type(op.operands[0]).dtype,
                .images = x[0],
                .groups = op.integer("groups"),
                .in = w[1],
                .out = w[0] / op.integer("groups"),
                .d = window(0),
                .h = window(1),
                .v = window(2)};
  for (std::size_t i = 1; i < ops.size(); ++i) {
    const TailStep step = tail_step(graph, ops[i]);
    TailPart& made = c.tail.emplace_back(TailPart{.how = info(graph.op(ops[i]).code).lowering});
    if (!step.by) {
      if (graph.op(ops[i]).code == OpCode::relu) made = {{Lowering::Kind::alu, AluOp::maximum, {}}, 0.0};
      continue;
    }
    const Value by = graph.op(ops[i]).operands[*step.by];
    made.number = splat_of(graph, by);
    if (made.number) continue;
    const Source source = source_of(graph, fusion, by);
    made.per_channel = storage.of.at(source.base), made.at = source.access.offset, made.has_columns = true;
    for (const isa::Dim& d : source.access.dims) made.stride = d.count > 1 ? d.stride : made.stride;
  }
  const bool plain = c.d.is_plain() && c.h.is_plain() && c.v.is_plain();
  const std::int64_t row = c.v.padded() * c.d.taps * c.channel_blocks() * size_bytes(c.dtype);
  if ((!plain && !fits_whole(c.in, {c.d, c.h, c.v}, size_bytes(c.dtype))) || row * c.h.reach() > 2 * kVolumeBytes) {
    raise(rules::kTable, rules::kNotYet,
          {.found = "not yet: windows over rows that do not fit SBUF",
           .loc = graph.loc(op),
           .category = Category::not_yet});
  }
  c.run();
}

}  // namespace kiln::tensor
