// Mean and variance of rows in one pass: pieces of up to 512 elements by bn_stats, together by bn_aggr.
#include <algorithm>
#include <cmath>

#include "kiln/tensor/lower/region.h"
#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {

using isa::Index;
using isa::View;

namespace {
constexpr std::int64_t kResults = 6;       // of bn_stats
constexpr std::int64_t kShortestRow = 32;  // elements

// Elements of each of the pieces, about equal ones, in which n of them go.
std::int64_t piece_of_row(std::int64_t n, std::int64_t most) {
  const std::int64_t pieces = (n + most - 1) / most;
  return (n + pieces - 1) / pieces;
}
std::int64_t pieces_of_row(std::int64_t n, std::int64_t most) {
  const std::int64_t piece = piece_of_row(n, most);
  return (n + piece - 1) / piece;
}
}  // namespace

// A float seen through casts to other floats of the region; each of them goes into `casts`.
Value RegionEmitter::without_casts(Value v, std::vector<Value>* casts) const {
  while (fusion_.region_of[v] == region_ && graph_.op(v).code == OpCode::cast &&
         is_float(graph_.type(graph_.op(v).operands[0]).dtype) && is_float(graph_.type(v).dtype)) {
    if (casts) casts->push_back(v);
    v = graph_.op(v).operands[0];
  }
  return v;
}

// `total` = sum(square(x - sum(x) / n)) in the region, however floats are converted in between.
std::optional<RegionEmitter::Moments> RegionEmitter::moments_of(Value total) const {
  const auto here = [&](Value v, OpCode code) { return fusion_.region_of[v] == region_ && graph_.op(v).code == code; };
  Moments m{.squares = total};
  if (!here(total, OpCode::sum) || !reduces_all(total)) return {};
  const Value square = without_casts(graph_.op(total).operands[0], &m.consumed);
  if (!here(square, OpCode::square) || uses_[square] != 1) return {};
  m.centred = graph_.op(square).operands[0];
  if (!here(m.centred, OpCode::subtract)) return {};
  const Value minus = graph_.op(m.centred).operands[1], mean = without_casts(minus, &m.means);
  m.means.push_back(mean);
  if (!here(mean, OpCode::multiply)) return {};
  const auto factor = splat_of(graph_, graph_.op(mean).operands[1]);
  m.sum = graph_.op(mean).operands[0];
  if (!factor || !here(m.sum, OpCode::sum) || !reduces_all(m.sum) || uses_[m.sum] != 1) return {};
  const Value x = without_casts(graph_.op(m.sum).operands[0], nullptr);
  if (x != without_casts(graph_.op(m.centred).operands[0], nullptr) || !is_float(graph_.type(x).dtype)) return {};
  m.reader = m.sum;  // the op whose operand is x
  while (graph_.op(m.reader).operands[0] != x) m.reader = graph_.op(m.reader).operands[0];
  for (Value v = graph_.op(m.sum).operands[0]; v != x; v = graph_.op(v).operands[0]) {
    if (uses_[v] == 1) m.consumed.push_back(v);
  }
  m.consumed.push_back(square);  // the last one
  const auto rows = row_dims(graph_.type(x).shape, rows_of_region_);
  if (!rows) return {};
  m.n = product(graph_.type(x).shape, *rows, graph_.type(x).shape.size());
  const auto is_mean = [&](double f) { return std::abs(f * static_cast<double>(m.n) - 1) < 1e-5; };
  if (m.n < kShortestRow || !is_mean(*factor)) return {};
  const auto variance = users_[total].size() == 1 && uses_[total] == 1 ? users_[total][0] : total;
  if (variance != total && here(variance, OpCode::multiply)) {
    const auto by = splat_of(graph_, graph_.op(variance).operands[1]);
    if (by && is_mean(*by)) m.variances.push_back(variance);
    for (std::size_t i = 0; i < m.variances.size(); ++i) {  // and what it is converted to
      for (Value user : users_[m.variances[i]]) {
        if (without_casts(user, nullptr) == variance && user != variance) m.variances.push_back(user);
      }
    }
  }
  return m;
}

// Finds them. Who only squares what is centred does not read it any more.
void RegionEmitter::find_moments() {
  if (layout_.packed != 1 || !options_.moments) return;
  for (Value v : fusion_.regions[region_].ops) {
    const auto m = moments_of(v);
    if (!m) continue;
    std::erase(users_[m->centred], m->consumed.back());
    --uses_[m->centred];
    moments_.push_back(*m);
  }
}

bool RegionEmitter::is_left_out(Value v) const {
  return std::any_of(moments_.begin(), moments_.end(), [&](const Moments& m) {
    return v == m.sum || std::find(m.consumed.begin(), m.consumed.end(), v) != m.consumed.end();
  });
}

const RegionEmitter::Moments* RegionEmitter::made_by_moments(Value v) const {
  for (const Moments& m : moments_) {
    const auto has = [&](const std::vector<Value>& values) {
      return std::find(values.begin(), values.end(), v) != values.end();
    };
    if (v == m.squares || has(m.means) || has(m.variances)) return &m;
  }
  return nullptr;
}

// What bn_aggr leaves is the mean and the variance of a row: they stand for all that was asked for.
void RegionEmitter::take_moments(const Moments& m, const Tile& statistics, std::int64_t triples) {
  Tile both = new_tile(k_, Memory::sbuf, rows_, {1, {2}}, DType::float32);
  k_.bn_aggr({.dst = view_of(both, {{1, 2}}), .data = view_of(statistics, {{1, triples}})});
  if (layout_.parts > 1) both = moments_of_parts(both);
  const auto column = [&](Value v, std::int64_t at) {
    Tile t = both;
    t.offset = at;
    t.dims = Strided::contiguous(free_of(v).dims).dims;
    scopes_.back().values[v] = t;
  };
  for (Value v : m.means) column(v, 0);
  for (Value v : m.consumed) scopes_.back().consumed.insert(v);
  scopes_.back().consumed.insert(m.sum);
  for (Value v : m.variances) column(v, 1);
  if (!m.variances.empty()) {
    scopes_.back().consumed.insert(m.squares);
    return;
  }
  const Tile squares = new_tile(k_, Memory::sbuf, rows_, free_of(m.squares), DType::float32);
  Tile variance = both;
  variance.offset = 1;
  variance.dims = squares.dims;
  k_.tensor_scalar({.dst = column_of(squares),
                    .data = column_of(variance),
                    .op0 = AluOp::multiply,
                    .operand0 = static_cast<double>(m.n)});
  scopes_.back().values[m.squares] = squares;
}

// bn_stats of the elements of x that are there, from place `first` of the statistics on.
void RegionEmitter::add_statistics(const Moments& m, const Tile& statistics, const Index& first) {
  Tile x = operand(m.reader, 0);
  std::vector<Dims> one{x.dims};
  join_together(one);
  if (one[0].size() != 1) {
    const Free free{1, Strided{0, x.dims}.shape()};
    const Tile plain = new_tile(k_, Memory::sbuf, rows_, free, x.dtype());
    copy(plain, x, free);
    x = plain;
    one = {{{1, x.count()}}};
  }
  const std::int64_t n = one[0][0].count, stride = one[0][0].stride;
  const std::int64_t piece = piece_of_row(n, arch_.bn_stats_elements), full = n / piece;
  const auto add = [&](const Index& i, std::int64_t count) {
    k_.bn_stats({.dst = view_of(statistics, {{1, kResults}}, first + i * kResults),
                 .data = view_of(x, {{stride, count}}, i * (piece * stride))});
  };
  if (full == 1)
    add(0, piece);
  else
    k_.loop(full, [&](Index i) { add(i, piece); });
  if (n % piece) add(full, n % piece);
}

Tile RegionEmitter::compute_moments(Value v, const Tile* into) {
  const Moments& m = *made_by_moments(v);
  const std::int64_t results = pieces_of_row(m.n / layout_.parts, arch_.bn_stats_elements) * kResults;
  const Tile statistics = new_tile(k_, Memory::sbuf, rows_, {1, {results}}, DType::float32);
  add_statistics(m, statistics, 0);
  take_moments(m, statistics, results);
  const Tile out = scopes_.back().values.at(v);
  if (into) copy(*into, out, free_of(v));
  return into ? *into : out;
}

// The same of rows that go in pieces, all of them once.
void RegionEmitter::stream_moments(const Moments& m) {
  Cone cone;
  gather_cone(graph_.op(m.reader).operands[0], widest_, cone);
  prepare(cone);
  const std::int64_t columns = stream_tile_, whole = widest_ / columns, rest = widest_ % columns;
  const std::int64_t results = pieces_of_row(columns, arch_.bn_stats_elements) * kResults;
  const std::int64_t all = whole * results + (rest ? pieces_of_row(rest, arch_.bn_stats_elements) * kResults : 0);
  const Tile statistics = new_tile(k_, Memory::sbuf, rows_, {1, {all}}, DType::float32);
  const auto part = [&](const Index& i, std::int64_t n) {
    columns_ = Columns{widest_, n, i * columns};
    scopes_.emplace_back();
    add_statistics(m, statistics, i * results);
    scopes_.pop_back();
    columns_.reset();
  };
  k_.loop(whole, [&](Index i) { part(i, columns); });
  if (rest) part(whole, rest);
  take_moments(m, statistics, all);
}

}  // namespace kiln::tensor
