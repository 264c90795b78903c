#include "kiln/tensor/lower/region.h"

#include <fmt/format.h>

#include <algorithm>

#include "kiln/tensor/ir/rules.h"
#include "kiln/tensor/ir/weak.h"
#include "kiln/tensor/lower/heads_together.h"
#include "kiln/tensor/lower/interleave.h"
#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {

using isa::Index;

namespace {
constexpr std::int64_t kPiece = 512;  // columns of a product that are finished and stored together
}

RegionEmitter::RegionEmitter(isa::Kernel& k, const Graph& graph, const Fusion& fusion, int region, const Layout& layout,
                             Storage& storage, const Arch& arch, const RegionOptions& options)
    : k_(k),
      graph_(graph),
      fusion_(fusion),
      region_(region),
      layout_(layout),
      storage_(storage),
      arch_(arch),
      options_(options),
      uses_(graph.uses()),
      users_(graph.size()) {
  rows_of_region_ = layout.all_rows();
  for (Value v : fusion.regions[region].ops) {
    for (Value operand : graph.op(v).operands) users_[operand].push_back(v);
    widest_ = std::max(widest_, product(free_of(v).dims));
  }
  for (const Leaf& leaf : layout.loads) {
    std::int64_t n = leaf.is_matrix ? 0 : 1;
    for (const isa::Dim& d : leaf.free) n *= d.count;
    widest_ = std::max(widest_, n);
  }
}

void RegionEmitter::not_yet(Value v, const std::string& what) const {
  raise(rules::kTable, rules::kNotYet,
        {.found = fmt::format("not yet: {} ({})", what, to_string(graph_.type(v))),
         .loc = graph_.loc(graph_.op(v)),
         .category = Category::not_yet});
}

void RegionEmitter::emit() {
  scopes_.emplace_back();
  rows_ = std::min<std::int64_t>(layout_.partitions, layout_.units_of(arch_.partitions) * layout_.grouped);
  for (const Leaf& leaf : layout_.stores) {  // rows that are put together from all loops
    KeptShape shape;
    if (leaf.output >= 0 || !storage_.residency.kept.contains(leaf.value)) continue;
    const DType t = graph_.type(leaf.value).dtype;
    if (const KeptShape* in_blocks = kept_blocks(leaf.value)) {
      storage_.kept[leaf.value] =
          new_tile(k_, Memory::sbuf, in_blocks->rows, {1, {in_blocks->blocks * in_blocks->pitch()}}, t);
      continue;
    }
    KILN_ASSERT(can_keep(layout_, leaf, graph_.type(leaf.value).size(), shape));
    storage_.kept[leaf.value] = new_tile(k_, Memory::sbuf, shape.rows, {1, {shape.row}}, t);
  }
  for (Value v : fusion_.regions[region_].ops) {
    if (!attention_) attention_ = attention_of(v);
  }
  for (Value v : fusion_.regions[region_].ops) {
    if (is_product(graph_.op(v).code)) depths_[v] = find_depth(v);
  }
  if (layout_.spread.empty()) find_moments();
  make_ones_of_parts();
  make_scratch();
  make_ramps();
  find_row_sums();
  if (auto together = heads_together()) {
    emit_heads_together(*together);
  } else if (attention_ && goes_unshifted(*attention_)) {
    emit_unshifted();
  } else if (!layout_.spread.empty()) {
    scopes_.emplace_back();
    emit_spread();
    scopes_.pop_back();
  } else {
    hoist(0);
    nest(0);
  }
  store_row_sums();
  for (const Leaf& leaf : layout_.stores) {
    if (leaf.output >= 0 || !storage_.residency.kept.contains(leaf.value)) continue;
    if (storage_.residency.unstored.contains(leaf.value)) continue;
    const Tile& tile = storage_.kept.at(leaf.value);
    const std::int64_t row = tile.count();
    const isa::View& hbm = storage_.of.at(leaf.value);
    const bool turned = storage_.residency.turned.contains(leaf.value);
    if (turned && row > 1 && row <= kBlock && arch_.features.tensor_transpose_mode) {  // rows again: long runs
      const isa::View back = k_.psum({row, tile.rows}, tile.dtype()), rows = k_.sbuf({row, tile.rows}, tile.dtype());
      k_.nc_transpose({.dst = back, .data = view_of(tile, {{1, row}})});
      k_.tensor_copy({.dst = rows, .src = back, .engine = evacuator()});
      k_.dma_copy({.dst = hbm.ap({{tile.rows, row}, {1, tile.rows}}, storage_.begin(leaf.value)), .src = rows});
      continue;
    }
    const isa::Dim partition{turned ? 1 : row, tile.rows}, along{turned ? tile.rows : 1, row};
    k_.dma_copy({.dst = hbm.ap({partition, along}, storage_.begin(leaf.value)), .src = view_of(tile, {{1, row}})});
  }
  scopes_.pop_back();
}

void RegionEmitter::hold(const std::set<Value>& unchanged, std::int64_t& left) {
  for (Value v : fusion_.regions[region_].ops) {
    if (attention_of(v)) return;  // which loads its matrices in its own ways
  }
  scopes_.emplace_back();
  rows_ = std::min<std::int64_t>(layout_.partitions, arch_.partitions);
  for (std::size_t i = 0; i < layout_.loads.size(); ++i) {
    const Leaf& leaf = layout_.loads[i];
    if (!leaf.is_matrix || !unchanged.contains(leaf.base) || layout_.level(leaf) != 0 || kept(leaf)) continue;
    const std::int64_t blocks = (leaf.free[0].count + kBlock - 1) / kBlock;
    const std::int64_t bytes = blocks * leaf.free[1].count * size_bytes(graph_.type(leaf.value).dtype);
    if (bytes > left) continue;
    left -= bytes;
    storage_.held[{region_, static_cast<int>(i)}] = load_matrix(static_cast<int>(i), 0, leaf.free[1].count);
  }
  scopes_.pop_back();
}

// Where a leaf lies in a row that is kept: without the rows before it, but with the blocks of rows before it.
Index RegionEmitter::place_in_row(const Leaf& leaf) const {
  Index at = leaf.offset;
  for (std::size_t i = 0; i < at_.size(); ++i) at += at_[i] * leaf.loops[i];
  const KeptShape* in_blocks = leaf.is_matrix ? nullptr : kept_blocks(leaf.base);
  return in_blocks ? at + start_ * (in_blocks->pitch() / kBlock) : at;
}

const KeptShape* RegionEmitter::kept_blocks(Value base) const {
  const auto it = storage_.residency.in_blocks.find(base);
  return it == storage_.residency.in_blocks.end() ? nullptr : &it->second;
}

const Tile* RegionEmitter::kept(const Leaf& leaf) const {
  return kept_shape(leaf) ? &storage_.kept.at(leaf.base) : nullptr;
}

// How a result of another region that a leaf finds lies in SBUF.
std::optional<KeptShape> RegionEmitter::kept_shape(const Leaf& leaf) const {
  const auto it = storage_.kept.find(leaf.base);
  if (it == storage_.kept.end()) return {};
  if (const KeptShape* in_blocks = kept_blocks(leaf.base)) return *in_blocks;
  const KeptShape shape{it->second.rows, it->second.count(), storage_.residency.turned.contains(leaf.base)};
  return finds(layout_, leaf, shape) ? std::optional(shape) : std::nullopt;
}

// Where a result that stays lies in its row.
Tile RegionEmitter::place_of_kept(const Leaf& leaf, Tile dst) const {
  dst.offset = place_in_row(leaf);
  dst.dims = leaf.free;
  dst.rows = rows_;
  if (columns_ && !dst.dims.empty() && dst.dims.back().count == columns_->extent) {
    dst.offset += columns_->start * dst.dims.back().stride;
    dst.dims.back().count = columns_->size;
  }
  return dst;
}

// The row of a result that stays in SBUF, for other regions or the next pass.
const Tile* RegionEmitter::kept_result(const Leaf& leaf) const {
  if (leaf.output >= 0) {
    const auto state = storage_.kept_outputs.find(leaf.output);
    return state == storage_.kept_outputs.end() ? nullptr : &state->second;
  }
  return storage_.residency.kept.contains(leaf.value) ? &storage_.kept.at(leaf.value) : nullptr;
}

void RegionEmitter::nest(std::size_t loop) {
  if (loop == layout_.loops.size()) {
    if (unshifted_) return over_query_groups(*attention_);
    const bool plain = !row_sums_.empty();  // whose blocks come one by one
    if (const std::int64_t together = plain ? 1 : blocks_together(); together > 1) return over_row_blocks(together);
    if (attention_ && attention_->ahead) return over_causal_groups(*attention_);
    if (const std::int64_t together = plain ? 1 : wide_blocks(); together > 1) return over_wide_blocks(together);
    if (const std::int64_t together = plain ? 1 : turned_together(); together > 1) return over_turned_groups(together);
    if (const std::int64_t beside = plain ? 1 : blocks_side_by_side(); beside > 1)
      return over_blocks_side_by_side(beside);
    k_.tiles(layout_.units(), layout_.units_of(arch_.partitions),
             [&](Index start, std::int64_t n) { body(start, n * layout_.grouped); });
    return;
  }
  if (loop + 1 == layout_.loops.size()) {
    if (const std::int64_t together = passes_together(); together > 1) return over_passes_together(together);
  }
  const auto pass = [&](const Index& i) {
    at_.push_back(i);
    scopes_.emplace_back();
    hoist(static_cast<int>(loop) + 1);
    nest(loop + 1);
    scopes_.pop_back();
    at_.pop_back();
  };
  if (unshifted_ && unshifted_->term && layout_.loops.size() == 1) return over_heads_of_term(pass);
  const bool heads = attention_ && attention_->few && loop + 1 == layout_.loops.size();
  if (heads && layout_.loops[loop] % 2 == 0 && options_.few_beside) return over_few_beside(loop, pass);
  k_.loop(layout_.loops[loop], pass);
}

std::int64_t RegionEmitter::blocks_side_by_side() const {
  const std::vector<Value>& ops = fusion_.regions[region_].ops;
  const bool products = std::any_of(ops.begin(), ops.end(), [&](Value v) { return is_product(graph_.op(v).code); });
  const std::int64_t blocks = products ? options_.products_beside : options_.side_by_side;
  if (attention_ || layout_.partitions <= arch_.partitions || blocks <= 1) return 1;
  const bool fits = std::all_of(ops.begin(), ops.end(), [&](Value v) {
    const OpCode code = graph_.op(v).code;
    return is_elementwise(code) || is_view(code) || code == OpCode::where || code == OpCode::cast ||
           code == OpCode::take_along_axis || is_search(code) || is_product(code) ||
           (code >= OpCode::sum && code <= OpCode::min);
  });
  return fits ? blocks : 1;
}

// Several blocks in one pass: an engine that waits in one of them works on another.
void RegionEmitter::over_blocks_side_by_side(std::int64_t blocks) {
  const std::int64_t block = layout_.units_of(arch_.partitions);
  k_.tiles(layout_.units(), blocks * block, [&](Index start, std::int64_t all) {
    std::vector<std::size_t> begins;
    for (std::int64_t first = 0; first < all; first += block) {
      begins.push_back(k_.block().size());
      body(start + first, std::min(block, all - first) * layout_.grouped);
    }
    interleave(k_.program(), k_.block(), begins, arch_);
  });
}

void RegionEmitter::body(Index start, std::int64_t rows) {
  start_ = start;
  const std::int64_t outer = rows_;
  rows_ = rows;
  scopes_.emplace_back();
  if (attention_) attend(*attention_);
  add_rows();
  store_all();
  scopes_.pop_back();
  rows_ = outer;
}

void RegionEmitter::store_all() {
  if (streams()) return stream();
  std::map<std::int64_t, std::vector<const Leaf*>> by_columns;  // stores that go piece by piece, by their width
  for (const Leaf& leaf : layout_.stores) {
    const std::int64_t n = graph_.type(leaf.value).shape.empty() ? 1 : graph_.type(leaf.value).shape.back();
    const Tile* row = kept_result(leaf);
    const auto result = pass_results_.find(&leaf);
    if (result != pass_results_.end() && !find(leaf.value) && result->second.dtype() == tile_dtype(leaf.value)) {
      store(leaf, value(leaf.value, &result->second));
    } else if (goes_in_pieces(leaf.value, n)) {
      by_columns[n].push_back(&leaf);
    } else if (row && !find(leaf.value) && row->dtype() == tile_dtype(leaf.value)) {
      const Tile there = place_of_kept(leaf, *row);
      store(leaf, value(leaf.value, &there));
    } else {
      store(leaf, value(leaf.value));
    }
  }
  for (const auto& [n, leaves] : by_columns) store_pieces(n, piece_of(n, kPiece, leaves), leaves);
}

namespace {

// The piece of a tile that columns name.
Tile narrowed(Tile tile, const Columns& columns) {
  if (tile.dims.empty() || tile.dims.back().count != columns.extent) return tile;
  tile.offset += columns.start * tile.dims.back().stride;
  tile.dims.back().count = columns.size;
  return tile;
}

}  // namespace

const Tile* RegionEmitter::find(Value v) const {
  for (std::size_t i = scopes_.size(); i-- > 0;) {
    const auto it = scopes_[i].values.find(v);
    if (it != scopes_[i].values.end()) return &it->second;
  }
  return nullptr;
}

bool RegionEmitter::is_done(Value v) const {
  const auto has = [&](const Scope& s) { return s.consumed.contains(v); };
  return find(v) || std::any_of(scopes_.begin(), scopes_.end(), has);
}

// How many readers a value has before it that are not there yet: itself, or where it is another view of a tile, those
// of the view.
int RegionEmitter::still_to_read(Value v) const {
  const OpCode code = graph_.op(v).code;
  const bool shares = is_view(code) || code == OpCode::cast || code == OpCode::bitcast;
  if (!is_done(v)) return 1;
  if (!shares) return 0;
  int left = uses_[v] == static_cast<int>(users_[v].size()) ? 0 : 1;  // it is stored, later
  for (Value u : users_[v]) left += still_to_read(u);
  return left;
}

// Operand i of an op, from the region or from HBM.
Tile RegionEmitter::operand(Value op, std::size_t i) {
  const Value v = graph_.op(op).operands[i];
  if (fusion_.region_of[v] == region_) return value(v);
  const auto leaf = layout_.load_of.find({op, static_cast<int>(i)});
  if (leaf == layout_.load_of.end()) {
    const auto number = splat_of(graph_, v);
    KILN_ASSERT(number.has_value());
    const Free one{1, Shape(graph_.type(v).rank(), 1)};
    const Tile t = new_tile(k_, Memory::sbuf, rows_, one, tile_dtype(v));
    fill(t, one, *number);
    return t;
  }
  for (std::size_t s = scopes_.size(); s-- > 0;) {
    const auto it = scopes_[s].leaves.find(leaf->second);
    if (it == scopes_[s].leaves.end()) continue;
    Tile tile = columns_ && s + 1 < scopes_.size() ? narrowed(it->second, *columns_) : it->second;
    tile.rows = rows_;
    return tile;
  }
  const bool number = graph_.type(v).size() == 1 && !layout_.spread.empty() && is_float(graph_.type(v).dtype);
  const SpreadRow* s = spread_of(op);
  if (number || (s && !layout_.multiplies.contains(op))) {
    const SpreadRow all{arch_.partitions, false};
    Tile tile = scopes_.back().leaves[leaf->second] = load_spread(leaf->second, number ? all : *s);
    tile.rows = rows_;
    return tile;
  }
  return scopes_.back().leaves[leaf->second] = load(leaf->second);
}

RegionEmitter::Given RegionEmitter::given(Value op, std::size_t i) {
  if (const auto number = splat_of(graph_, graph_.op(op).operands[i])) return {number, {}};
  return {{}, operand(op, i)};
}

// Every value on as many partitions as it lies on; of those that are the same on all, as many as are asked for.
Tile RegionEmitter::value(Value v, const Tile* into) {
  if (layout_.spread.empty()) return value_in_rows(v, into);
  const std::int64_t asked = rows_;
  rows_ = partitions_of(v);
  Tile tile = value_in_rows(v, into);
  rows_ = asked;
  if (graph_.type(v).shape.empty() || graph_.type(v).shape.back() == 1) tile.rows = std::min(tile.rows, asked);
  return tile;
}

Tile RegionEmitter::value_in_rows(Value v, const Tile* into) {
  for (std::size_t i = scopes_.size(); i-- > 0;) {
    const auto it = scopes_[i].values.find(v);
    if (it == scopes_[i].values.end()) continue;
    const Tile tile = columns_ && i + 1 < scopes_.size() ? narrowed(it->second, *columns_) : it->second;
    if (into) copy(*into, tile, free_of(v));
    return into ? *into : tile;
  }
  const Value asked_by = now_;
  comes_from(v);
  const Tile tile = compute(v, into);
  scopes_.back().values[v] = tile;
  if (!into && made_by_[tile.storage.tensor()] != 0 && !is_view(graph_.op(v).code) &&
      graph_.op(v).code != OpCode::cast && graph_.op(v).code != OpCode::bitcast)
    made_by_[tile.storage.tensor()] = v + 1;
  comes_from(asked_by);
  return tile;
}

// Instructions tell the place of the op that they are made for.
void RegionEmitter::comes_from(Value v) {
  now_ = v;
  const Value from = v == kScalar ? fusion_.regions[region_].ops.back() : v;
  k_.at(k_.program().add_loc(graph_.loc(graph_.op(from))));
}

Tile RegionEmitter::compute(Value v, const Tile* into) {
  const Op& op = graph_.op(v);
  if (spread_of(v) && (is_product(op.code) || is_part_of_product(graph_, fusion_, v))) {
    const Tile t = multiply_spread(v);
    if (into) copy(*into, t, free_of(v));
    return into ? *into : t;
  }
  if (op.code == OpCode::sum && is_summed_across(op.operands[0], op.type)) {
    const Tile t = sum_spread(v);
    if (into) copy(*into, t, free_of(v));
    return into ? *into : t;
  }
  if (made_by_moments(v)) return compute_moments(v, into);
  if (is_elementwise(op.code)) return elementwise(v, into);
  switch (op.code) {
    case OpCode::where:
      return choose(v, into);
    case OpCode::cast:
      return cast(v, into);
    case OpCode::bitcast:
      return reinterpret(v, into);
    case OpCode::sum:
    case OpCode::prod:
    case OpCode::max:
    case OpCode::min:
      return reduce(v, into);
    case OpCode::argmax:
    case OpCode::argmin:
      return locate(v, into);
    case OpCode::cumsum:
    case OpCode::cumprod:
    case OpCode::cummax:
    case OpCode::cummin:
    case OpCode::linear_scan:
      return scan(v, into);
    case OpCode::take_along_axis:
      return take_along(v, into);
    case OpCode::put_along_axis:
      return put_along(v, into);
    case OpCode::argsort:
      return order(v, into);
    case OpCode::sort:
      return sorted(v, into);
    case OpCode::deal:
      return dealt(v, into);
    case OpCode::top_k_indices:
      return largest(v, into);
    case OpCode::matmul:
    case OpCode::matmul_f32:
      return multiply(v, into);
    case OpCode::concat:
      return join(v, into);
    case OpCode::gather_rows:
      return gather(v, into);
    case OpCode::exchange:
      return exchange(v, into);
    case OpCode::pair_gather:
      return gather_halves(v, into);
    case OpCode::reshape:
    case OpCode::transpose:
    case OpCode::broadcast_to:
    case OpCode::slice: {
      const Tile t = view(v);
      if (into) copy(*into, t, free_of(v));
      return into ? *into : t;
    }
    default:
      not_yet(v, std::string(name(op.code)));
  }
}

Free RegionEmitter::free_of(const Shape& shape, std::size_t row_dims_of) const {
  Free out{layout_.packed, {}};
  out.dims.reserve(shape.size());
  for (std::size_t d = 0; d < shape.size(); ++d) out.dims.push_back(d < row_dims_of ? 1 : shape[d]);
  if (row_dims_of < shape.size() && shape[row_dims_of] > 1) out.dims[row_dims_of] /= layout_.parts;
  if (columns_ && !out.dims.empty() && out.dims.back() == columns_->extent) out.dims.back() = columns_->size;
  return out;
}

// Of a value of the region: its rows are in front.
Free RegionEmitter::free_of(Value v) const {
  const Shape& shape = graph_.type(v).shape;
  const auto p = row_dims(shape, rows_of_region_);
  KILN_ASSERT(p.has_value());
  Free out = free_of(shape, *p);
  if (const SpreadRow* s = spread_of(v)) {
    Dims dims = Strided::contiguous(shape).dims;
    take_partitions(dims, *s);
    out.dims = Strided{0, dims}.shape();
  }
  return out;
}

bool RegionEmitter::is_column(Value v) const {
  if (splat_of(graph_, v)) return true;
  if (fusion_.region_of[v] == region_) return layout_.packed == 1 && product(free_of(v).dims) == 1;
  for (const Leaf& leaf : layout_.loads) {
    if (leaf.value != v) continue;
    if (layout_.packed != 1 && leaf.packed != 0) return false;  // one for each row that follows on a partition
    std::int64_t n = 1;
    for (const isa::Dim& d : leaf.free) n *= d.stride == 0 ? 1 : d.count;
    const auto s = layout_.spread_of_load(static_cast<int>(&leaf - layout_.loads.data()));
    return n == 1 || (s && n == s->partitions);
  }
  return false;
}

// One value per row stays in float32: it is what rows are scaled and shifted by. Truth is a byte.
DType RegionEmitter::tile_dtype(Value v) const {
  const DType t = graph_.type(v).dtype;
  if (t == DType::bool_) return DType::uint8;
  std::int64_t n = 1;
  if (!layout_.spread.empty()) {
    n = graph_.type(v).size();
  } else if (fusion_.region_of[v] == region_) {
    n = product(free_of(v).dims);
  } else {
    for (const Leaf& leaf : layout_.loads) {
      if (leaf.value != v || leaf.is_matrix) continue;
      for (const isa::Dim& d : leaf.free) n *= d.stride == 0 ? 1 : d.count;
      break;
    }
  }
  return is_float(t) && n == 1 && widest_ > 1 ? DType::float32 : t;
}

Tile RegionEmitter::target(Value v, const Tile* into) {
  if (into) return *into;
  if (const auto piece = piece_results_.find(v); piece != piece_results_.end()) return piece->second;
  const Tile out = new_tile(k_, Memory::sbuf, rows_, free_of(v), tile_dtype(v));
  made_by_[out.storage.tensor()] = v + 1;
  return out;
}

namespace {

// All of a tile, element after element.
bool lies_plain(const Tile& t, const Free& free) {
  const Strided s{0, t.dims};
  return t.offset.is_constant() && t.offset.constant() == 0 && s.is_contiguous() && s.shape() == free.dims &&
         t.packed.count == free.packed;
}

}  // namespace

// Whether an operand from HBM was loaded for this block of rows, lies as v would, and nobody else will read it.
bool RegionEmitter::is_last_reader(Value user, std::size_t i, const Tile& t, Value v) const {
  const auto leaf = layout_.load_of.find({user, static_cast<int>(i)});
  if (leaf == layout_.load_of.end() || kept(layout_.loads[leaf->second])) return false;
  if (first_rows_.contains(leaf->second)) return false;
  if (layout_.footprint(leaf->second)) return false;  // others read it, too
  const auto here = scopes_.back().leaves.find(leaf->second);
  if (here == scopes_.back().leaves.end() || here->second.storage.tensor() != t.storage.tensor()) return false;
  int left = 0;
  for (const auto& [reader, index] : layout_.load_of) left += index == leaf->second ? still_to_read(reader.first) : 0;
  return left == 1 && lies_plain(t, free_of(v));
}

// Whether nobody but v still wants `user`, which v takes along: others would compute it again from its operands.
bool RegionEmitter::is_last_to_take(Value v, Value user) const {
  while (user != v) {
    int left = uses_[user] == static_cast<int>(users_[user].size()) ? 0 : 1;  // it is stored, later
    Value next = user;
    for (Value u : users_[user]) {
      const int reads = still_to_read(u);
      left += reads;
      if (reads > 0) next = u;
    }
    if (left != 1 || next == user) return false;
    user = next;
  }
  return true;
}

// A tile for v: that of operand i where v can take its place, because nobody else reads it.
Tile RegionEmitter::target(Value v, const Tile* into, Value user, std::size_t i, const Tile& t) {
  if (into || t.in_psum() || t.dtype() != tile_dtype(v) || !is_last_to_take(v, user)) return target(v, into);
  const Value x = graph_.op(user).operands[i];
  if (fusion_.region_of[x] != region_) {
    if (!is_last_reader(user, i, t, v)) return target(v, into);
    made_by_[t.storage.tensor()] = v + 1;
    return t;
  }
  const auto here = scopes_.back().values.find(x);
  // Users that are there already, such as a row sum that came along, have read it.
  int left = 0;
  for (Value u : users_[x]) left += still_to_read(u);
  const bool all_here = uses_[x] == static_cast<int>(users_[x].size());
  const bool alone = fusion_.region_of[x] == region_ && all_here && left == 1 && here != scopes_.back().values.end() &&
                     made_by_[t.storage.tensor()] == x + 1;
  return alone && lies_plain(t, free_of(v)) ? t : target(v, into);
}

Tile RegionEmitter::number_tile(double x) {
  for (const Scope& s : scopes_) {
    const auto it = s.numbers.find(x);
    if (it != s.numbers.end() && it->second.rows >= rows_) {
      Tile t = it->second;
      t.rows = rows_;
      return t;
    }
  }
  const Free one{1, {1}};
  const Tile t = new_tile(k_, Memory::sbuf, rows_, one, DType::float32);
  fill(t, one, x);
  return scopes_.back().numbers[x] = t;
}

}  // namespace kiln::tensor
