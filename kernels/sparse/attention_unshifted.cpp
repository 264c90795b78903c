#include "kernels/sparse/attention_unshifted.h"

#include <algorithm>
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

constexpr std::int64_t kFewest = 256;     // queries: below, whole rows are as quick
constexpr std::int64_t kMostPieces = 2;   // of 128 elements of a head: their sums stay in PSUM
constexpr std::size_t kAhead = 2;         // chunks whose weights are made before values of others are added
constexpr std::size_t kAheadAtFirst = 5;  // the same at the beginning
constexpr std::size_t kHiding = 2;        // groups that hide the latency of DMAs
constexpr std::int64_t kTilesInARow = 1536;
constexpr double kLeastScale = 0x1p-60;    // what a mask adds to a score still hides it then
constexpr std::int64_t kHeld = 48 * 1024;  // bytes of a partition for the keys, and for the values, of a head
// Sums between these are exact: the largest score of a row is between -30 and 60, and what is less than its weight by a
// factor of 2^24 is a normal number of float32.
constexpr double kSmallest = 1e-9, kLargest = 1e26;

// The heads that are computed together.
struct Heads {
  Index first;
  View values;               // [128, tiles, elements of a row]
  std::vector<bool> loaded;  // of these
  View sums, results;        // [128, lanes, tiles] and [128, pieces, tiles]
};

// A group of queries on its way.
struct Group {
  std::shared_ptr<Heads> heads;
  QueryGroup queries;
  bool ends_heads;               // is the last one of its heads
  std::size_t followers;         // groups that are computed after it in a row, as far as they count
  View turned_queries;           // [128, pieces, queries]
  std::vector<View> product;     // of each piece of the head: [piece, queries]
  std::vector<View> left;        // of each piece, out of PSUM: [piece, queries]
  std::vector<WeightSums> sums;  // of each lane, unless the values count
};

using GroupRef = std::shared_ptr<Group>;

struct Pending {
  std::vector<GroupRef> groups;  // of each run
  const KeyChunk* chunk;
  std::vector<View> weights;  // of each lane
  std::size_t added = 0;      // runs whose values are
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
    const std::int64_t banks = lanes == 1 && pieces_.size() == 1 ? 2 : 1;
    waits_for_weights_ = size_bytes(c_.dtype) == 2 && pieces_.size() == 1;
    chunks_ = key_chunks(p_, groups_, banks, waits_for_weights_);
    const std::int64_t row = in_a_row(times), loops = times / row;
    k_.loop(loops, [&](Index i) { attend_row(i * (row * lanes) + first, row); });
    attend_row(first + loops * row * lanes, times - loops * row);
  }

  // How many heads follow each other without a loop: what is left of one is done while the next one begins. As long as
  // two of them fit, and the program stays short.
  std::int64_t in_a_row(std::int64_t times) const {
    const std::int64_t keys = tiles_of(c_.head * lanes_, kTile) * kTile, values = lanes_ * c_.head + counted_;
    const std::int64_t held = (keys + values) * p_.tile_columns() * size_bytes(c_.dtype);
    if (2 * held > kHeld) return 1;
    return std::clamp<std::int64_t>(kTilesInARow / (p_.count() * lanes_), 1, times);
  }

  void attend_row(const Index& first, std::int64_t count) {
    started_ = 0;
    for (std::int64_t i = 0; i < count; ++i) attend_heads(first + i * lanes_, i + 1 == count);
  }

  void attend_heads(const Index& h, bool is_last) {
    const std::shared_ptr<Heads> heads = begin_heads(h);
    TurnedRows queries(k_, lanes_of(t_.q, h), false), keys(k_, lanes_of(t_.k, h), true, started_ == 0);
    const auto begin = [&](std::size_t g) {
      const std::size_t left = groups_.size() - 1 - g;
      return begin_group(heads, groups_[g], {left == 0, left + (is_last ? 0 : kHiding)}, queries);
    };
    std::vector<GroupRef> begun(groups_.size());
    for (const KeyChunk& chunk : chunks_) {
      Pending next{{}, &chunk, {}};
      for (const KeyRun& run : chunk.runs) {
        if (!begun[run.group]) begun[run.group] = begin(run.group);
        next.groups.push_back(begun[run.group]);
      }
      next.weights = weigh(next, keys);
      pending_.push_back(std::move(next));
      // The queries of the next group come while this one is computed, after the keys that it begins with.
      const std::int64_t after = chunk.runs.front().group + 1;
      if (after < static_cast<std::int64_t>(groups_.size()) && !begun[after]) begun[after] = begin(after);
      for (const std::int64_t ended : chunk.ends) begun[ended].reset();
      finish_some();
    }
    if (is_last) {
      finish(0);
      finish_group();
    }
    for (std::int64_t row = 0; row < p_.tile_rows(); ++row) {
      if (p_.row_start[row] == p_.row_start[row + 1]) store_zero_rows(k_, c_, t_, h, lanes_, row);
    }
  }

  // While the tensor engine still has its slow clock, only scores are computed, so that the scalar engine goes on. It
  // catches up run by run, so that it does not keep others waiting then.
  void finish_some() {
    if (lanes_ > 1) {
      if (pending_.size() >= kAhead + kHalvesTogether) finish(kAhead);
      return;
    }
    if (started_++ < kAheadAtFirst) return;
    finish(std::max(kAhead, pending_.size() - 1));
    if (pending_.size() <= kAhead) return;
    add_run(pending_.front());
    if (pending_.front().added == pending_.front().chunk->runs.size()) finish(pending_.size() - 1);
  }

  // The matrices of the heads that are computed together.
  std::vector<View> lanes_of(const View& matrix_of, const Index& h) const {
    std::vector<View> matrices;
    for (std::int64_t lane = 0; lane < lanes_; ++lane) matrices.push_back(matrix_of.select(0, h + lane));
    return matrices;
  }

  std::shared_ptr<Heads> begin_heads(const Index& h) {
    auto heads = std::make_shared<Heads>();
    heads->first = h;
    heads->values = k_.sbuf({kTile, p_.tile_columns(), lanes_ * c_.head + counted_}, c_.dtype);
    if (counted_) k_.memset({.dst = heads->values(all, all, ds(c_.head, 1)), .value = 1.0});
    heads->loaded.assign(p_.tile_columns(), false);
    heads->sums = k_.sbuf({kTile, lanes_, p_.tile_rows()}, f32);
    heads->results = k_.sbuf({kTile, static_cast<std::int64_t>(pieces_.size()), p_.tile_rows()}, f32);
    k_.memset({.dst = heads->sums, .value = 1.0});
    k_.memset({.dst = heads->results, .value = 0.0});
    return heads;
  }

  std::shared_ptr<Group> begin_group(const std::shared_ptr<Heads>& heads, const QueryGroup& g,
                                     std::pair<bool, std::size_t> place, TurnedRows& queries) {
    auto group = std::make_shared<Group>(
        Group{heads, g, place.first, place.second, queries.turned(g.first, g.tiles), {}, {}, {}});
    for (const Piece& piece : pieces_) group->product.push_back(k_.psum({piece.size, kWide}, f32)(all, ds(0, g.size)));
    for (std::int64_t lane = 0; lane < lanes_ && !counted_; ++lane)
      group->sums.emplace_back(k_, g.size, place.second == 0);
    return group;
  }

  // exp(scores) of the keys of a chunk, as the chunk has them, for each lane.
  std::vector<View> weigh(const Pending& p, TurnedRows& keys) {
    const KeyChunk& chunk = *p.chunk;
    const std::int64_t width = chunk.banks * kWide;
    const View scores = k_.psum({chunk.keys, lanes_ * width}, f32), weights = k_.sbuf(scores.shape(), c_.dtype);
    for (std::size_t i = 0; i < chunk.runs.size(); ++i) {
      const KeyRun& run = chunk.runs[i];
      const View some = keys.turned(run.column),
                 queries = p.groups[i]->turned_queries(all, all, ds(run.first * kTile, run.size));
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

  // Adds the values of the next run.
  void add_run(Pending& p) {
    const KeyRun& run = p.chunk->runs[p.added];
    for (std::int64_t lane = 0; lane < lanes_; ++lane)
      add_values(*p.groups[p.added], run, p.weights[lane](all, ds(run.at, run.size)), lane);
    ++p.added;
  }

  void finish(std::size_t left) {
    for (; pending_.size() > left; pending_.pop_front()) {
      Pending& p = pending_.front();
      const std::vector<KeyRun>& runs = p.chunk->runs;
      while (p.added < runs.size()) add_run(p);
      for (std::size_t i = 0; i < runs.size() && !counted_; ++i) {
        const auto is_its = [&](std::int64_t group) { return group == runs[i].group; };
        const bool is_late = std::ranges::any_of(p.chunk->ends, is_its);
        for (std::int64_t lane = 0; lane < lanes_; ++lane)
          p.groups[i]->sums[lane].add(runs[i], p.weights[lane](all, ds(runs[i].at, runs[i].size)), is_late);
      }
      finish_group();
      for (const std::int64_t ended : p.chunk->ends) end_group(p, ended);
    }
  }

  void end_group(const Pending& p, std::int64_t ended) {
    const auto is_its = [&](const KeyRun& run) { return run.group == ended; };
    const auto run = std::ranges::find_if(p.chunk->runs, is_its);
    finish_group();
    waiting_ = p.groups[run - p.chunk->runs.begin()];
    take_out(*waiting_);  // what comes out is turned when the tensor engine has something else to do
  }

  // Whole tiles of values that come together.
  Piece neighbours(std::int64_t column) const {
    constexpr std::int64_t kTogether = 4;
    const std::int64_t whole = p_.columns / kTile, first = column / kTogether * kTogether;
    return column < whole ? Piece{first, std::min(kTogether, whole - first)} : Piece{column, 1};
  }

  View values_of(Heads& heads, std::int64_t column) {
    const Piece some = neighbours(column);
    const std::int64_t n = p_.width(column);
    for (std::int64_t lane = 0; lane < lanes_ && !heads.loaded[column]; ++lane) {
      const View rows = t_.v.select(0, heads.first + lane)(ds(some.start * kTile, some.size * n));
      k_.dma_copy({.dst = heads.values(ds(0, n), ds(some.start, some.size), ds(lane * c_.head, c_.head)),
                   .src = rows.reshape_dim(0, {some.size, n}).permute({1, 0, 2})});
    }
    for (std::int64_t i = 0; i < some.size; ++i) heads.loaded[some.start + i] = true;
    return heads.values.select(1, column);
  }

  // Parts of a run that are all new or all begun are products of their own.
  void add_values(Group& g, const KeyRun& run, const View& weights, std::int64_t lane) {
    const View values = values_of(*g.heads, run.column);
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

  // Whether a partition gets rows that lie side by side, so that the DMA is done sooner: of the last group, which has
  // nothing to hide it. Statistics are stored for rows as they are.
  bool is_interleaved(const Group& g) const {
    return g.followers == 0 && !c_.statistics && turns_whole() && g.queries.size == g.queries.tiles * kTile;
  }

  // Out of PSUM: at once where tiles of it can be turned, else tile by tile.
  void take_out(Group& g) {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      const std::int64_t rows = pieces_[i].size, first = g.queries.first;
      g.left.push_back(k_.sbuf({rows, g.queries.size}, f32));
      for (const Piece& tiles : whole_pieces(g.queries.tiles, turns_whole() ? g.queries.tiles : 1)) {
        const std::int64_t start = tiles.start * kTile, end = (tiles.start + tiles.size) * kTile;
        const Slice part = ds(start, std::min(end, g.queries.size) - start);
        const View sum = g.heads->results(ds(0, rows), static_cast<int>(i), ds(first + tiles.start, 1));
        take_out(g, g.left[i](all, part), g.product[i](all, part), sum);
      }
    }
  }

  // With a sum that is no number when one of the products is none. The scalar engine has weights to make until the last
  // group.
  void take_out(const Group& g, const View& to, const View& product, const View& sum) const {
    if (waits_for_weights_ && g.followers == 0) {
      k_.activation_reduce({.dst = to, .op = ActFn::copy, .data = product, .reduce_op = AluOp::add, .reduce_res = sum});
      return;
    }
    k_.tensor_scalar_reduce({.dst = to,
                             .data = product,
                             .op0 = AluOp::multiply,
                             .operand0 = 1.0,
                             .reduce_op = AluOp::add,
                             .reduce_res = sum});
  }

  // Of a piece of the head: [tile, tiles, piece]. In float32: a row that sees one key is that key's value exactly. DMAs
  // do it where they are fast, but for the last groups, which have nothing to hide their latency.
  View turned(const Group& g, std::size_t piece) const {
    const std::int64_t rows = pieces_[piece].size, tiles = g.queries.tiles;
    const View& left = g.left[piece];
    const bool is_whole = rows == kTile && left.dim(1) == tiles * kTile;
    const std::size_t hiding = waits_for_weights_ ? kHiding : 1;
    if (turns_whole() && is_whole && g.followers >= hiding &&
        arch(k_.program().target).dma.transpose_rate_sbuf >= kFastTurns) {
      const View out = k_.sbuf({kTile, tiles, rows}, f32);
      k_.dma_transpose({.dst = out, .src = left.reshape_dim(1, {tiles, kTile})});
      return out;
    }
    const Shape shape{kTile, tiles, rows};
    const View out = turns_whole() ? k_.psum(shape, f32) : k_.sbuf(shape, f32);
    for (std::int64_t t = 0; t < tiles; ++t) {
      const std::int64_t queries = p_.height(g.queries.first + t);
      const View from = is_interleaved(g) ? interleaved(left, tiles).select(1, t) : left(all, ds(t * kTile, queries)),
                 to = out(ds(0, queries), t);
      if (turns_whole())
        k_.nc_transpose({.dst = to, .data = from});
      else
        turn(k_, to, from);
    }
    return out;
  }

  // Whole tiles of queries, and one that has fewer: body(queries on the partitions, tiles).
  template <class Body>
  void each_height(const Group& g, const Body& body) const {
    const std::int64_t rest = g.queries.size % kTile, whole = g.queries.tiles - (rest > 0);
    if (whole > 0) body(kTile, Piece{0, whole});
    if (rest > 0) body(rest, Piece{whole, 1});
  }

  void finish_group() {
    if (!waiting_) return;
    Group& g = *waiting_;
    std::vector<View> totals, pieces;
    for (WeightSums& sums : g.sums) totals.push_back(sums.totals(ones_, is_interleaved(g)));
    for (std::size_t i = 0; i < pieces_.size(); ++i) pieces.push_back(turned(g, i));
    if (counted_) totals = {pieces.back()(all, all, ds(pieces_.back().size - 1, 1)).squeeze_dim(2)};
    for (std::int64_t lane = 0; lane < lanes_; ++lane) store_group(g, lane, pieces, totals[lane]);
    if (g.ends_heads) end_heads(*g.heads);
    waiting_.reset();
  }

  void store_group(const Group& g, std::int64_t lane, const std::vector<View>& pieces, const View& totals) {
    const QueryGroup& q = g.queries;
    const View inverse = k_.sbuf({kTile, q.tiles}, f32),
               out = k_.sbuf({kTile, q.tiles, c_.head}, c_.stores_unrounded() ? f32 : c_.dtype);
    each_height(g, [&](std::int64_t m, const Piece& tiles) {
      const Slice partitions = ds(0, m), columns = ds(tiles.start, tiles.size);
      const View sums = g.heads->sums(partitions, lane, ds(q.first + tiles.start, tiles.size));
      k_.reciprocal({.dst = inverse(partitions, columns), .data = totals(partitions, columns)});
      k_.tensor_copy({.dst = sums, .src = totals(partitions, columns)});
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
        const View memory = to.select(0, g.heads->first + lane)(ds((q.first + tiles.start) * kTile, tiles.size * m));
        if (is_interleaved(g))
          store_interleaved(k_, to.select(0, g.heads->first + lane), q.first, from);
        else
          k_.dma_copy({.dst = memory.reshape_dim(0, {tiles.size, m}).permute({1, 0, 2}), .src = from});
      };
      store(t_.out, round_out(k_, c_, out(partitions, columns)));
      if (c_.stores_unrounded()) store(t_.unrounded, out(partitions, columns));
    });
  }

  // Looks at all sums and results, and stores -ln of the sums.
  void end_heads(const Heads& heads) {
    const View fine = k_.sbuf(heads.sums.shape(), f32), numbers = k_.sbuf(heads.results.shape(), f32);
    const View least = k_.sbuf({kTile, 1}, f32);
    k_.tensor_scalar({.dst = fine, .data = heads.sums, .op0 = AluOp::greater_equal, .operand0 = kSmallest});
    k_.scalar_tensor_tensor({.dst = fine,
                             .data = heads.sums,
                             .op0 = AluOp::less_equal,
                             .operand0 = kLargest,
                             .op1 = AluOp::multiply,
                             .operand1 = fine});
    k_.tensor_scalar({.dst = numbers,
                      .data = heads.results,
                      .op0 = AluOp::multiply,
                      .operand0 = 0.0,
                      .op1 = AluOp::equal,
                      .operand1 = 0.0});
    for (const View& flags : {fine, numbers}) {
      k_.tensor_reduce({.dst = least, .op = AluOp::minimum, .data = flags.flatten_dims(1, 2), .axis = {1}});
      k_.tensor_tensor({.dst = fine_, .data1 = fine_, .data2 = least, .op = AluOp::minimum});
    }
    if (!c_.statistics) return;
    const View lse = k_.sbuf(heads.sums.shape(), f32);
    k_.activation({.dst = lse, .op = ActFn::log, .data = heads.sums});
    k_.tensor_scalar({.dst = lse, .data = lse, .op0 = AluOp::multiply, .operand0 = -1.0});
    for (std::int64_t lane = 0; lane < lanes_; ++lane)
      for_vector(t_.minus_lse.select(0, heads.first + lane), p_.rows,
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
  bool counted_ = false;            // values have a column of ones, whose product is the sum
  bool waits_for_weights_ = false;  // the scalar engine has more to do than the tensor engine
  std::vector<Piece> pieces_;       // of the head with that column, or of both heads
  std::vector<KeyChunk> chunks_;    // of all groups
  std::size_t started_ = 0;         // chunks of heads in a row
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
