#include <fmt/format.h>

#include <deque>
#include <memory>

#include "kernels/sparse/attention.h"
#include "kernels/sparse/attention_parts.h"
#include "kernels/sparse/sparse_rules.h"

namespace kiln::kernels {
using namespace isa;

namespace {

constexpr DType f32 = DType::float32;
constexpr std::size_t kAhead = 4;          // tiles whose gradients are not multiplied yet
constexpr std::int64_t kSums = 96 * 1024;  // bytes of a partition for the sums of dq

// Keys outside, queries inside: dk and dv of a tile of keys stay in PSUM, dq of all queries in SBUF.
class Backward {
 public:
  Backward(Kernel& k, const AttentionConfig& c) : k_(k), c_(c), p_(c.pattern), masks_(k, c) {
    turned_ = p_.transposed(order_);
    const std::int64_t queries = p_.rows, keys = p_.columns;
    const auto in = [&](const char* name, std::int64_t rows) {
      return k.input(name, {c.heads, rows, c.head}, c.dtype);
    };
    q_ = in("q", queries), keys_ = in("k", keys), values_ = in("v", keys), out_ = in("out", queries);
    dout_ = in("dout", queries);
    minus_lse_ = k.input("minus_lse", {c.heads, queries}, f32);
    dq_ = k.output("dq", {c.heads, queries, c.head}, c.dtype);
    dk_ = k.output("dk", {c.heads, keys, c.head}, c.dtype);
    dv_ = k.output("dv", {c.heads, keys, c.head}, c.dtype);
  }

  void run() {
    const std::int64_t row_bytes = p_.tile_rows() * tiles_of(c_.head, kTile) * kTile;
    const bool stays = row_bytes * (4 * size_bytes(c_.dtype) + 4) <= 2 * kSums;
    k_.loop(c_.heads, [&](Index h) {
      Head head{.h = h,
                .q = {k_, q_.select(0, h), stays},
                .dout = {k_, dout_.select(0, h), stays},
                .keys = {k_, keys_.select(0, h), false},
                .values = {k_, values_.select(0, h), false},
                .rows = {}};
      for (std::int64_t row = 0; row < p_.tile_rows(); ++row) head.rows.push_back(begin(head, row));
      std::deque<Pending> pending;
      const auto finish = [&](std::size_t left) {
        for (; pending.size() > left; pending.pop_front()) multiply(head, pending.front());
      };
      for (std::int64_t column = 0; column < p_.tile_columns(); ++column) add_keys(head, column, pending, finish);
      finish(0);
      for (std::int64_t row = 0; row < p_.tile_rows(); ++row) store_dq(head, row);
    });
  }

 private:
  // Of a tile of queries: -lse, -Σ dout out, and the sums of dq.
  struct Row {
    View minus_lse, d, dq;
    bool has_dq;
  };
  struct Head {
    Index h;
    HeadRows q, dout, keys, values;
    std::vector<Row> rows;
  };

  Row begin(Head& head, std::int64_t row) const {
    const std::int64_t m = p_.height(row);
    Row r{k_.sbuf({m, 1}, f32), k_.sbuf({m, 1}, f32), k_.sbuf({m, c_.head}, f32), false};
    if (p_.row_start[row] == p_.row_start[row + 1]) return r;
    k_.dma_copy({.dst = r.minus_lse, .src = minus_lse_.select(0, head.h)(ds(row * kTile, m)).expand_dim(1)});
    const View out = k_.sbuf({m, c_.head}, c_.dtype), product = k_.sbuf({m, c_.head}, f32);
    k_.dma_copy({.dst = out, .src = out_.select(0, head.h)(ds(row * kTile, m))});
    k_.tensor_tensor({.dst = product, .data1 = out, .data2 = head.dout.tile(row), .op = AluOp::multiply});
    k_.tensor_reduce({.dst = r.d, .op = AluOp::add, .data = product, .axis = {1}});
    return r;
  }

  // A tile of keys and values with the sums of its gradients.
  struct Keys {
    std::int64_t column;
    View keys, keys_t, values_t, dk, dv;
  };
  // A tile of the pattern whose weights and their gradients are there, but not multiplied yet.
  struct Pending {
    std::int64_t row;
    std::shared_ptr<Keys> keys;
    View weights, ds, ds_t;
    bool is_last;  // of its keys
  };

  // All that a tile of keys takes part in. The tensor engine goes on with the next scores while weights are made.
  template <class Finish>
  void add_keys(Head& head, std::int64_t column, std::deque<Pending>& pending, const Finish& finish) {
    const std::int64_t n = p_.width(column), first = turned_.row_start[column], last = turned_.row_start[column + 1];
    if (first == last) {
      const View zero = k_.sbuf({n, c_.head}, c_.dtype);
      k_.memset({.dst = zero, .value = 0.0});
      return store_keys(head, column, zero, zero);
    }
    const auto keys =
        std::make_shared<Keys>(Keys{column, head.keys.tile(column), head.keys.turned(column),
                                    head.values.turned(column), head_sums(k_, n, c_.head), head_sums(k_, n, c_.head)});
    for (std::int64_t e = first; e < last; ++e) {
      pending.push_back(weigh(head, turned_.column[e], order_[e], keys, e + 1 == last));
      finish(kAhead);
    }
  }

  Pending weigh(Head& head, std::int64_t row, std::int64_t tile, const std::shared_ptr<Keys>& keys, bool is_last) {
    const Row& r = head.rows[row];
    const std::int64_t m = p_.height(row), n = keys->keys.dim(0);
    const View scores = k_.psum({m, kTile}, f32)(all, ds(0, n)), dp = k_.psum({m, kTile}, f32)(all, ds(0, n));
    add_scores(k_, scores, head.q.turned(row), keys->keys_t, c_.head);
    add_scores(k_, dp, head.dout.turned(row), keys->values_t, c_.head);
    View x = scores;
    const bool masked = masks_.has(tile);
    if (masked) {
      x = k_.sbuf({m, n}, f32);
      masks_.apply(x, scores, tile);
    }
    const View p = k_.sbuf({m, n}, f32), gradient = k_.sbuf({m, n}, c_.dtype),
               turned = k_.sbuf({kTile, 1, m}, c_.dtype);
    k_.activation({.dst = p, .op = ActFn::exp, .data = x, .bias = r.minus_lse, .scale = masked ? 1.0 : c_.scale});
    k_.scalar_tensor_tensor(
        {.dst = gradient, .data = dp, .op0 = AluOp::subtract, .operand0 = r.d, .op1 = AluOp::multiply, .operand1 = p});
    turn_tiles(k_, turned, gradient, {{0, n}});
    View weights = p;
    if (c_.dtype != f32) {
      weights = k_.sbuf({m, n}, c_.dtype);
      k_.tensor_copy({.dst = weights, .src = p});
    }
    return {row, keys, weights, gradient, turned, is_last};
  }

  void multiply(Head& head, const Pending& p) {
    Row& r = head.rows[p.row];
    const std::int64_t m = p_.height(p.row), n = p.weights.dim(1);
    const View part = head_sums(k_, m, c_.head);
    k_.nc_matmul({.dst = p.keys->dv, .stationary = p.weights, .moving = head.dout.tile(p.row)});
    k_.nc_matmul({.dst = p.keys->dk, .stationary = p.ds, .moving = head.q.tile(p.row)});
    k_.nc_matmul({.dst = part, .stationary = p.ds_t(ds(0, n), 0), .moving = p.keys->keys});
    if (r.has_dq)
      k_.tensor_tensor({.dst = r.dq, .data1 = r.dq, .data2 = part, .op = AluOp::add});
    else
      k_.tensor_copy({.dst = r.dq, .src = part});
    r.has_dq = true;
    if (!p.is_last) return;
    const View dk = k_.sbuf({n, c_.head}, c_.dtype), dv = k_.sbuf({n, c_.head}, c_.dtype);
    k_.activation({.dst = dk, .op = ActFn::copy, .data = p.keys->dk, .scale = c_.scale});
    k_.tensor_copy({.dst = dv, .src = p.keys->dv});
    store_keys(head, p.keys->column, dk, dv);
  }

  void store_keys(const Head& head, std::int64_t column, const View& dk, const View& dv) const {
    const Slice rows = ds(column * kTile, p_.width(column));
    k_.dma_copy({.dst = dk_.select(0, head.h)(rows), .src = dk});
    k_.dma_copy({.dst = dv_.select(0, head.h)(rows), .src = dv});
  }

  void store_dq(const Head& head, std::int64_t row) const {
    const Row& r = head.rows[row];
    const std::int64_t m = p_.height(row);
    const View dq = k_.sbuf({m, c_.head}, c_.dtype);
    if (r.has_dq)
      k_.tensor_scalar({.dst = dq, .data = r.dq, .op0 = AluOp::multiply, .operand0 = c_.scale});
    else
      k_.memset({.dst = dq, .value = 0.0});
    k_.dma_copy({.dst = dq_.select(0, head.h)(ds(row * kTile, m)), .src = dq});
  }

  Kernel& k_;
  const AttentionConfig& c_;
  const TilePattern& p_;
  Masks masks_;
  TilePattern turned_;
  std::vector<std::int64_t> order_;
  View q_, keys_, values_, out_, dout_, minus_lse_, dq_, dk_, dv_;
};

}  // namespace

Program attention_backward(const AttentionConfig& c, Target target) {
  require_attention("attention_backward", c);
  const std::int64_t bytes = c.pattern.tile_rows() * c.head * 4;
  if (bytes > kSums)
    raise(sparse_rules::kTable, sparse_rules::kSize,
          {.found = fmt::format("attention_backward with {} queries of {}", c.pattern.rows, c.head),
           .allowed = fmt::format("queries / 128 * head at most {}", kSums / 4),
           .category = Category::not_yet});
  Kernel k("attention_backward", target);
  Backward(k, c).run();
  return k.finish();
}

}  // namespace kiln::kernels
