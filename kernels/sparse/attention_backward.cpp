#include <fmt/format.h>

#include <deque>
#include <memory>

#include "kernels/blas/dtypes.h"
#include "kernels/sparse/attention.h"
#include "kernels/sparse/attention_parts.h"
#include "kernels/sparse/sparse_rules.h"

namespace kiln::kernels {
using namespace isa;

namespace {

constexpr std::int64_t kGroup = 4;           // neighbouring tiles of keys whose scores fill a bank of PSUM
constexpr std::size_t kAhead = 2;            // groups whose gradients are not multiplied yet
constexpr std::int64_t kSums = 128 * 1024;   // bytes of a partition for the sums of dk and dv
constexpr std::int64_t kStays = 184 * 1024;  // of a partition, for these and the keys and values of a head

// Queries outside, keys inside: products have as many columns as keys, up to four tiles. dq of a tile of queries stays
// in PSUM, the sums of dk and dv, turned, in SBUF.
class Backward {
 public:
  Backward(Kernel& k, const AttentionConfig& c) : k_(k), c_(c), p_(c.pattern), masks_(k, c) {
    const auto in = [&](const char* name, std::int64_t rows) {
      return k.input(name, {c.heads, rows, c.head}, c.dtype);
    };
    q_ = in("q", p_.rows), keys_ = in("k", p_.columns), values_ = in("v", p_.columns), out_ = in("out", p_.rows);
    dout_ = in("dout", p_.rows);
    minus_lse_ = k.input("minus_lse", {c.heads, p_.rows}, f32);
    dq_ = k.output("dq", {c.heads, p_.rows, c.head}, c.dtype);
    dk_ = k.output("dk", {c.heads, p_.columns, c.head}, c.dtype);
    dv_ = k.output("dv", {c.heads, p_.columns, c.head}, c.dtype);
  }

  // Of a partition, for dk and dv.
  static std::int64_t sum_bytes(const AttentionConfig& c) {
    return 2 * c.pattern.tile_columns() * kTile * tiles_of(c.head, kTile) * 4;
  }

  void run() {
    const std::int64_t keys = p_.tile_columns() * kTile * tiles_of(c_.head, kTile) * size_bytes(c_.dtype);
    const bool stays = sum_bytes(c_) + 3 * keys <= kStays;
    k_.loop(c_.heads, [&](Index h) {
      Head head{.h = h,
                .q = {k_, q_.select(0, h), false},
                .dout = {k_, dout_.select(0, h), false},
                .keys = {k_, keys_.select(0, h), stays},
                .values = {k_, values_.select(0, h), stays},
                .dk = zero_sums(),
                .dv = zero_sums()};
      std::deque<Pending> pending;
      const auto finish = [&](std::size_t left) {
        for (; pending.size() > left; pending.pop_front()) multiply(head, pending.front());
      };
      for (std::int64_t row = 0; row < p_.tile_rows(); ++row) add_row(head, row, pending, finish);
      finish(0);
      for (std::int64_t column = 0; column < p_.tile_columns(); ++column) store_keys(head, column);
    });
  }

 private:
  struct Head {
    Index h;
    HeadRows q, dout, keys, values;
    View dk, dv;  // [128, pieces of the head, keys]
  };
  // A tile of queries: turned and as it lies, -lse, Σ dout out, and the sums of dq.
  struct Row {
    std::int64_t row;
    View q, q_t, dout, dout_t, minus_lse, d, dq;
  };
  // Neighbouring tiles whose weights and their gradients are there, but not multiplied yet.
  struct Pending {
    std::shared_ptr<Row> row;
    std::int64_t column, count;
    std::vector<Piece> tiles;
    View weights, gradient, turned;
    bool is_last;  // of its row
  };

  View zero_sums() const {
    const View sums = k_.sbuf({kTile, tiles_of(c_.head, kTile), p_.tile_columns() * kTile}, f32);
    k_.memset({.dst = sums, .value = 0.0, .engine = Engine::gpsimd});
    return sums;
  }

  std::shared_ptr<Row> begin(Head& head, std::int64_t row) const {
    const std::int64_t m = p_.height(row);
    const auto r =
        std::make_shared<Row>(Row{row, head.q.tile(row), head.q.turned(row), head.dout.tile(row), head.dout.turned(row),
                                  k_.sbuf({m, 1}, f32), k_.sbuf({m, 1}, f32), head_sums(k_, m, c_.head)});
    k_.dma_copy({.dst = r->minus_lse, .src = minus_lse_.select(0, head.h)(ds(row * kTile, m)).expand_dim(1)});
    const View out = k_.sbuf({m, c_.head}, c_.dtype), product = k_.sbuf({m, c_.head}, f32);
    k_.dma_copy({.dst = out, .src = out_.select(0, head.h)(ds(row * kTile, m))});
    k_.tensor_tensor({.dst = product, .data1 = out, .data2 = r->dout, .op = AluOp::multiply});
    k_.tensor_reduce({.dst = r->d, .op = AluOp::add, .data = product, .axis = {1}});
    return r;
  }

  // The tensor engine goes on with the scores of the next tiles while weights are made of these.
  template <class Finish>
  void add_row(Head& head, std::int64_t row, std::deque<Pending>& pending, const Finish& finish) {
    const std::int64_t last = p_.row_start[row + 1];
    if (p_.row_start[row] == last) {
      const View zero = k_.sbuf({p_.height(row), c_.head}, c_.dtype);
      k_.memset({.dst = zero, .value = 0.0});
      k_.dma_copy({.dst = dq_.select(0, head.h)(ds(row * kTile, p_.height(row))), .src = zero});
      return;
    }
    const auto r = begin(head, row);
    for (std::int64_t e = p_.row_start[row]; e < last;) {
      std::int64_t together = 1;
      while (e + together < last && p_.column[e + together] == p_.column[e] + together) ++together;
      for (const Piece& g : even_pieces(together, kGroup)) {
        pending.push_back(weigh(head, r, e + g.start, g.size));
        pending.back().is_last = e + g.start + g.size == last;
        finish(kAhead);
      }
      e += together;
    }
  }

  Pending weigh(Head& head, const std::shared_ptr<Row>& r, std::int64_t e, std::int64_t count) {
    Pending p{r, p_.column[e], count, {}, {}, {}, {}, false};
    for (std::int64_t i = 0; i < count; ++i) p.tiles.push_back({i * kTile, p_.width(p.column + i)});
    const std::int64_t m = p_.height(r->row), width = p.tiles.back().start + p.tiles.back().size;
    const View scores = k_.psum({m, kWide}, f32)(all, ds(0, width)), dp = k_.psum({m, kWide}, f32)(all, ds(0, width));
    add_scores(k_, scores, r->q_t, head.keys.turned(p.column, count), c_.head);
    add_scores(k_, dp, r->dout_t, head.values.turned(p.column, count), c_.head);
    View x = scores;
    bool masked = false;
    for (std::int64_t i = 0; i < count; ++i) masked = masked || masks_.has(e + i);
    if (masked) {
      x = k_.sbuf({m, width}, f32);
      for (std::int64_t i = 0; i < count; ++i) {
        const Slice part = ds(p.tiles[i].start, p.tiles[i].size);
        masks_.apply(x(all, part), scores(all, part), e + i);
      }
    }
    p.weights = k_.sbuf({m, width}, c_.dtype), p.gradient = k_.sbuf({m, width}, c_.dtype);
    k_.activation(
        {.dst = p.weights, .op = ActFn::exp, .data = x, .bias = r->minus_lse, .scale = masked ? 1.0 : c_.scale});
    k_.scalar_tensor_tensor({.dst = p.gradient,
                             .data = dp,
                             .op0 = AluOp::subtract,
                             .operand0 = r->d,
                             .op1 = AluOp::multiply,
                             .operand1 = p.weights});
    p.turned = k_.sbuf({kTile, count, m}, c_.dtype);
    turn_tiles(k_, p.turned, p.gradient, p.tiles);
    return p;
  }

  void multiply(Head& head, const Pending& p) {
    const Row& r = *p.row;
    add_sums(head.dv, p, r.dout, p.weights, true);
    add_sums(head.dk, p, r.q, p.gradient, false);
    for (std::int64_t i = 0; i < p.count; ++i)
      k_.nc_matmul(
          {.dst = r.dq, .stationary = p.turned(ds(0, p.tiles[i].size), i), .moving = head.keys.tile(p.column + i)});
    if (!p.is_last) return;
    const View dq = k_.sbuf(r.dq.shape(), c_.dtype);
    k_.activation({.dst = dq, .op = ActFn::copy, .data = r.dq, .scale = c_.scale});
    k_.dma_copy({.dst = dq_.select(0, head.h)(ds(r.row * kTile, p_.height(r.row))), .src = dq});
  }

  // sums [head, keys] += rowsᵀ x with rows [m, head] and x [m, keys]; added up by the vector engine, or by the scalar
  // engine and gpsimd together.
  void add_sums(const View& sums, const Pending& p, const View& rows, const View& x, bool by_vector) const {
    for (const Piece& piece : whole_pieces(c_.head, kTile)) {
      View part = k_.psum({piece.size, kWide}, f32)(all, ds(0, x.dim(1)));
      k_.nc_matmul({.dst = part, .stationary = rows(all, ds(piece.start, piece.size)), .moving = x});
      const View to = sums(ds(0, piece.size), piece.start / kTile, ds(p.column * kTile, x.dim(1)));
      if (!by_vector) {
        const View copied = k_.sbuf(part.shape(), f32);
        k_.activation({.dst = copied, .op = ActFn::copy, .data = part});
        part = copied;
      }
      k_.tensor_tensor({.dst = to,
                        .data1 = to,
                        .data2 = part,
                        .op = AluOp::add,
                        .engine = by_vector ? Engine::vector : Engine::gpsimd});
    }
  }

  void store_keys(const Head& head, std::int64_t column) const {
    store_turned(dk_.select(0, head.h), head.dk, column, c_.scale);
    store_turned(dv_.select(0, head.h), head.dv, column, 1);
  }

  void store_turned(const View& memory, const View& sums, std::int64_t column, double scale) const {
    const std::int64_t n = p_.width(column);
    const View out = k_.sbuf({n, c_.head}, c_.dtype);
    for (const Piece& piece : whole_pieces(c_.head, kTile)) {
      const View turned = k_.sbuf({kTile, 1, piece.size}, f32), to = out(all, ds(piece.start, piece.size));
      turn_tiles(k_, turned, sums(ds(0, piece.size), piece.start / kTile, ds(column * kTile, n)), {{0, n}});
      k_.tensor_scalar({.dst = to, .data = turned(ds(0, n), 0), .op0 = AluOp::multiply, .operand0 = scale});
    }
    k_.dma_copy({.dst = memory(ds(column * kTile, n)), .src = out});
  }

  Kernel& k_;
  const AttentionConfig& c_;
  const TilePattern& p_;
  Masks masks_;
  View q_, keys_, values_, out_, dout_, minus_lse_, dq_, dk_, dv_;
};

}  // namespace

Program attention_backward(const AttentionConfig& c, Target target) {
  require_attention("attention_backward", c);
  if (Backward::sum_bytes(c) > kSums)
    raise(sparse_rules::kTable, sparse_rules::kSize,
          {.found = fmt::format("attention_backward with {} keys of {}", c.pattern.columns, c.head),
           .allowed = fmt::format("keys times head up to {}, each rounded up to 128", kSums / 8 * kTile),
           .category = Category::not_yet});
  Kernel k("attention_backward", target);
  Backward(k, c).run();
  return k.finish();
}

}  // namespace kiln::kernels
