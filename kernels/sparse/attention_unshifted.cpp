#include "kernels/sparse/attention_unshifted.h"

#include <deque>
#include <memory>

#include "kernels/blas/dtypes.h"
#include "kernels/blas/turned_load.h"
#include "kernels/sparse/query_groups.h"
#include "kernels/sparse/turned_rows.h"
#include "kernels/sparse/weight_sums.h"

namespace kiln::kernels {
using namespace isa;

namespace {

constexpr std::int64_t kFewest = 256;      // queries: below, whole rows are as quick
constexpr std::int64_t kMostPieces = 2;    // of 128 elements of a head: their sums stay in PSUM
constexpr std::size_t kAhead = 2;          // chunks whose weights are made before values of others are added
constexpr double kLeastScale = 0x1p-60;    // what a mask adds to a score still hides it then
constexpr std::int64_t kHeld = 48 * 1024;  // bytes of a partition for the keys, and for the values, of a head
// Sums between these are exact: the largest score of a row is between -30 and 60, and what is less than its weight by a
// factor of 2^24 is a normal number of float32.
constexpr double kSmallest = 1e-9, kLargest = 1e26;

// A group of queries on its way.
struct Group {
  QueryGroup queries;
  View turned_queries;           // [128, pieces, queries]
  std::vector<View> product;     // of each piece of the head: [piece, queries]
  std::vector<View> left;        // of each piece, out of PSUM: [piece, queries]
  std::vector<WeightSums> sums;  // of each lane, unless the values count
};

struct Pending {
  std::shared_ptr<Group> group;
  const KeyChunk* chunk;
  std::vector<View> weights;  // of each lane
};

class Unshifted {
 public:
  Unshifted(Kernel& k, const AttentionConfig& c, const AttentionTensors& t, const Masks& masks)
      : k_(k), c_(c), p_(c.pattern), t_(t), masks_(masks), groups_(query_groups(c.pattern)) {}

  Reg run() {
    fine_ = k_.sbuf({kTile, 1}, f32);
    ones_ = k_.sbuf({kTile, 1}, c_.statistics ? f32 : c_.dtype);
    k_.memset({.dst = fine_, .value = 1.0});
    k_.memset({.dst = ones_, .value = 1.0});
    const std::int64_t pairs = c_.head == kLane ? c_.heads / 2 : 0, rest = c_.heads - 2 * pairs;
    attend(2, 0, pairs);
    attend(1, 2 * pairs, rest);
    return ask_again();
  }

 private:
  // Heads from `first` on, `lanes` at a time.
  void attend(std::int64_t lanes, std::int64_t first, std::int64_t times) {
    if (times == 0) return;
    lanes_ = lanes;
    counted_ = c_.head % kTile != 0 && lanes == 1;
    pieces_ = whole_pieces(lanes * c_.head + counted_, kTile);
    chunks_.clear();
    const std::int64_t banks = lanes == 1 && pieces_.size() == 1 ? 2 : 1;
    for (const QueryGroup& g : groups_) chunks_.push_back(key_chunks(p_, g, banks));
    k_.loop(times, [&](Index i) { attend_heads(i * lanes + first); });
  }

  void attend_heads(const Index& h) {
    h_ = h;
    begin_heads();
    TurnedRows queries(k_, lanes_of(t_.q), false), keys(k_, lanes_of(t_.k), true);
    std::shared_ptr<Group> next = begin_group(0, queries);
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const std::shared_ptr<Group> group = std::move(next);
      for (const KeyChunk& chunk : chunks_[g]) {
        pending_.push_back({group, &chunk, weigh(*group, chunk, keys)});
        // The queries of the next group come while this one is computed, after the keys that it begins with.
        if (!next && g + 1 < groups_.size()) next = begin_group(g + 1, queries);
        if (pending_.size() >= kAhead + (lanes_ > 1 ? kHalvesTogether : 1)) finish(kAhead);
      }
    }
    finish(0);
    finish_group();
    for (std::int64_t row = 0; row < p_.tile_rows(); ++row) {
      if (p_.row_start[row] == p_.row_start[row + 1]) store_zero_rows(k_, c_, t_, h_, lanes_, row);
    }
    end_heads();
  }

  // The matrices of the heads that are computed together.
  std::vector<View> lanes_of(const View& heads) const {
    std::vector<View> matrices;
    for (std::int64_t lane = 0; lane < lanes_; ++lane) matrices.push_back(heads.select(0, h_ + lane));
    return matrices;
  }

  void begin_heads() {
    values_ = k_.sbuf({kTile, p_.tile_columns(), lanes_ * c_.head + counted_}, c_.dtype);
    if (counted_) k_.memset({.dst = values_(all, all, ds(c_.head, 1)), .value = 1.0});
    loaded_.assign(p_.tile_columns(), false);
    sums_ = k_.sbuf({kTile, lanes_, p_.tile_rows()}, f32);
    results_ = k_.sbuf({kTile, static_cast<std::int64_t>(pieces_.size()), p_.tile_rows()}, f32);
    k_.memset({.dst = sums_, .value = 1.0});
    k_.memset({.dst = results_, .value = 0.0});
  }

  std::shared_ptr<Group> begin_group(std::size_t number, TurnedRows& queries) {
    const QueryGroup& g = groups_[number];
    auto group = std::make_shared<Group>(Group{g, queries.turned(g.first, g.tiles), {}, {}, {}});
    for (const Piece& piece : pieces_) group->product.push_back(k_.psum({piece.size, kWide}, f32)(all, ds(0, g.size)));
    for (std::int64_t lane = 0; lane < lanes_ && !counted_; ++lane) group->sums.emplace_back(k_, g.size);
    return group;
  }

  // exp(scores) of the keys of a chunk, as the chunk has them, for each lane.
  std::vector<View> weigh(const Group& g, const KeyChunk& chunk, TurnedRows& keys) {
    const std::int64_t width = chunk.banks * kWide;
    const View scores = k_.psum({chunk.keys, lanes_ * width}, f32), weights = k_.sbuf(scores.shape(), c_.dtype);
    for (const KeyRun& run : chunk.runs) {
      const View some = keys.turned(run.column), queries = g.turned_queries(all, all, ds(run.first * kTile, run.size));
      for (std::int64_t lane = 0; lane < lanes_; ++lane)
        score(scores(all, ds(lane * width + run.at, run.size)), some, queries, lane, run);
    }
    for (const Piece& span : chunk.spans(lanes_))
      k_.activation({.dst = weights(all, ds(span.start, span.size)),
                     .op = ActFn::exp,
                     .data = scores(all, ds(span.start, span.size)),
                     .scale = c_.scale});
    std::vector<View> found;
    for (std::int64_t lane = 0; lane < lanes_; ++lane) found.push_back(weights(all, ds(lane * width, width)));
    return found;
  }

  void score(const View& to, const View& keys, const View& queries, std::int64_t lane, const KeyRun& run) {
    if (lanes_ == 1) {
      add_scores(k_, to, keys, queries, c_.head);
    } else {
      const Slice half = ds(lane * kLane, kLane);
      k_.nc_matmul({.dst = to,
                    .stationary = keys(half, 0),
                    .moving = queries(half, 0),
                    .tile_position = {lane * kLane, 0},
                    .tile_size = {kLane, kTile}});
    }
    for (std::int64_t i = 0; i < run.tiles; ++i) {
      if (masks_.has(run.tile[i]))
        masks_.add_turned(to(all, ds(i * kTile, std::min(kTile, run.size - i * kTile))), run.tile[i]);
    }
  }

  void finish(std::size_t left) {
    for (; pending_.size() > left; pending_.pop_front()) {
      const Pending& p = pending_.front();
      for (const KeyRun& run : p.chunk->runs) {
        for (std::int64_t lane = 0; lane < lanes_; ++lane)
          add_values(*p.group, run, p.weights[lane](all, ds(run.at, run.size)), lane);
      }
      for (std::size_t lane = 0; lane < p.group->sums.size(); ++lane)
        p.group->sums[lane].add(*p.chunk, p.weights[lane]);
      finish_group();
      if (!p.chunk->is_last) continue;
      take_out(*p.group);
      waiting_ = p.group;  // its results are turned when the tensor engine has something else to do
    }
  }

  // Whole tiles of values that come together.
  Piece neighbours(std::int64_t column) const {
    constexpr std::int64_t kTogether = 4;
    const std::int64_t whole = p_.columns / kTile, first = column / kTogether * kTogether;
    return column < whole ? Piece{first, std::min(kTogether, whole - first)} : Piece{column, 1};
  }

  View values_of(std::int64_t column) {
    const Piece some = neighbours(column);
    const std::int64_t n = p_.width(column);
    for (std::int64_t lane = 0; lane < lanes_ && !loaded_[column]; ++lane) {
      const View rows = t_.v.select(0, h_ + lane)(ds(some.start * kTile, some.size * n));
      k_.dma_copy({.dst = values_(ds(0, n), ds(some.start, some.size), ds(lane * c_.head, c_.head)),
                   .src = rows.reshape_dim(0, {some.size, n}).permute({1, 0, 2})});
    }
    for (std::int64_t i = 0; i < some.size; ++i) loaded_[some.start + i] = true;
    return values_.select(1, column);
  }

  // Parts of a run that are all new or all begun are products of their own.
  void add_values(Group& g, const KeyRun& run, const View& weights, std::int64_t lane) {
    const View values = values_of(run.column);
    for (const auto& [part, is_new] : run.parts) {
      for (std::size_t i = 0; i < pieces_.size(); ++i) {
        const Piece rows = lanes_ == 1 ? Piece{0, pieces_[i].size} : Piece{lane * kLane, kLane};
        nc_matmul_args product{
            .dst = g.product[i](ds(rows.start, rows.size), ds(run.first * kTile + part.start, part.size)),
            .stationary = values(ds(0, weights.dim(0)), ds(pieces_[i].start + rows.start, rows.size)),
            .moving = weights(all, ds(part.start, part.size)),
            .accumulate = !is_new};
        if (lanes_ > 1) product.tile_position = {0, rows.start}, product.tile_size = {kTile, kLane};
        k_.nc_matmul(product);
      }
    }
  }

  bool turns_whole() const { return arch(k_.program().target).features.tensor_transpose_mode; }

  // Out of PSUM: at once where tiles of it can be turned, else tile by tile.
  void take_out(Group& g) {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      const std::int64_t rows = pieces_[i].size, first = g.queries.first;
      g.left.push_back(k_.sbuf({rows, g.queries.size}, f32));
      if (turns_whole()) take_out(g.left[i], g.product[i], i, first);
      for (std::int64_t t = 0; t < g.queries.tiles && !turns_whole(); ++t) {
        const Slice part = ds(t * kTile, p_.height(first + t));
        take_out(g.left[i](all, part), g.product[i](all, part), i, first + t);
      }
    }
  }

  // With a sum for the tile that is no number when one of the products is none.
  void take_out(const View& to, const View& product, std::size_t piece, std::int64_t tile) const {
    k_.tensor_scalar_reduce({.dst = to,
                             .data = product,
                             .op0 = AluOp::multiply,
                             .operand0 = 1.0,
                             .reduce_op = AluOp::add,
                             .reduce_res = results_(ds(0, to.dim(0)), static_cast<int>(piece), ds(tile, 1))});
  }

  // Of a piece of the head: [tile, tiles, piece]. In float32: a row that sees one key is that key's value exactly. DMAs
  // do it where they are fast, but for the last group, which has nothing to hide their latency.
  View turned(const Group& g, std::size_t piece) const {
    const std::int64_t rows = pieces_[piece].size, tiles = g.queries.tiles;
    const View& left = g.left[piece];
    const bool is_whole = rows == kTile && left.dim(1) == tiles * kTile,
               is_last = g.queries.first == groups_.back().first;
    if (turns_whole() && is_whole && !is_last && arch(k_.program().target).dma.transpose_rate_sbuf >= kFastTurns) {
      const View out = k_.sbuf({kTile, tiles, rows}, f32);
      k_.dma_transpose({.dst = out, .src = left.reshape_dim(1, {tiles, kTile})});
      return out;
    }
    const Shape shape{kTile, tiles, rows};
    const View out = turns_whole() ? k_.psum(shape, f32) : k_.sbuf(shape, f32);
    for (std::int64_t t = 0; t < tiles; ++t) {
      const std::int64_t queries = p_.height(g.queries.first + t);
      const View from = left(all, ds(t * kTile, queries)), to = out(ds(0, queries), t);
      if (turns_whole())
        k_.nc_transpose({.dst = to, .data = from});
      else
        turn(k_, to, from);
    }
    return out;
  }

  // Whole tiles of queries, and one that has fewer: body(queries on the partitions, tiles).
  template <class Body>
  void each_height(const QueryGroup& g, const Body& body) const {
    const std::int64_t rest = g.size % kTile, whole = g.tiles - (rest > 0);
    if (whole > 0) body(kTile, Piece{0, whole});
    if (rest > 0) body(rest, Piece{whole, 1});
  }

  void finish_group() {
    if (!waiting_) return;
    Group& g = *waiting_;
    std::vector<View> pieces;
    for (std::size_t i = 0; i < pieces_.size(); ++i) pieces.push_back(turned(g, i));
    for (std::int64_t lane = 0; lane < lanes_; ++lane) {
      const View totals = counted_ ? pieces.back()(all, all, ds(pieces_.back().size - 1, 1)).squeeze_dim(2)
                                   : g.sums[lane].totals(ones_);
      store_group(g.queries, lane, pieces, totals);
    }
    waiting_.reset();
  }

  void store_group(const QueryGroup& q, std::int64_t lane, const std::vector<View>& pieces, const View& totals) {
    const View inverse = k_.sbuf({kTile, q.tiles}, f32),
               out = k_.sbuf({kTile, q.tiles, c_.head}, c_.stores_unrounded() ? f32 : c_.dtype);
    each_height(q, [&](std::int64_t m, const Piece& tiles) {
      const Slice partitions = ds(0, m), columns = ds(tiles.start, tiles.size);
      const View sums = sums_(partitions, lane, ds(q.first + tiles.start, tiles.size));
      k_.tensor_copy({.dst = sums, .src = totals(partitions, columns)});
      k_.reciprocal({.dst = inverse(partitions, columns), .data = sums});
      for (std::size_t i = 0; i < pieces_.size(); ++i) {
        const std::int64_t start = pieces_[i].start, size = std::min(pieces_[i].size, c_.head - start);
        if (size > 0)
          k_.tensor_tensor({.dst = out(partitions, columns, ds(start, size)),
                            .data1 = pieces[i](partitions, columns, ds(lane * kLane, size)),
                            .data2 = inverse(partitions, columns).expand_dim(2).broadcast(2, size),
                            .op = AluOp::multiply,
                            .engine = Engine::vector});
      }
      const auto store = [&](const View& to, const View& from) {
        const View memory = to.select(0, h_ + lane)(ds((q.first + tiles.start) * kTile, tiles.size * m));
        k_.dma_copy({.dst = memory.reshape_dim(0, {tiles.size, m}).permute({1, 0, 2}), .src = from});
      };
      store(t_.out, round_out(k_, c_, out(partitions, columns)));
      if (c_.stores_unrounded()) store(t_.unrounded, out(partitions, columns));
    });
  }

  // Looks at all sums and results, and stores -ln of the sums.
  void end_heads() {
    const View fine = k_.sbuf(sums_.shape(), f32), numbers = k_.sbuf(results_.shape(), f32);
    const View least = k_.sbuf({kTile, 1}, f32);
    k_.tensor_scalar({.dst = fine, .data = sums_, .op0 = AluOp::greater_equal, .operand0 = kSmallest});
    k_.scalar_tensor_tensor({.dst = fine,
                             .data = sums_,
                             .op0 = AluOp::less_equal,
                             .operand0 = kLargest,
                             .op1 = AluOp::multiply,
                             .operand1 = fine});
    k_.tensor_scalar({.dst = numbers,
                      .data = results_,
                      .op0 = AluOp::multiply,
                      .operand0 = 0.0,
                      .op1 = AluOp::equal,
                      .operand1 = 0.0});
    for (const View& flags : {fine, numbers}) {
      k_.tensor_reduce({.dst = least, .op = AluOp::minimum, .data = flags.flatten_dims(1, 2), .axis = {1}});
      k_.tensor_tensor({.dst = fine_, .data1 = fine_, .data2 = least, .op = AluOp::minimum});
    }
    if (!c_.statistics) return;
    const View lse = k_.sbuf(sums_.shape(), f32);
    k_.activation({.dst = lse, .op = ActFn::log, .data = sums_});
    k_.tensor_scalar({.dst = lse, .data = lse, .op0 = AluOp::multiply, .operand0 = -1.0});
    for (std::int64_t lane = 0; lane < lanes_; ++lane)
      for_vector(t_.minus_lse.select(0, h_ + lane), p_.rows,
                 [&](const View& memory, const Slice& partitions, const Slice& tiles) {
                   k_.dma_copy({.dst = memory, .src = lse(partitions, lane, tiles)});
                 });
  }

  // Partitions that are not fine, counted by the tensor engine.
  Reg ask_again() const {
    const View bad = k_.sbuf({kTile, 1}, f32), ones = k_.sbuf({kTile, 1}, f32), count = k_.psum({1, 1}, f32);
    k_.tensor_scalar({.dst = bad, .data = fine_, .op0 = AluOp::equal, .operand0 = 0.0});
    k_.memset({.dst = ones, .value = 1.0});
    k_.nc_matmul({.dst = count, .stationary = bad, .moving = ones});
    const View any = k_.sbuf({1, 1}, DType::int32);
    k_.tensor_scalar({.dst = any, .data = count, .op0 = AluOp::greater, .operand0 = 0.5});
    const Reg again = k_.reg();
    k_.register_load({.dst = again, .src = any});
    return again;
  }

  Kernel& k_;
  const AttentionConfig& c_;
  const TilePattern& p_;
  const AttentionTensors& t_;
  const Masks& masks_;
  std::vector<QueryGroup> groups_;
  View fine_, ones_;  // [128, 1]: 0 where something was out of range; ones, for sums that the backward pass can use
  // Of the heads that are computed together:
  std::int64_t lanes_ = 1;
  bool counted_ = false;                       // values have a column of ones, whose product is the sum
  std::vector<Piece> pieces_;                  // of the head with that column, or of both heads
  std::vector<std::vector<KeyChunk>> chunks_;  // of each group
  Index h_ = 0;
  View values_, sums_, results_;
  std::vector<bool> loaded_;
  std::deque<Pending> pending_;
  std::shared_ptr<Group> waiting_;
};

}  // namespace

bool goes_unshifted(const AttentionConfig& c) {
  const std::int64_t pieces = tiles_of(c.head, kTile), columns = c.pattern.tile_columns() * size_bytes(c.dtype);
  return c.pattern.rows >= kFewest && c.pattern.count() > 0 && c.scale >= kLeastScale && pieces <= kMostPieces &&
         pieces * columns * kTile <= kHeld && (c.head + 1) * columns <= kHeld;
}

Reg attend_unshifted(Kernel& k, const AttentionConfig& c, const AttentionTensors& tensors, const Masks& masks) {
  return Unshifted(k, c, tensors, masks).run();
}

}  // namespace kiln::kernels
