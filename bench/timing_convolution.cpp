// Convolutions: two students' fused convolution, bias and pooling, and steps of a public optimisation trace
// of a depthwise one.
#include "bench/timing_common.h"

namespace kiln::bench {
using namespace isa;

namespace {

constexpr std::int64_t kFilter = 3;

// Filters of 3 x 3 as 9 products. rows=1: filters are transposed once, one row of the result at a time, its
// input row loaded for each row of the filter. rows=2: two rows at a time, from a strip of four rows in SBUF,
// and each product transposes its filter.
class Convolution {
 public:
  Convolution(Kernel& k, const Params& p)
      : k_(k),
        move_(k, p),
        channels_(p.number("channels")),
        size_(p.number("size")),
        rows_(p.number("rows", 1)),
        pool_(p.number("pool", 1)),
        out_size_(size_ - kFilter + 1),
        in_tiles_(channels_ / kTile) {
    x_ = k.input("X", {channels_, size_, size_}, kF32);
    w_ = k.input("W", {channels_, channels_, kFilter * kFilter}, kF32);
    bias_ = k.input("bias", {channels_, 1}, kF32);
    out_ = k.output("out", {channels_, out_size_ / pool_, out_size_ / pool_}, kF32);
  }

  void make() {
    raw_ = k_.sbuf({kTile, in_tiles_, in_tiles_, kTile, kFilter * kFilter}, kF32);
    if (rows_ == 1) filters_ = k_.sbuf({kTile, in_tiles_, in_tiles_, kFilter * kFilter, kTile}, kF32);
    biases_ = k_.sbuf({kTile, in_tiles_}, kF32);
    for (std::int64_t o = 0; o < in_tiles_; ++o) {
      move_.load(biases_(all, ds(o, 1)), bias_(ds(o * kTile, kTile), all));
      for (std::int64_t i = 0; i < in_tiles_; ++i) load_filters(o, i);
    }
    rows_ == 1 ? row_by_row() : by_strips();
  }

 private:
  void turn_filter(const View& dst, std::int64_t o, std::int64_t i, std::int64_t f) {
    const View bank = k_.psum({kTile, kTile}, kF32);
    k_.nc_transpose({.dst = bank, .data = raw_(all, o, i, all, f)});
    k_.tensor_copy({.dst = dst, .src = bank});
  }
  void load_filters(std::int64_t o, std::int64_t i) {
    move_.load(raw_(all, o, i, all, all), w_(ds(o * kTile, kTile), ds(i * kTile, kTile), all));
    for (std::int64_t f = 0; f < kFilter * kFilter && rows_ == 1; ++f)
      turn_filter(filters_(all, o, i, f, all), o, i, f);
  }

  void row_by_row() {
    for (std::int64_t o = 0; o < in_tiles_; ++o) {
      k_.loop(out_size_ / pool_, [&](Index ph) {
        const View tile = k_.sbuf({kTile, pool_, out_size_}, kF32);
        for (std::int64_t r = 0; r < pool_; ++r) {
          const View sum = k_.psum({kTile, out_size_}, kF32);
          for (std::int64_t i = 0; i < in_tiles_; ++i) {
            for (std::int64_t f = 0; f < kFilter; ++f) {
              const View row = k_.sbuf({kTile, size_}, kF32);
              move_.load(row, x_(ds(i * kTile, kTile), ph * pool_ + (r + f), all));
              for (std::int64_t c = 0; c < kFilter; ++c)
                add_up(sum, filters_(all, o, i, f * kFilter + c, all), row(all, ds(c, out_size_)));
            }
          }
          k_.tensor_copy({.dst = tile(all, r, all), .src = sum});
        }
        const View pooled = k_.sbuf({kTile, out_size_ / pool_}, kF32),
                   result = k_.sbuf({kTile, out_size_ / pool_}, kF32);
        k_.tensor_reduce({.dst = pooled,
                          .op = AluOp::maximum,
                          .data = tile.reshape_dim(2, {out_size_ / pool_, pool_}).permute({0, 2, 1, 3}),
                          .axis = {2, 3}});
        add_bias(result, pooled, o);
        move_.store(out_(ds(o * kTile, kTile), ph, all), result);
      });
    }
  }

  void by_strips() {
    k_.loop(out_size_ / rows_, [&](Index t) {
      std::vector<View> sums;
      for (std::int64_t o = 0; o < in_tiles_; ++o) sums.push_back(k_.psum({kTile, rows_, out_size_}, kF32));
      for (std::int64_t i = 0; i < in_tiles_; ++i) {
        const View strip = k_.sbuf({kTile, rows_ + kFilter - 1, size_}, kF32);
        for (std::int64_t r = 0; r < rows_ + kFilter - 1; ++r)
          move_.load(strip(all, r, all), x_(ds(i * kTile, kTile), t * rows_ + r, all));
        for (std::int64_t f = 0; f < kFilter * kFilter; ++f) {
          const View part = k_.sbuf({kTile, rows_, out_size_}, kF32);
          for (std::int64_t r = 0; r < rows_; ++r)
            k_.tensor_copy({.dst = part(all, r, all), .src = strip(all, r + f / kFilter, ds(f % kFilter, out_size_))});
          for (std::int64_t o = 0; o < in_tiles_; ++o) {
            const View filter = k_.sbuf({kTile, kTile}, kF32);
            turn_filter(filter, o, i, f);
            add_up(sums[o], filter, part);
          }
        }
      }
      for (std::int64_t o = 0; o < in_tiles_; ++o) finish_strip(sums[o], o, t);
    });
  }

  void finish_strip(const View& sum, std::int64_t o, const Index& t) {
    const View copy = k_.sbuf({kTile, rows_, out_size_}, kF32), row = k_.sbuf({kTile, rows_, out_size_}, kF32);
    k_.activation({.dst = copy, .op = ActFn::copy, .data = sum});
    for (std::int64_t r = 0; r < rows_; ++r) {
      add_bias(row(all, r, all), copy(all, r, all), o);
      if (pool_ == 1) move_.store(out_(ds(o * kTile, kTile), t * rows_ + r, all), row(all, r, all));
    }
    if (pool_ == 1) return;
    const View higher = k_.sbuf({kTile, out_size_}, kF32), result = k_.sbuf({kTile, out_size_ / 2}, kF32);
    k_.tensor_tensor({.dst = higher, .data1 = row(all, 0, all), .data2 = row(all, 1, all), .op = AluOp::maximum});
    View half[2];
    for (int odd = 0; odd < 2; ++odd) {
      half[odd] = k_.sbuf({kTile, out_size_ / 2}, kF32);
      k_.tensor_copy({.dst = half[odd], .src = higher(all, ds(odd, out_size_ / 2, 2))});
    }
    k_.tensor_tensor({.dst = result, .data1 = half[0], .data2 = half[1], .op = AluOp::maximum});
    move_.store(out_(ds(o * kTile, kTile), t, all), result);
  }

  void add_up(const View& sum, const View& stationary, const View& moving) {
    k_.nc_matmul({.dst = sum, .stationary = stationary, .moving = moving});
  }
  void add_bias(const View& dst, const View& src, std::int64_t o) {
    k_.tensor_scalar({.dst = dst, .data = src, .op0 = AluOp::add, .operand0 = biases_(all, ds(o, 1))});
  }

  Kernel& k_;
  Mover move_;
  std::int64_t channels_, size_, rows_, pool_, out_size_, in_tiles_;
  View x_, w_, bias_, out_, raw_, filters_, biases_;
};

// Each output is a product of three elements with the filter and a sum. `together` outputs per instruction:
// the compiler makes one of a loop of that many.
void depthwise(Kernel& k, const Params& p) {
  const std::int64_t batch = p.number("batch"), channels = p.number("channels"), width = p.number("width");
  const std::int64_t together = p.number("together", 1), padded = width + kFilter - 1;
  Mover move(k, p);
  const View x = k.input("x", {batch, channels, width}, kF32), w = k.input("w", {channels, kFilter}, kF32);
  const View out = k.output("out", {batch, channels, width}, kF32);
  k.loop(channels / kTile, [&](Index c) {
    const View filter = k.sbuf({kTile, kFilter}, kF32), bank = k.psum({kTile, kFilter}, kF32);
    move.load(filter, w(ds(c * kTile, kTile), all));
    if (together > 1) k.tensor_copy({.dst = bank, .src = filter});
    const View factor = together > 1 ? bank : filter;
    k.loop(batch, [&](Index b) {
      const View image = k.sbuf({kTile, padded}, kF32), result = k.sbuf({kTile, width}, kF32);
      k.memset({.dst = image, .value = 0.0});
      k.memset({.dst = result, .value = 0.0});
      move.load(image(all, ds(1, width)), x(b, ds(c * kTile, kTile), all));
      k.loop(width / together, [&](Index o) {
        const View product = k.sbuf({kTile, together, kFilter}, kF32);
        const View windows = image.ap({{padded, kTile}, {1, together}, {1, kFilter}}, o * together);
        k.tensor_tensor({.dst = product,
                         .data1 = windows,
                         .data2 = factor.expand_dim(1).broadcast(1, together),
                         .op = AluOp::multiply});
        k.tensor_reduce(
            {.dst = result(all, ds(o * together, together)), .op = AluOp::add, .data = product, .axis = {2}});
      });
      move.store(out(b, ds(c * kTile, kTile), all), result);
    });
  });
}

}  // namespace

const KernelTable& convolution_kernels() {
  static const KernelTable table = {
      {"convolution", [](Kernel& k, const Params& p) { Convolution(k, p).make(); }},
      {"depthwise", depthwise},
  };
  return table;
}

}  // namespace kiln::bench
