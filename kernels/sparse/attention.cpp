#include "kernels/sparse/attention.h"

#include <deque>

#include "kernels/blas/dtypes.h"
#include "kernels/sparse/attention_unshifted.h"

namespace kiln::kernels {
using namespace isa;

namespace {

constexpr std::int64_t kGroup = 4;          // tiles of keys whose scores fill a bank of PSUM
constexpr std::size_t kAhead = 3;           // groups whose values are not multiplied yet
constexpr double kFloor = 0x1p120;          // -max of a row of which nothing counts so far
constexpr double kLeastSum = 0x1p-60;       // of a row of which nothing counts; others have at least 1
constexpr std::int64_t kStays = 48 * 1024;  // bytes of a partition for the keys, and for the values, of a head

// What is known about a tile of queries after the keys seen so far.
struct Running {
  View minus_max, sum, out;
};

// Weights of some tiles of keys that are still to be multiplied with their values.
struct Pending {
  std::int64_t row, first, count;
  Running run;
  View weights, sum, fade;  // [128, count, m]; their sums, and the factor for what came before: both unless is_first
  std::vector<Piece> tiles;
  bool is_first, is_last;
};

class Forward {
 public:
  Forward(Kernel& k, const AttentionConfig& c, const AttentionTensors& t, const Masks& masks)
      : k_(k), c_(c), p_(c.pattern), t_(t), masks_(masks) {}

  void run() {
    const std::int64_t bytes = p_.tile_columns() * tiles_of(c_.head, kTile) * kTile * size_bytes(c_.dtype);
    k_.loop(c_.heads, [&](Index h) {
      HeadRows queries(k_, t_.q.select(0, h), false), keys(k_, t_.k.select(0, h), bytes <= kStays),
          values(k_, t_.v.select(0, h), bytes <= kStays);
      Statistics statistics{k_.sbuf({kTile, p_.tile_rows()}, f32), k_.sbuf({kTile, p_.tile_rows()}, f32)};
      // The tensor engine goes on with the scores of the next tiles while weights are made of these.
      std::deque<Pending> pending;
      const auto finish = [&](std::size_t left) {
        for (; pending.size() > left; pending.pop_front()) add_values(h, pending.front(), values);
      };
      for (std::int64_t row = 0; row < p_.tile_rows(); ++row) {
        attend(row, queries, keys, pending, statistics, finish);
        if (p_.row_start[row] == p_.row_start[row + 1]) store_nothing(h, row, statistics);
      }
      finish(0);
      if (c_.statistics) store_statistics(h, statistics);
    });
  }

 private:
  // Of all queries of a head: [128, tiles].
  struct Statistics {
    View minus_max, sum;
  };

  template <class Finish>
  void attend(std::int64_t row, HeadRows& queries, HeadRows& keys, std::deque<Pending>& pending,
              const Statistics& statistics, const Finish& finish) {
    const std::int64_t m = p_.height(row), first = p_.row_start[row], count = p_.row_start[row + 1] - first;
    if (count == 0) return;
    const auto column = [&](const View& of) { return of(ds(0, m), ds(row, 1)); };
    const Running run{column(statistics.minus_max), column(statistics.sum), k_.sbuf({m, c_.head}, f32)};
    const View q = queries.turned(row);
    for (const Piece& g : even_pieces(count, kGroup)) {
      pending.push_back({.row = row,
                         .first = first + g.start,
                         .count = g.size,
                         .run = run,
                         .weights = {},
                         .sum = {},
                         .fade = {},
                         .tiles = {},
                         .is_first = g.start == 0,
                         .is_last = g.start + g.size == count});
      weigh(pending.back(), q, keys);
      finish(kAhead);
    }
  }

  // Scores of some tiles of keys, [m, width], and where each tile lies in it.
  View scores_of(Pending& p, const View& q, HeadRows& keys) {
    std::int64_t width = 0;
    for (std::int64_t i = 0; i < p.count; ++i) {
      p.tiles.push_back({width, p_.width(p_.column[p.first + i])});
      width += p.tiles.back().size;
    }
    const View scores = k_.psum({q.dim(2), kWide}, f32)(all, ds(0, width));
    for (std::int64_t i = 0; i < p.count;) {  // neighbours at once
      const std::int64_t column = p_.column[p.first + i];
      std::int64_t together = 1;
      while (i + together < p.count && p_.column[p.first + i + together] == column + together) ++together;
      const View some = keys.turned(column, together);
      add_scores(k_, scores(all, ds(p.tiles[i].start, some.dim(2))), q, some, c_.head);
      i += together;
    }
    return scores;
  }

  // Makes weights of the scores of some tiles, relative to the largest score so far.
  void weigh(Pending& p, const View& q, HeadRows& keys) {
    View x = scores_of(p, q, keys);
    const std::int64_t m = q.dim(2), width = x.dim(1);
    double scale = c_.scale;
    bool masked = scale <= 0;
    for (std::int64_t i = 0; i < p.count; ++i) masked = masked || masks_.has(p.first + i);
    if (masked) {
      const View scaled = k_.sbuf({m, width}, f32);
      for (std::int64_t i = 0; i < p.count; ++i) {
        const Slice part = ds(p.tiles[i].start, p.tiles[i].size);
        masks_.apply(scaled(all, part), x(all, part), p.first + i);
      }
      x = scaled;
      scale = 1;
    }
    const View minus_max = fold_maximum(p, x, scale), weights = k_.sbuf({m, width}, c_.dtype);
    p.sum = p.is_first ? p.run.sum : k_.sbuf({m, 1}, f32);
    k_.activation({.dst = weights,
                   .op = ActFn::exp,
                   .data = x,
                   .bias = minus_max,
                   .scale = scale,
                   .reduce_op = AluOp::add,
                   .reduce_res = p.sum,
                   .reduce_cmd = ReduceCmd::reset_reduce});
    p.weights = k_.sbuf({kTile, p.count, m}, c_.dtype);
    turn_tiles(k_, p.weights, weights, p.tiles);
  }

  // The new -maximum; and the factor for what was summed relative to the old one.
  View fold_maximum(Pending& p, const View& x, double scale) const {
    const std::int64_t m = x.dim(0);
    const View next = k_.sbuf({m, 1}, f32);
    k_.tensor_reduce({.dst = next, .op = AluOp::maximum, .data = x, .axis = {1}, .negate = true});
    if (p.is_first) {
      k_.tensor_scalar({.dst = p.run.minus_max,
                        .data = next,
                        .op0 = AluOp::multiply,
                        .operand0 = scale,
                        .op1 = AluOp::minimum,
                        .operand1 = kFloor});
      return p.run.minus_max;
    }
    p.fade = k_.sbuf({m, 1}, f32);
    k_.scalar_tensor_tensor({.dst = next,
                             .data = next,
                             .op0 = AluOp::multiply,
                             .operand0 = scale,
                             .op1 = AluOp::minimum,
                             .operand1 = p.run.minus_max});
    k_.tensor_tensor({.dst = p.fade, .data1 = next, .data2 = p.run.minus_max, .op = AluOp::subtract});
    k_.activation({.dst = p.fade, .op = ActFn::exp, .data = p.fade});
    k_.tensor_copy({.dst = p.run.minus_max, .src = next});
    return next;
  }

  void add_values(const Index& h, const Pending& p, HeadRows& values) {
    const View sums = head_sums(k_, p_.height(p.row), c_.head);
    for (std::int64_t i = 0; i < p.count; ++i)
      k_.nc_matmul({.dst = sums,
                    .stationary = p.weights(ds(0, p.tiles[i].size), i),
                    .moving = values.tile(p_.column[p.first + i])});
    if (p.is_first) {
      k_.tensor_copy({.dst = p.run.out, .src = sums});
    } else {
      fold(p.run.sum, p.fade, p.sum);
      fold(p.run.out, p.fade, sums);
    }
    if (p.is_last) store(h, p.row, p.run);
  }

  void fold(const View& to, const View& fade, const View& more) const {
    k_.scalar_tensor_tensor(
        {.dst = to, .data = to, .op0 = AluOp::multiply, .operand0 = fade, .op1 = AluOp::add, .operand1 = more});
  }

  void store(const Index& h, std::int64_t row, const Running& run) const {
    const std::int64_t m = p_.height(row);
    const View inverse = k_.sbuf({m, 1}, f32), out = k_.sbuf({m, c_.head}, c_.stores_unrounded() ? f32 : c_.dtype);
    k_.tensor_scalar({.dst = run.sum, .data = run.sum, .op0 = AluOp::maximum, .operand0 = kLeastSum});
    k_.reciprocal({.dst = inverse, .data = run.sum});
    k_.tensor_scalar({.dst = out, .data = run.out, .op0 = AluOp::multiply, .operand0 = inverse});
    const View rounded = round_out(k_, c_, out);
    k_.dma_copy({.dst = t_.out.select(0, h)(ds(row * kTile, m)), .src = rounded});
    if (c_.stores_unrounded()) k_.dma_copy({.dst = t_.unrounded.select(0, h)(ds(row * kTile, m)), .src = out});
  }

  void store_nothing(const Index& h, std::int64_t row, const Statistics& statistics) const {
    const std::int64_t m = p_.height(row);
    store_zero_rows(k_, c_, t_, h, 1, row);
    k_.memset({.dst = statistics.minus_max(ds(0, m), ds(row, 1)), .value = 0.0});
    k_.memset({.dst = statistics.sum(ds(0, m), ds(row, 1)), .value = 1.0});
  }

  // All logarithms of a head at once: the scalar engine changes its table for them.
  void store_statistics(const Index& h, const Statistics& s) const {
    const View lse = k_.sbuf({kTile, p_.tile_rows()}, f32);
    for_vector(t_.minus_lse.select(0, h), p_.rows,
               [&](const View& memory, const Slice& partitions, const Slice& tiles) {
                 const View part = lse(partitions, tiles);
                 k_.activation({.dst = part, .op = ActFn::log, .data = s.sum(partitions, tiles)});
                 k_.tensor_tensor(
                     {.dst = part, .data1 = s.minus_max(partitions, tiles), .data2 = part, .op = AluOp::subtract});
                 k_.dma_copy({.dst = memory, .src = part});
               });
  }

  Kernel& k_;
  const AttentionConfig& c_;
  const TilePattern& p_;
  const AttentionTensors& t_;
  const Masks& masks_;
};

AttentionTensors declare(Kernel& k, const AttentionConfig& c) {
  const TilePattern& p = c.pattern;
  AttentionTensors t;
  t.q = k.input("q", {c.heads, p.rows, c.head}, c.dtype);
  t.k = k.input("k", {c.heads, p.columns, c.head}, c.dtype);
  t.v = k.input("v", {c.heads, p.columns, c.head}, c.dtype);
  t.out = k.output("out", {c.heads, p.rows, c.head}, c.dtype);
  if (c.statistics) t.minus_lse = k.output("minus_lse", {c.heads, p.rows}, f32);
  if (c.stores_unrounded()) t.unrounded = k.output("unrounded", {c.heads, p.rows, c.head}, f32);
  return t;
}

}  // namespace

Program attention(const AttentionConfig& c, Target target) {
  require_attention("attention", c);
  Kernel k("attention", target);
  Masks masks(k, c);
  const AttentionTensors tensors = declare(k, c);
  Forward shifted(k, c, tensors, masks);
  if (goes_unshifted(c)) {
    masks.prepare_turned();
    const Reg again = attend_unshifted(k, c, tensors, masks);
    k.fori_loop(0, again, [&](Reg) {
      k.usually(0);
      shifted.run();
    });
  } else {
    shifted.run();
  }
  return k.finish();
}

}  // namespace kiln::kernels
