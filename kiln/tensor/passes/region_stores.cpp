// What regions leave in HBM: values that others read, outputs, and parts of joins.
#include <algorithm>

#include "kiln/tensor/passes/fuser.h"
#include "kiln/tensor/passes/rewrite.h"
#include "kiln/tensor/passes/row_candidates.h"
#include "kiln/tensor/passes/row_sums.h"

namespace kiln::tensor {

namespace {

// Whether DMAs would write a large value in many transfers.
bool has_short_runs(const Strided& access, DType t) {
  constexpr std::int64_t kShortBytes = 512, kFew = 4096;
  std::vector<Dims> one{access.dims};
  join_together(one);
  if (one[0].size() < 2) return false;
  const std::int64_t run = one[0].back().stride == 1 ? one[0].back().count : 1;
  return run * size_bytes(t) < kShortBytes && access.size() / run > kFew;
}

}  // namespace

// What an output is, before its elements are seen in another shape.
Value Fuser::given_by(const Output& output, const std::vector<int>& uses) const {
  Value v = output.value;
  while (graph_.op(v).code == OpCode::reshape && uses[v] == 1) v = graph_.op(v).operands[0];
  return v;
}

// An output that joins values which nobody else wants: each is written into its part at once.
bool Fuser::is_split(Value given, const std::vector<int>& uses) const {
  const Op& op = graph_.op(given);
  return is_join_op(op.code) && op.code != OpCode::pair_gather_hbm && uses[given] == 1 &&
         f_.regions[f_.region_of[given]].kind == Region::Kind::copies;
}

void Fuser::split_output(int index, Value given) {
  const Op& op = graph_.op(given);
  const std::int64_t axis = op.integer("axis");
  Strided part = Strided::contiguous(op.type.shape);
  part.offset += join_start(op) * part.dims[axis].stride;
  for (Value x : op.operands) {
    part.dims[axis].count = graph_.type(x).shape[axis];
    Value base = 0;
    const auto access = written_back(graph_, x, part, base);
    const bool rows = access && is_computed(base) && f_.regions[f_.region_of[base]].kind == Region::Kind::rows &&
                      !is_row_sum(f_, base);
    if (rows && part.size() > 0) {
      f_.stores[f_.region_of[base]].push_back({base, index, access});
    } else if (part.size() > 0) {
      f_.copied_parts.push_back({x, index, part});
      if (!splat_of(graph_, x)) f_.is_stored[base_of(x)] = true;
    }
    part.offset += part.dims[axis].count * part.dims[axis].stride;
  }
}

bool Fuser::is_join(Value v) const {
  return is_join_op(graph_.op(v).code) && f_.regions[f_.region_of[v]].kind == Region::Kind::copies;
}

// Not one that the cores of a pair wait for.
bool Fuser::is_plain_join(Value v) const { return graph_.op(v).code == OpCode::concat && is_join(v); }

// What is read once, by a join, needs no storage of its own: a join in a join, and a result of a region.
void Fuser::inline_parts(Value join, Value part_of, Strided to, const std::vector<int>& uses) {
  const std::int64_t axis = graph_.op(part_of).integer("axis");
  to.offset += join_start(graph_.op(part_of)) * to.dims[axis].stride;
  for (Value x : graph_.op(part_of).operands) {
    to.dims[axis].count = graph_.type(x).shape[axis];
    const bool mine = is_computed(x) && uses[x] == 1 && graph_.type(x).size() > 0;
    if (mine && is_plain_join(x)) {
      inline_parts(join, x, to, uses);
    } else if (mine && f_.regions[f_.region_of[x]].kind == Region::Kind::rows) {
      auto& stores = f_.stores[f_.region_of[x]];
      std::erase_if(stores, [&](const Store& s) { return s.value == x && s.output < 0; });
      stores.push_back({x, -1, to, join});
    }
    if (mine && (is_plain_join(x) || f_.regions[f_.region_of[x]].kind == Region::Kind::rows)) {
      f_.inlined.insert(x);
      f_.is_stored[x] = false;
    }
    to.offset += to.dims[axis].count * to.dims[axis].stride;
  }
}

// Outputs that are split have their parts already, but for joins among them.
void Fuser::inline_joins() {
  const std::vector<int> uses = graph_.uses();
  for (Value v = graph_.size(); v-- > 0;) {
    if (!is_computed(v) || !is_join(v) || f_.inlined.contains(v)) continue;
    if (!f_.regions[f_.region_of[v]].is_dropped) {
      inline_parts(v, v, Strided::contiguous(graph_.type(v).shape), uses);
      continue;
    }
    for (Value x : graph_.op(v).operands) {
      if (!is_computed(x) || !is_plain_join(x) || uses[x] != 1) continue;
      f_.inlined.insert(x);
      f_.is_stored[x] = false;
    }
  }
}

// An output that no strides write as its region has it, such as heads apart: what the region has, seen as rows of
// several dimensions, which some do. Regions with products have no other rows than those of the product.
std::optional<Source> Fuser::view_that_is_stored(Value output) {
  Value v = output;
  std::optional<Strided> access = Strided::contiguous(graph_.type(v).shape);
  while (graph_.op(v).code == OpCode::transpose) {
    const Ints& perm = graph_.op(v).ints("perm");
    Ints back(perm.size());
    for (std::size_t i = 0; i < back.size(); ++i) back[perm[i]] = static_cast<std::int64_t>(i);
    access = permuted(*access, back);
    v = graph_.op(v).operands[0];
  }
  const Value base = graph_.op(v).code == OpCode::reshape ? graph_.op(v).operands[0] : v;
  if (v == output || base == v || !is_computed(base) || is_row_sum(f_, base)) return {};
  const int r = f_.region_of[base];
  const Region& region = f_.regions[r];
  const auto multiplies = [&](Value u) { return is_product(graph_.op(u).code); };
  const auto keeps = [&](std::int64_t rows) { return keeps_rows(graph_, graph_.op(v), 0, rows); };
  if (region.kind != Region::Kind::rows || region.is_dropped || std::ranges::none_of(region.ops, multiplies) ||
      !std::ranges::all_of(region.candidates, keeps))
    return {};
  add_views(v, r);
  return Source{v, *access};
}

void Fuser::find_stores() {
  f_.is_stored.assign(graph_.size(), false);
  f_.stores.resize(f_.regions.size());
  const std::vector<int> uses = graph_.uses();
  for (const Output& o : graph_.outputs()) {
    const Value given = given_by(o, uses);
    if (options_.splits_outputs && options_.fuse && is_split(given, uses))
      f_.regions[f_.region_of[given]].is_dropped = true;
  }
  for (Value v = 0; v < graph_.size(); ++v) {
    if (is_source(graph_.op(v).code)) f_.is_stored[v] = true;
    if (!is_computed(v)) continue;
    const Op& op = graph_.op(v);
    if (f_.regions[f_.region_of[v]].is_dropped) continue;
    for (std::size_t i = 0; i < op.operands.size(); ++i) {
      const Value b = base_of(op.operands[i]);
      const bool is_matrix = is_product(op.code) && i == 1 && !is_row_sum(f_, v);
      if (is_computed(b) && (f_.region_of[b] != f_.region_of[v] || is_matrix)) f_.is_stored[b] = true;
    }
    const Region& region = f_.regions[f_.region_of[v]];
    if (region.kind == Region::Kind::copies && region.ops.back() == v) f_.is_stored[v] = true;
  }
  for (std::size_t i = 0; i < graph_.outputs().size(); ++i) {
    Value base = graph_.outputs()[i].value;
    const Value given = given_by(graph_.outputs()[i], uses);
    if (is_computed(given) && f_.regions[f_.region_of[given]].is_dropped) {
      split_output(static_cast<int>(i), given);
      continue;
    }
    const auto access =
        written_back(graph_, base, Strided::contiguous(graph_.type(graph_.outputs()[i].value).shape), base);
    const bool rows = access && is_computed(base) && f_.regions[f_.region_of[base]].kind == Region::Kind::rows &&
                      !is_row_sum(f_, base);
    const bool is_short = rows && has_short_runs(*access, graph_.type(base).dtype);
    f_.has_short_runs |= is_short;
    const auto seen = rows || !options_.short_runs ? std::nullopt : view_that_is_stored(graph_.outputs()[i].value);
    if (rows && (options_.short_runs || !is_short)) {
      f_.stores[f_.region_of[base]].push_back({base, static_cast<int>(i), access});
    } else if (seen) {
      f_.has_short_runs = f_.stores_views = true;
      f_.stores[f_.region_of[seen->base]].push_back({seen->base, static_cast<int>(i), seen->access});
    } else {
      f_.copied.push_back(static_cast<int>(i));
      const Value b = base_of(graph_.outputs()[i].value);
      f_.is_stored[b] = true;
    }
  }
  for (std::size_t r = 0; r < f_.regions.size(); ++r) {
    for (Value v : f_.regions[r].ops) {
      if (is_computed(v) && f_.is_stored[v] && f_.regions[r].kind == Region::Kind::rows)
        f_.stores[r].push_back({v, -1, {}});
    }
  }
}

}  // namespace kiln::tensor
