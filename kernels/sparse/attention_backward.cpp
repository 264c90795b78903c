#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <utility>

#include "kernels/blas/dtypes.h"
#include "kernels/sparse/attention.h"
#include "kernels/sparse/query_sums.h"
#include "kernels/sparse/sparse_rules.h"
#include "kernels/sparse/turned_rows.h"

namespace kiln::kernels {
using namespace isa;

namespace {

constexpr std::int64_t kGroup = 4;           // neighbouring tiles of keys whose scores fill a bank of PSUM
constexpr std::int64_t kLongGroup = 2;       // of heads whose sums of dk and dv would fill all banks
constexpr std::size_t kAhead = 3;            // tiles of queries whose gradients are not multiplied yet
constexpr std::int64_t kSums = 128 * 1024;   // bytes of a partition for the sums of dq
constexpr std::int64_t kStays = 160 * 1024;  // of a partition, for these and what queries bring along

// Keys outside, queries inside: dk and dv of up to four tiles of keys stay in PSUM, turned, while the queries that meet
// them go by; the sums of dq stay in SBUF. Products have as many columns as there are keys. Of heads of 64 elements, q
// kᵀ and dout vᵀ are computed together, in the upper and the lower half of the tensor engine, and then the sums of dv
// and dk in its left and its right half.
class Backward {
 public:
  Backward(Kernel& k, const AttentionConfig& c) : k_(k), c_(c), p_(c.pattern), masks_(k, c) {
    const auto in = [&](const char* name, std::int64_t rows) {
      return k.input(name, {c.heads, rows, c.head}, c.dtype);
    };
    q_ = in("q", p_.rows), keys_ = in("k", p_.columns), values_ = in("v", p_.columns);
    out_ = k.input("out", {c.heads, p_.rows, c.head}, f32);
    dout_ = in("dout", p_.rows);
    dout_of_scores_ = c.single_keys ? in("dout_of_scores", p_.rows) : dout_;
    minus_lse_ = k.input("minus_lse", {c.heads, p_.rows}, f32);
    dq_ = k.output("dq", {c.heads, p_.rows, c.head}, c.dtype);
    dk_ = k.output("dk", {c.heads, p_.columns, c.head}, c.dtype);
    dv_ = k.output("dv", {c.heads, p_.columns, c.head}, c.dtype);
    turned_ = p_.transposed(tile_of_);
  }

  void run() {
    // Queries and dout, as they lie and turned.
    const std::int64_t turned = tiles_of(c_.head, kTile) * kTile * (goes_in_halves() ? 1 : 2);
    const std::int64_t queries = p_.tile_rows() * (2 * c_.head + turned) * size_bytes(c_.dtype);
    const bool stays = QuerySums::bytes(c_) + queries <= kStays;
    k_.loop(c_.heads, [&](Index h) {
      Head head{.h = h,
                .q = {k_, q_.select(0, h), stays},
                .dout = {k_, dout_.select(0, h), stays},
                .keys = {k_, keys_.select(0, h), false},
                .queries_t = turned_rows(q_.select(0, h), dout_of_scores_.select(0, h), stays),
                .keys_t = turned_rows(keys_.select(0, h), values_.select(0, h), false),
                .minus_lse = k_.sbuf({kTile, p_.tile_rows()}, f32),
                .d = k_.sbuf({kTile, p_.tile_rows()}, f32),
                .dq = {k_, c_},
                .has_d = std::vector<bool>(p_.tile_rows(), false)};
      std::deque<Pending> pending;
      const auto finish = [&](std::size_t left) {
        for (; pending.size() > left; pending.pop_front()) multiply(head, pending.front());
      };
      for (const Piece& g : whole_pieces(p_.tile_columns(), group())) add_keys(head, g, pending, finish);
      finish(0);
      head.dq.store(dq_.select(0, h));
    });
  }

 private:
  struct Head {
    Index h;
    HeadRows q, dout, keys;
    std::vector<TurnedRows> queries_t, keys_t;  // q and dout, keys and values: of each, or of both together
    View minus_lse, d;                          // [128, tiles of queries]: -lse, and the sums of dout out
    bool has_lse = false;
    QuerySums dq;
    std::vector<bool> has_d;
  };
  // What q kᵀ and dout vᵀ are made of, turned: of queries or of keys.
  using Factors = std::array<View, 2>;
  // Neighbouring tiles of keys: turned and as they lie, and the sums of dk and dv, [piece of the head, keys] each.
  struct Keys {
    Piece tiles;
    std::int64_t size;  // keys
    Factors turned;     // keys and values
    std::vector<View> keys, dk, dv;
    std::vector<bool> begun;  // of each tile
  };
  // A tile of queries and those of the keys that it meets side by side.
  struct Pending {
    std::shared_ptr<Keys> keys;
    std::int64_t row, first;  // of the tiles, in the group
    std::vector<Piece> tiles;
    View q, dout, weights, gradient;
    std::shared_ptr<QuerySums::Block> block;
    bool is_last, ends_block;  // of its keys
  };

  // In bfloat16 the DMAs that turn gradients are what takes longest.
  bool goes_in_halves() const { return c_.head == kLane && c_.dtype == DType::float32; }

  std::vector<TurnedRows> turned_rows(const View& first, const View& second, bool stays) const {
    if (goes_in_halves()) return {TurnedRows(k_, {first, second}, stays)};
    return {TurnedRows(k_, {first}, stays), TurnedRows(k_, {second}, stays)};
  }

  static Factors factors(std::vector<TurnedRows>& rows, std::int64_t t, std::int64_t count = 1) {
    if (rows.size() == 2) return {rows[0].turned(t, count), rows[1].turned(t, count)};
    const View both = rows[0].turned(t, count);
    return {both(ds(0, kLane)), both(ds(kLane, kLane))};
  }

  std::int64_t group() const { return c_.head <= 2 * kTile ? kGroup : kLongGroup; }

  // -lse of all queries. Numbers that lie side by side are turned by the tensor engine where it can: one by one they
  // would take the DMAs longer than a tile of keys.
  View minus_lse_of(Head& head) const {
    if (std::exchange(head.has_lse, true)) return head.minus_lse;
    const View memory = minus_lse_.select(0, head.h);
    if (!arch(k_.program().target).features.tensor_transpose_mode) {
      for_vector(memory, p_.rows, [&](const View& some, const Slice& partitions, const Slice& tiles) {
        k_.dma_copy({.dst = head.minus_lse(partitions, tiles), .src = some});
      });
      return head.minus_lse;
    }
    const std::int64_t whole = p_.rows / kTile, rest = p_.rows % kTile;
    for (const Piece& tiles : whole_pieces(whole, kTile)) {
      const View lying = k_.sbuf({tiles.size, kTile}, f32), turned = k_.psum({kTile, tiles.size}, f32);
      const View from = memory(ds(tiles.start * kTile, tiles.size * kTile));
      k_.dma_copy({.dst = lying, .src = from.reshape_dim(0, {tiles.size, kTile})});
      k_.nc_transpose({.dst = turned, .data = lying});
      k_.tensor_copy({.dst = head.minus_lse(all, ds(tiles.start, tiles.size)), .src = turned});
    }
    if (rest > 0)
      k_.dma_copy(
          {.dst = head.minus_lse(ds(0, rest), ds(whole, 1)), .src = memory(ds(whole * kTile, rest)).expand_dim(1)});
    return head.minus_lse;
  }

  // Σ dout out of a tile of queries, and of those that are loaded with it.
  View d_of(Head& head, std::int64_t row) const {
    const std::int64_t m = p_.height(row);
    if (!head.has_d[row]) {
      const Piece some = head.dout.neighbours(row);
      const View out = k_.sbuf({m, some.size, c_.head}, f32), product = k_.sbuf(out.shape(), f32);
      const View from = out_.select(0, head.h)(ds(some.start * kTile, some.size * m)).reshape_dim(0, {some.size, m});
      k_.dma_copy({.dst = out, .src = from.permute({1, 0, 2})});
      for (std::int64_t i = 0; i < some.size; ++i) {
        k_.tensor_tensor({.dst = product.select(1, i),
                          .data1 = out.select(1, i),
                          .data2 = head.dout.tile(some.start + i),
                          .op = AluOp::multiply,
                          .engine = Engine::gpsimd});
        head.has_d[some.start + i] = true;
      }
      add_up(head.d(ds(0, m), ds(some.start, some.size)), product);
    }
    return head.d(ds(0, m), ds(row, 1));
  }

  // Sums of the rows of x [m, tiles, head]: of pieces first, in the order in which the tensor engine adds up dout v. Of
  // a row with nearly all of its weight on one key both are nearly the same sum, and what rounding makes of it cancels.
  void add_up(const View& to, const View& x) const {
    if (c_.head <= kTile) {
      k_.tensor_reduce({.dst = to, .op = AluOp::add, .data = x, .axis = {2}});
      return;
    }
    const std::int64_t whole = c_.head / kTile, rest = c_.head % kTile;
    const View sums = k_.sbuf({x.dim(0), x.dim(1), whole + (rest > 0)}, f32);
    k_.tensor_reduce({.dst = sums(all, all, ds(0, whole)),
                      .op = AluOp::add,
                      .data = x(all, all, ds(0, whole * kTile)).reshape_dim(2, {whole, kTile}),
                      .axis = {3}});
    if (rest > 0)
      k_.tensor_reduce({.dst = sums(all, all, ds(whole, 1)),
                        .op = AluOp::add,
                        .data = x(all, all, ds(whole * kTile, rest)),
                        .axis = {2}});
    k_.tensor_reduce({.dst = to, .op = AluOp::add, .data = sums, .axis = {2}});
  }

  // Of a group of keys, by tile of queries: (tile in the group, tile of the pattern).
  using Met = std::map<std::int64_t, std::vector<std::pair<std::int64_t, std::int64_t>>>;

  // The tensor engine goes on with the scores of the next queries while weights are made of these.
  template <class Finish>
  void add_keys(Head& head, const Piece& g, std::deque<Pending>& pending, const Finish& finish) {
    Met met;
    for (std::int64_t i = 0; i < g.size; ++i) {
      for (std::int64_t e = turned_.row_start[g.start + i]; e < turned_.row_start[g.start + i + 1]; ++e)
        met[turned_.column[e]].emplace_back(i, tile_of_[e]);
    }
    for (std::int64_t i = 0; i < g.size; ++i) {
      if (turned_.row_start[g.start + i] == turned_.row_start[g.start + i + 1]) store_zeros(head, g.start + i);
    }
    if (met.empty()) return;
    const auto keys = begin_keys(head, g);
    std::shared_ptr<QuerySums::Block> block;
    const std::vector<std::int64_t> rows = order_of(met);
    const auto block_of = [&](std::size_t i) { return rows[i] / QuerySums::rows_of_block(c_); };
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const auto& tiles = met.at(rows[r]);
      if (r == 0 || block_of(r - 1) != block_of(r)) block = head.dq.begin_block(rows[r]);
      const bool is_last = r + 1 == rows.size(), ends_block = is_last || block_of(r + 1) != block_of(r);
      for (std::size_t i = 0; i < tiles.size();) {  // neighbours at once
        std::size_t end = i + 1;
        while (end < tiles.size() && tiles[end].first == tiles[end - 1].first + 1) ++end;
        std::vector<std::int64_t> stored;
        for (std::size_t t = i; t < end; ++t) stored.push_back(tiles[t].second);
        pending.push_back(weigh(head, keys, block, rows[r], tiles[i].first, stored));
        pending.back().is_last = is_last && end == tiles.size();
        pending.back().ends_block = ends_block && end == tiles.size();
        if (pending.size() >= kAhead + (goes_in_halves() ? kHalvesTogether : 1)) finish(kAhead);
        i = end;
      }
    }
  }

  // Block by block of queries; the one that meets most of the keys comes first, so that few products are partly new.
  std::vector<std::int64_t> order_of(const Met& met) const {
    const auto longer = [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); };
    const std::int64_t widest = std::max_element(met.begin(), met.end(), longer)->first;
    const std::int64_t size = QuerySums::rows_of_block(c_), first = widest / size * size;
    std::vector<std::int64_t> rows{widest};
    const auto add = [&](std::int64_t from, std::int64_t to) {
      for (auto row = met.lower_bound(from); row != met.end() && row->first < to; ++row) {
        if (row->first != widest) rows.push_back(row->first);
      }
    };
    add(first, p_.tile_rows());
    add(0, first);
    return rows;
  }

  std::shared_ptr<Keys> begin_keys(Head& head, const Piece& g) const {
    const std::int64_t size = std::min(p_.columns, (g.start + g.size) * kTile) - g.start * kTile;
    auto keys = std::make_shared<Keys>(Keys{.tiles = g,
                                            .size = size,
                                            .turned = factors(head.keys_t, g.start, g.size),
                                            .keys = {},
                                            .dk = {},
                                            .dv = {},
                                            .begun = std::vector<bool>(g.size, false)});
    if (goes_in_halves()) {
      const View both = k_.psum({kTile, group() * kTile}, f32)(all, ds(0, size));
      keys->dv = {both(ds(0, kLane))}, keys->dk = {both(ds(kLane, kLane))};
      return keys;
    }
    for (const Piece& piece : whole_pieces(c_.head, kTile)) {
      keys->dk.push_back(k_.psum({piece.size, group() * kTile}, f32)(all, ds(0, size)));
      keys->dv.push_back(k_.psum({piece.size, group() * kTile}, f32)(all, ds(0, size)));
    }
    return keys;
  }

  Pending weigh(Head& head, const std::shared_ptr<Keys>& keys, const std::shared_ptr<QuerySums::Block>& block,
                std::int64_t row, std::int64_t first, const std::vector<std::int64_t>& stored) {
    Pending p{keys, row, first, {}, {}, {}, {}, {}, block, false, false};
    const std::int64_t count = static_cast<std::int64_t>(stored.size()), m = p_.height(row);
    for (std::int64_t i = 0; i < count; ++i) p.tiles.push_back({i * kTile, p_.width(keys->tiles.start + first + i)});
    const std::int64_t width = p.tiles.back().start + p.tiles.back().size;
    const View scores = k_.psum({m, group() * kTile}, f32)(all, ds(0, width)),
               dp = k_.psum({m, group() * kTile}, f32)(all, ds(0, width));
    const Slice some = ds(first * kTile, width);
    const Factors queries = factors(head.queries_t, row);
    for (const int half : {0, 1})
      score(half == 0 ? scores : dp, queries[half], keys->turned[half](all, all, some), half);
    View x = scores;
    bool masked = false;
    for (const std::int64_t e : stored) masked = masked || masks_.has(e);
    if (masked) {
      x = k_.sbuf({m, width}, f32);
      for (std::int64_t i = 0; i < count; ++i) {
        const Slice part = ds(p.tiles[i].start, p.tiles[i].size);
        masks_.apply(x(all, part), scores(all, part), stored[i]);
      }
    }
    p.weights = k_.sbuf({m, width}, c_.dtype), p.gradient = k_.sbuf({m, width}, c_.dtype);
    k_.activation({.dst = p.weights,
                   .op = ActFn::exp,
                   .data = x,
                   .bias = minus_lse_of(head)(ds(0, m), ds(row, 1)),
                   .scale = masked ? 1.0 : c_.scale});
    // What is needed later is loaded later.
    p.q = head.q.tile(row), p.dout = head.dout.tile(row);
    for (std::int64_t i = static_cast<std::int64_t>(keys->keys.size()); i < keys->tiles.size; ++i)
      keys->keys.push_back(head.keys.tile(keys->tiles.start + i));
    k_.scalar_tensor_tensor({.dst = p.gradient,
                             .data = dp,
                             .op0 = AluOp::subtract,
                             .operand0 = d_of(head, row),
                             .op1 = AluOp::multiply,
                             .operand1 = p.weights});
    turn_tiles(k_, head.dq.place(*block, row, first, count), p.gradient, p.tiles, way_to_turn());
    return p;
  }

  void score(const View& dst, const View& queries, const View& keys, std::int64_t half) const {
    if (!goes_in_halves()) return add_scores(k_, dst, queries, keys, c_.head);
    k_.nc_matmul({.dst = dst,
                  .stationary = queries.select(1, 0),
                  .moving = keys.select(1, 0),
                  .tile_position = {half * kLane, 0},
                  .tile_size = {kLane, kTile}});
  }

  // In bfloat16 DMAs and the tensor engine share it: as many as leave neither waiting for the other.
  std::optional<std::size_t> way_to_turn() {
    if (c_.dtype == DType::float32) return std::nullopt;
    ++turns_;
    const bool by_dma = c_.head <= kTile / 2 ? turns_ % 4 != 0 : turns_ % 3 < (c_.head <= kTile ? 1 : 2);
    return by_dma ? std::nullopt : std::optional(turns_);
  }

  void multiply(Head& head, const Pending& p) {
    Keys& keys = *p.keys;
    add_to_keys(keys.dv, p, p.dout, p.weights, 0);
    add_to_keys(keys.dk, p, p.q, p.gradient, 1);
    for (std::size_t i = 0; i < p.tiles.size(); ++i) keys.begun[p.first + i] = true;
    if (p.ends_block) head.dq.add(*p.block, keys.keys);
    if (p.is_last) store_keys(head, keys);
  }

  // sums [head, keys] += rowsᵀ x with rows [m, head] and x [m, keys]. Parts that are all new or all begun are products
  // of their own.
  void add_to_keys(const std::vector<View>& sums, const Pending& p, const View& rows, const View& x,
                   std::int64_t half) const {
    const std::vector<Piece> pieces = whole_pieces(c_.head, kTile);
    for (std::size_t t = 0; t < p.tiles.size();) {
      std::size_t end = t + 1;
      const auto is_begun = [&](std::size_t i) { return p.keys->begun[p.first + i]; };
      while (end < p.tiles.size() && is_begun(end) == is_begun(t)) ++end;
      const std::int64_t start = p.tiles[t].start, size = p.tiles[end - 1].start + p.tiles[end - 1].size - start;
      for (std::size_t i = 0; i < pieces.size(); ++i) {
        nc_matmul_args product{.dst = sums[i](all, ds(p.first * kTile + start, size)),
                               .stationary = rows(all, ds(pieces[i].start, pieces[i].size)),
                               .moving = x(all, ds(start, size)),
                               .accumulate = is_begun(t)};
        if (goes_in_halves()) product.tile_position = {0, half * kLane}, product.tile_size = {kTile, kLane};
        k_.nc_matmul(product);
      }
      t = end;
    }
  }

  // Tiles of keys side by side, n keys each.
  struct KeyPart {
    std::int64_t first, tiles, row, n;  // first: in the group
  };

  void store_keys(const Head& head, const Keys& keys) {
    const View dk = dk_.select(0, head.h), dv = dv_.select(0, head.h);
    if (goes_in_halves()) return for_met_keys(keys, [&](const KeyPart& part) { store_halves(dv, dk, keys, part); });
    for_met_keys(keys, [&](const KeyPart& part) { store_turned(dk, keys.dk, part, c_.scale); });
    for_met_keys(keys, [&](const KeyPart& part) { store_turned(dv, keys.dv, part, 1); });
  }

  // Run by run of tiles that somebody meets; the others are zero, and stored already.
  template <class Body>
  void for_met_keys(const Keys& keys, const Body& body) const {
    const auto kind = [&](std::int64_t t) { return 2 * keys.begun[t] + (p_.width(keys.tiles.start + t) == kTile); };
    for_runs(keys.tiles.size, kind, [&](std::int64_t first, std::int64_t tiles, int) {
      const std::int64_t row = keys.tiles.start + first;
      if (keys.begun[first]) body(KeyPart{first, tiles, row, p_.width(row)});
    });
  }

  // Out of PSUM, times scale.
  void take_out(const View& to, const View& sums, const KeyPart& part, double scale) const {
    k_.activation({.dst = to.reshape_dim(1, {part.tiles, part.n}),
                   .op = ActFn::copy,
                   .data = interleaved(sums(all, ds(part.first * kTile, part.tiles * part.n)), part.tiles),
                   .scale = scale});
  }

  void store_turned(const View& memory, const std::vector<View>& sums, const KeyPart& part, double scale) const {
    const View out = k_.sbuf({part.n, part.tiles, c_.head}, c_.dtype);
    for (const Piece& piece : whole_pieces(c_.head, kTile)) {
      const View scaled = k_.sbuf({piece.size, part.tiles * part.n}, c_.dtype);
      take_out(scaled, sums[piece.start / kTile], part, scale);
      turn_tiles(k_, out(all, all, ds(piece.start, piece.size)), scaled, equal_pieces(part.tiles, part.n));
    }
    store_interleaved(k_, memory, part.row, out);
  }

  // dv and dk turned at once.
  void store_halves(const View& dv, const View& dk, const Keys& keys, const KeyPart& part) const {
    const View out = k_.sbuf({part.n, part.tiles, kTile}, c_.dtype);
    const View scaled = k_.sbuf({kTile, part.tiles * part.n}, c_.dtype);
    take_out(scaled(ds(0, kLane)), keys.dv[0], part, 1);
    take_out(scaled(ds(kLane, kLane)), keys.dk[0], part, c_.scale);
    turn_tiles(k_, out, scaled, equal_pieces(part.tiles, part.n));
    store_interleaved(k_, dv, part.row, out(all, all, ds(0, kLane)));
    store_interleaved(k_, dk, part.row, out(all, all, ds(kLane, kLane)));
  }

  void store_zeros(const Head& head, std::int64_t column) const {
    const std::int64_t n = p_.width(column);
    const View zero = k_.sbuf({n, c_.head}, c_.dtype);
    k_.memset({.dst = zero, .value = 0.0});
    for (const View& memory : {dk_, dv_})
      k_.dma_copy({.dst = memory.select(0, head.h)(ds(column * kTile, n)), .src = zero});
  }

  Kernel& k_;
  const AttentionConfig& c_;
  const TilePattern& p_;
  Masks masks_;
  TilePattern turned_;                 // keys x queries
  std::vector<std::int64_t> tile_of_;  // of each of its tiles: which one of the pattern it is
  View q_, keys_, values_, out_, dout_, dout_of_scores_, minus_lse_, dq_, dk_, dv_;
  std::size_t turns_ = 0;
};

}  // namespace

Program attention_backward(const AttentionConfig& c, Target target) {
  require_attention("attention_backward", c);
  if (QuerySums::bytes(c) > kSums)
    raise(sparse_rules::kTable, sparse_rules::kSize,
          {.found = fmt::format("attention_backward with {} queries of {}", c.pattern.rows, c.head),
           .allowed = fmt::format("up to {} of them", QuerySums::most_queries(c.head, kSums)),
           .category = Category::not_yet});
  Kernel k("attention_backward", target);
  Backward(k, c).run();
  return k.finish();
}

}  // namespace kiln::kernels
