#include "kiln/tensor/passes/layout.h"

#include <algorithm>

#include "kiln/tensor/passes/rewrite.h"
#include "kiln/tensor/passes/row_sums.h"

namespace kiln::tensor {
namespace {

constexpr std::int64_t kLayoutLanes = 128;

}  // namespace

std::int64_t Layout::all_rows() const {
  std::int64_t n = partitions * packed;
  for (std::int64_t count : loops) n *= count;
  return rows > 0 ? rows : n;
}

Dims Layout::on_partitions(const Leaf& leaf, std::int64_t rows) const {
  if (grouped == 1 || rows <= grouped || leaf.group == grouped * leaf.partition) return {{leaf.partition, rows}};
  return {{leaf.group, rows / grouped}, {leaf.partition, grouped}};
}

int Layout::level(const Leaf& leaf) const {
  if (step(leaf) != 0 && units() > units_of(kLayoutLanes)) return body_level();
  for (std::size_t i = loops.size(); i-- > 0;) {
    if (leaf.loops[i] != 0) return static_cast<int>(i) + 1;
  }
  return 0;
}

namespace {

bool aligns(OpCode code) { return is_elementwise(code) || code == OpCode::where || code == OpCode::broadcast_to; }

class Layouter {
 public:
  Layouter(const Graph& graph, const Fusion& fusion, int region, const LayoutOptions& options)
      : graph_(graph), fusion_(fusion), region_(region), options_(options) {
    rows_ = options.rows ? options.rows : *fusion.regions[region].candidates.rbegin();
  }
  Layout run();

 private:
  void add_loads(Value v);
  void add_summed(Value sum, int operand);
  void add_store(const Store& store);
  void add(Leaf leaf, const Dims& row_part, std::pair<Value, int> user);
  void add_part(Dims& row_part, Dims& free, std::size_t at) const;
  bool split_rows();
  std::size_t partition_dim() const;
  std::optional<std::size_t> group_dim(std::size_t at) const;
  std::optional<std::size_t> rows_beside_parts() const;
  bool can_group() const;
  void block_rows();
  void make_groups(std::int64_t count);
  void add_rest(std::int64_t first, std::int64_t count);

  const Graph& graph_;
  const Fusion& fusion_;
  int region_;
  LayoutOptions options_;
  std::int64_t rows_ = 1;
  Layout out_;
  std::vector<Leaf*> leaves() {
    std::vector<Leaf*> all;
    for (Leaf& l : out_.loads) all.push_back(&l);
    for (Leaf& l : out_.stores) all.push_back(&l);
    return all;
  }
  std::vector<Dims> row_parts_;  // of the loads, then of the stores
  std::vector<Dims> store_parts_;
};

// The first dimension behind the rows, of which each part lies on a partition of its own.
void Layouter::add_part(Dims& row_part, Dims& free, std::size_t at) const {
  const bool varies = at < free.size() && free[at].count > 1;
  const std::int64_t length = varies ? free[at].count / options_.parts : 0;
  row_part.push_back({varies ? free[at].stride * length : 0, options_.parts});
  if (varies) free[at].count = length;
}

// An operand: the row dimensions of the shape that it is seen in, and its own free dimensions.
void Layouter::add_loads(Value v) {
  const Op& op = graph_.op(v);
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    const Value operand = op.operands[i];
    const bool is_matrix = is_product(op.code) && i == 1, is_table = op.code == OpCode::gather_rows && i == 0;
    if (fusion_.region_of[operand] == region_ && !is_matrix) continue;
    if (splat_of(graph_, operand) || is_table) continue;
    const Source source = source_of(graph_, fusion_, operand);
    const Dims& own = source.access.dims;
    const bool seen_in_result = aligns(op.code) || is_matrix;
    const Shape& seen = seen_in_result ? op.type.shape : graph_.type(operand).shape;
    const std::size_t p = is_matrix ? seen.size() - 1 : *row_dims(seen, rows_), skip = seen.size() - own.size();
    Leaf leaf{.value = operand, .base = source.base, .offset = source.access.offset, .is_matrix = is_matrix};
    Dims row_part;
    for (std::size_t d = 0; d < p; ++d) {
      const bool varies = d >= skip && own[d - skip].count != 1 && !(is_matrix && d + 1 == p);
      row_part.push_back(varies ? own[d - skip] : isa::Dim{0, seen[d]});
    }
    if (is_matrix) {
      leaf.free = {own[own.size() - 2], own[own.size() - 1]};
    } else {
      for (std::size_t d = 0; d < own.size(); ++d) leaf.free.push_back(d + skip < p ? isa::Dim{0, 1} : own[d]);
    }
    if (options_.parts > 1) add_part(row_part, leaf.free, p - skip);  // skipped ones do not vary: past the end
    add(std::move(leaf), row_part, {v, static_cast<int>(i)});
  }
}

// What a sum over rows has of each row, where it is not of the region.
void Layouter::add_summed(Value sum, int operand) {
  const auto v = summed_rows(graph_, sum, operand);
  if (!v || fusion_.region_of[*v] == region_) return;
  const Source source = source_of(graph_, fusion_, *v);
  const Dims& own = source.access.dims;
  const auto p = static_cast<std::ptrdiff_t>(*row_dims(graph_.type(*v).shape, rows_));
  Leaf leaf{.value = *v, .base = source.base, .offset = source.access.offset};
  leaf.free.assign(static_cast<std::size_t>(p), isa::Dim{0, 1});
  leaf.free.insert(leaf.free.end(), own.begin() + p, own.end());
  add(std::move(leaf), Dims(own.begin(), own.begin() + p), {sum, operand});
}

void Layouter::add(Leaf leaf, const Dims& row_part, std::pair<Value, int> user) {
  for (std::size_t i = 0; i < out_.loads.size(); ++i) {  // the same operand of two ops is loaded once
    const Leaf& other = out_.loads[i];
    if (other.value == leaf.value && row_parts_[i] == row_part && other.free == leaf.free &&
        other.is_matrix == leaf.is_matrix) {
      out_.load_of[user] = static_cast<int>(i);
      return;
    }
  }
  out_.load_of[user] = static_cast<int>(out_.loads.size());
  out_.loads.push_back(std::move(leaf));
  row_parts_.push_back(row_part);
}

void Layouter::add_store(const Store& store) {
  const Shape& shape = graph_.type(store.value).shape;
  const Strided access = store.access ? *store.access : Strided::contiguous(shape);
  const std::size_t p = *row_dims(shape, rows_);
  Leaf leaf{
      .value = store.value, .base = store.into.value_or(store.value), .output = store.output, .offset = access.offset};
  for (std::size_t d = 0; d < shape.size(); ++d) leaf.free.push_back(d < p ? isa::Dim{0, 1} : access.dims[d]);
  Dims row_part(access.dims.begin(), access.dims.begin() + static_cast<std::ptrdiff_t>(p));
  if (options_.parts > 1) add_part(row_part, leaf.free, p);
  out_.stores.push_back(std::move(leaf));
  store_parts_.push_back(std::move(row_part));
}

// The extents into which rows fall so that every leaf moves by fixed strides, `innermost` of them together; nothing
// when there are none.
std::optional<Shape> refined(const std::vector<Dims>& parts, std::int64_t rows, std::int64_t innermost) {
  std::set<std::int64_t> cuts{1, rows, innermost};
  for (const Dims& part : parts) {
    std::vector<Dims> alone{part};
    join_together(alone);
    std::int64_t n = 1;
    for (std::size_t i = alone[0].size(); i-- > 0;) cuts.insert(n *= alone[0][i].count);
  }
  Shape out;
  std::int64_t last = 1;
  for (std::int64_t cut : cuts) {
    if (cut % last != 0) return {};
    if (cut != last) out.insert(out.begin(), cut / last);
    last = cut;
  }
  return out;
}

bool Layouter::split_rows() {
  std::vector<Dims> parts = row_parts_;
  parts.insert(parts.end(), store_parts_.begin(), store_parts_.end());
  const auto extents = refined(parts, rows_ * options_.parts, options_.parts);
  if (!extents) return false;
  for (Dims& part : parts) {
    const auto s = reshaped({0, part}, *extents);
    if (!s) return false;
    part = s->dims;
  }
  std::vector<isa::Dim> innermost;  // parts of rows stay by themselves
  for (Dims& part : parts) {
    if (options_.parts > 1) innermost.push_back(part.back()), part.pop_back();
  }
  if (!parts.empty()) join_together(parts);
  for (std::size_t l = 0; l < innermost.size(); ++l) parts[l].push_back(innermost[l]);
  if (parts.empty() || parts[0].empty()) parts.assign(std::max<std::size_t>(1, parts.size()), {{0, 1}});
  row_parts_ = parts;
  return true;
}

// Of the dimensions of rows the one that fills partitions best; a matrix does not move with it.
std::size_t Layouter::partition_dim() const {
  std::size_t best = row_parts_[0].size();
  double most = -1;
  for (std::size_t d = 0; d < row_parts_[0].size(); ++d) {
    bool allowed = true;
    for (std::size_t l = 0; l < out_.loads.size(); ++l)
      allowed = allowed && !(out_.loads[l].is_matrix && row_parts_[l][d].stride != 0);
    const std::int64_t n = row_parts_[0][d].count, blocks = (n + 127) / 128;
    const double filled = static_cast<double>(n) / static_cast<double>(blocks);
    if (allowed && filled >= most) {
      most = filled;
      best = d;
    }
  }
  return best;
}

// Single elements that lie apart are turned, which takes rows at one stride.
bool Layouter::can_group() const {
  const auto is_run = [](const Leaf& leaf) {
    std::vector<Dims> one{leaf.free};
    join_together(one);
    return one[0].empty() || one[0].back().stride <= 1 || one[0].back().count == 1;
  };
  return is_plain(graph_, fusion_.regions[region_]) && std::all_of(out_.loads.begin(), out_.loads.end(), is_run) &&
         std::all_of(out_.stores.begin(), out_.stores.end(), is_run);
}

// Another dimension of rows that lies on partitions beside one which does not fill them.
std::optional<std::size_t> Layouter::group_dim(std::size_t at) const {
  const std::int64_t grouped = row_parts_[0][at].count / options_.packed;
  if (!options_.groups || options_.units > 0 || 2 * grouped > kLayoutLanes || !can_group()) return {};
  std::optional<std::size_t> best;
  for (std::size_t d = 0; d < row_parts_[0].size(); ++d) {
    if (d != at && (!best || row_parts_[0][d].count > row_parts_[0][*best].count)) best = d;
  }
  return best;
}

// The dimension of rows whose parts fill partitions best.
std::optional<std::size_t> Layouter::rows_beside_parts() const {
  const std::int64_t most = kLayoutLanes / options_.parts;
  std::optional<std::size_t> best;
  double filled = 0;
  for (std::size_t d = 0; d + 1 < row_parts_[0].size(); ++d) {
    const std::int64_t n = row_parts_[0][d].count, blocks = (n + most - 1) / most;
    const double now = static_cast<double>(n) / static_cast<double>(blocks);
    if (now >= filled) filled = now, best = d;
  }
  return best;
}

Layout Layouter::run() {
  for (Value v : fusion_.regions[region_].ops) add_loads(v);
  for (Value v : fusion_.regions[region_].sums) add_summed(v, 0), add_summed(v, 1);
  for (const Store& s : fusion_.stores[region_]) add_store(s);
  if (!split_rows()) {
    out_.is_possible = false;
    return std::move(out_);
  }
  const bool in_parts = options_.parts > 1;
  const std::size_t at = in_parts ? row_parts_[0].size() - 1 : partition_dim();
  if (at == row_parts_[0].size()) {  // only matrices move with rows: one row at a time
    for (Dims& part : row_parts_) part.push_back({0, 1});
  }
  const std::optional<std::size_t> over = in_parts                     ? rows_beside_parts()
                                          : at == row_parts_[0].size() ? std::nullopt
                                                                       : group_dim(at);
  for (std::size_t d = 0; d < row_parts_[0].size(); ++d) {
    if (d != at && d != over) out_.loops.push_back(row_parts_[0][d].count);
  }
  out_.partitions = row_parts_[0][at].count;
  const std::int64_t rows = out_.partitions, covered = options_.units * options_.packed;
  if (covered > 0 && covered <= rows) {
    out_.packed = options_.packed;
    out_.partitions = options_.units;
  } else if (options_.packed > 1 && out_.partitions % options_.packed == 0) {
    out_.packed = options_.packed;
    out_.partitions /= out_.packed;
  }
  const auto all = leaves();
  for (std::size_t l = 0; l < all.size(); ++l) {
    for (std::size_t d = 0; d < row_parts_[l].size(); ++d) {
      if (d != at && d != over) all[l]->loops.push_back(row_parts_[l][d].stride);
    }
    all[l]->packed = row_parts_[l][at].stride;
    all[l]->partition = all[l]->packed * out_.packed;
    if (over) all[l]->group = row_parts_[l][*over].stride;
  }
  if (in_parts) out_.parts = out_.grouped = out_.partitions, out_.rows = rows_;
  if (over)
    make_groups(row_parts_[0][*over].count);
  else if (!in_parts)
    block_rows();
  for (Leaf& leaf : out_.loads) leaf.for_products = !leaf.is_matrix;
  for (const auto& [user, load] : out_.load_of) {
    if (is_product(graph_.op(user.first).code))
      out_.multiplies.insert(user.first);
    else
      out_.loads[load].for_products = false;
  }
  if (covered > 0 && covered < rows) add_rest(covered, rows - covered);
  out_.footprints = footprints(graph_, out_);
  return std::move(out_);
}

// The partitions there are so far become a group, of which there are `count`.
void Layouter::make_groups(std::int64_t count) {
  out_.grouped = out_.partitions;
  out_.partitions *= count;
  if (out_.grouped > 1) return;
  for (Leaf* leaf : leaves()) leaf->partition = leaf->group;  // all of the first dimension is on one partition
}

// The rows that are left, one on each partition.
void Layouter::add_rest(std::int64_t first, std::int64_t count) {
  out_.rows = rows_;
  Layout rest = out_;
  rest.partitions = count, rest.packed = 1;
  for (auto* leaves : {&rest.loads, &rest.stores}) {
    for (Leaf& leaf : *leaves) leaf.offset += first * leaf.packed, leaf.partition = leaf.packed;
  }
  rest.footprints = footprints(graph_, rest);
  out_.rest.push_back(std::move(rest));
}

// Blocks of rows as the outermost loop where some operand is one value for each of them and all others are loops inside
// it: such as a factor per channel, which is then loaded once for a block of channels.
void Layouter::block_rows() {
  constexpr std::int64_t kMost = 128, kFewest = 96;
  std::int64_t size = std::min(kMost, out_.partitions - 1);
  while (size > kFewest && out_.partitions % size) --size;
  if (out_.loops.empty() || out_.partitions <= kMost || out_.packed != 1 || out_.partitions % size) return;
  const auto is_one = [](const isa::Dim& d) { return d.count == 1 || d.stride == 0; };
  const auto stays = [&](const Leaf& leaf) {
    return !leaf.is_matrix && leaf.partition != 0 && std::all_of(leaf.free.begin(), leaf.free.end(), is_one) &&
           std::all_of(leaf.loops.begin(), leaf.loops.end(), [](std::int64_t step) { return step == 0; });
  };
  const auto is_matrix = [](const Leaf& leaf) { return leaf.is_matrix; };
  if (std::none_of(out_.loads.begin(), out_.loads.end(), stays)) return;
  if (std::any_of(out_.loads.begin(), out_.loads.end(), is_matrix)) return;
  out_.loops.insert(out_.loops.begin(), out_.partitions / size);
  out_.partitions = size;
  for (Leaf* leaf : leaves()) leaf->loops.insert(leaf->loops.begin(), leaf->partition * size);
}

}  // namespace

const Footprint* Layout::footprint(int load) const {
  for (const Footprint& f : footprints) {
    if (std::find(f.loads.begin(), f.loads.end(), load) != f.loads.end()) return &f;
  }
  return nullptr;
}

bool is_plain(const Graph& graph, const Region& region) {
  if (!region.sums.empty()) return false;  // of the blocks of one walk over all rows
  return std::all_of(region.ops.begin(), region.ops.end(), [&](Value v) {
    const OpCode code = graph.op(v).code;
    return aligns(code) || is_view(code) || code == OpCode::cast || code == OpCode::sort || code == OpCode::deal ||
           (code >= OpCode::sum && code <= OpCode::min);
  });
}

std::optional<SpreadRow> Layout::spread_of_load(int load) const {
  for (const auto& [user, index] : load_of) {
    const auto it = index == load && !multiplies.contains(user.first) ? spread.find(user.first) : spread.end();
    if (it != spread.end()) return it->second;
  }
  return {};
}

Layout layout(const Graph& graph, const Fusion& fusion, int region, const LayoutOptions& options) {
  return Layouter(graph, fusion, region, options).run();
}

}  // namespace kiln::tensor
