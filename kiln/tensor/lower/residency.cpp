#include "kiln/tensor/lower/residency.h"

#include <algorithm>
#include <map>

namespace kiln::tensor {
namespace {

constexpr std::int64_t kMost = 14, kBudget = 4;  // one part of so many of a partition: for one result, for all of them
constexpr std::int64_t kBlocksBudget = 2;        // the same, for all with more than 128 rows
constexpr std::int64_t kRows = 128;

// The largest element that a leaf reaches on one partition.
std::int64_t reach(const Layout& layout, const Leaf& leaf) {
  std::int64_t at = leaf.offset;
  for (std::size_t i = 0; i < layout.loops.size(); ++i) at += leaf.loops[i] * (layout.loops[i] - 1);
  for (const isa::Dim& d : leaf.free) at += d.stride * (d.count - 1);
  return at;
}

// Whether a leaf is all of a value, element after element.
bool is_whole(const Leaf& leaf, std::int64_t elements) {
  std::vector<Dims> one{leaf.free};
  join_together(one);
  const bool moves = std::any_of(leaf.loops.begin(), leaf.loops.end(), [](std::int64_t step) { return step != 0; });
  return leaf.offset == 0 && !moves && one[0].size() == 1 && one[0][0].stride == 1 && one[0][0].count == elements;
}

// Whether one row that lies on many partitions is found by a region: as the same row, or as the first operand of
// products, whose elements they are.
bool finds_spread(const Layout& layout, const Leaf& load, const KeptShape& shape) {
  const std::int64_t elements = shape.rows * shape.row;
  const auto spread = layout.spread_of_load(static_cast<int>(&load - layout.loads.data()));
  if (spread) return *spread == SpreadRow{shape.rows, shape.turned} && is_whole(load, elements);
  if (!load.for_products || layout.packed != 1) return false;
  if (layout.partitions == 1) {
    const bool direct = shape.turned ? shape.rows == 128 : shape.rows >= 64;
    return (direct || is_of_heads(shape)) && is_whole(load, elements);
  }
  return shape.turned && layout.partitions == shape.row && load.partition == shape.rows && is_whole(load, shape.rows);
}

}  // namespace

bool is_of_heads(const KeptShape& shape) {
  return !shape.turned && shape.rows > 1 && (shape.row == 128 || shape.row == 64 || shape.row == 32) &&
         shape.rows * shape.row % 128 == 0;
}

bool can_keep(const Layout& layout, const Leaf& store, std::int64_t elements, KeptShape& shape) {
  if (const auto s = layout.spread.find(store.value); s != layout.spread.end() && elements > 1) {
    shape = {s->second.partitions, elements / s->second.partitions, s->second.turned};
    return store.output < 0 && store.base == store.value && is_whole(store, elements) &&
           elements % s->second.partitions == 0;
  }
  if (layout.partitions > 128 || layout.packed != 1 || elements % layout.partitions != 0) return false;
  shape = {layout.partitions, elements / layout.partitions};
  return store.output < 0 && store.base == store.value && layout.is_even(store) &&
         (store.partition == shape.row || shape.rows == 1) && reach(layout, store) < shape.row;
}

bool finds(const Layout& layout, const Leaf& load, const KeptShape& shape) {
  if (load.is_matrix && shape.turned) return false;
  if (load.is_matrix) {  // its rows to sum over, or its columns, are the rows
    const isa::Dim &k = load.free[0], &n = load.free[1];
    Leaf one = load;
    const bool straight = k.stride == shape.row && k.count == shape.rows;
    const bool turned = n.stride == shape.row && n.count == shape.rows && k.stride == 1;
    one.free = {straight ? n : k};
    return (straight || turned) && reach(layout, one) < shape.row;
  }
  if (shape.turned || (layout.partitions == 1 && layout.spreads)) {
    if (shape.rows > 1) return finds_spread(layout, load, shape);
    if (shape.row == 1) return false;  // a number comes to all partitions at once
    if (layout.spread_of_load(static_cast<int>(&load - layout.loads.data()))) return false;
  }
  return layout.packed == 1 && layout.partitions == shape.rows && layout.is_even(load) &&
         (load.partition == shape.row || shape.rows == 1) && reach(layout, load) < shape.row;
}

bool can_keep_blocks(const Layout& layout, const Leaf& store, std::int64_t elements, KeptShape& shape) {
  if (layout.partitions <= kRows || layout.packed != 1 || layout.grouped != 1 || !layout.rest.empty()) return false;
  if (store.output >= 0 || store.base != store.value || elements % layout.partitions != 0) return false;
  shape = {.rows = kRows, .row = elements / layout.partitions, .all = layout.partitions};
  shape.blocks = (shape.all + kRows - 1) / kRows;
  return 2 * shape.row >= shape.pitch() && store.partition == shape.row && reach(layout, store) < shape.row;
}

bool finds_blocks(const Layout& layout, const Leaf& load, const KeptShape& shape) {
  if (layout.partitions <= kRows || layout.packed != 1 || layout.grouped != 1 || !layout.rest.empty()) return false;
  if (load.is_matrix) {  // its rows to sum over, or its columns, are the rows
    const isa::Dim &k = load.free[0], &n = load.free[1];
    Leaf one = load;
    const bool straight = k.stride == shape.row && k.count == shape.all && n.stride == 1;
    const bool turned = n.stride == shape.row && n.count == shape.all && k.stride == 1;
    one.free = {straight ? n : k};
    return (straight || turned) && reach(layout, one) < shape.row;
  }
  if (layout.footprint(static_cast<int>(&load - layout.loads.data()))) return false;
  if (finds_columns(layout, load, shape)) return true;
  return layout.partitions == shape.all && load.partition == shape.row && !load.free.empty() &&
         (load.free.back().stride == 1 || load.free.back().count == 1) && reach(layout, load) < shape.row;
}

bool finds_columns(const Layout& layout, const Leaf& load, const KeptShape& shape) {
  std::vector<Dims> one{load.free};
  join_together(one);
  return load.for_products && load.partition == 1 && layout.loops.empty() && one[0].size() == 1 &&
         one[0][0].stride == shape.row && one[0][0].count == shape.all && load.offset + layout.partitions <= shape.row;
}

bool spreads(const Graph& graph, const Region& region, const Layout& layout, const Leaf& load, const KeptShape& shape) {
  constexpr std::int64_t kLongest = 1024;  // elements: a DMA spreads long rows sooner
  const DType t = graph.type(load.value).dtype;
  if (t != DType::float32 && t != DType::bfloat16 && t != DType::float16) return false;
  if (shape.rows != 1 || layout.partitions == 1 || layout.packed != 1 || load.is_matrix || load.partition != 0 ||
      load.group != 0)
    return false;
  if (std::any_of(load.loops.begin(), load.loops.end(), [](std::int64_t step) { return step != 0; })) return false;
  if (layout.footprint(static_cast<int>(&load - layout.loads.data()))) return false;
  for (const Value v : region.ops) {
    if (is_product(graph.op(v).code)) return false;  // which load their operands in their own ways
  }
  std::int64_t moving = 0;  // dimensions, of which there is one
  for (const isa::Dim& d : load.free) moving += d.count > 1 && d.stride != 0;
  const bool last = !load.free.empty() && load.free.back().stride == 1 && load.free.back().count > 1;
  return moving == 1 && last && load.free.back().count <= kLongest && reach(layout, load) < shape.row;
}

namespace {

// What a value is a view of.
Value base_of(const Graph& graph, Value x) {
  while (is_view(graph.op(x).code)) x = graph.op(x).operands[0];
  return x;
}

// Who reads results with more than 128 rows finds all of them in SBUF, or they go through HBM.
void keep_blocks(const Graph& graph, const Fusion& fusion, const std::vector<const Layout*>& layouts, const Arch& arch,
                 Residency& out) {
  std::map<Value, KeptShape>& kept = out.in_blocks;
  std::int64_t left = arch.sbuf_partition_bytes / kBlocksBudget;
  for (std::size_t r = 0; r < layouts.size(); ++r) {
    if (fusion.regions[r].kind != Region::Kind::rows || fusion.regions[r].is_dropped) continue;
    for (const Leaf& store : layouts[r]->stores) {
      KeptShape shape;
      const Type& type = graph.type(store.value);
      if (type.dtype == DType::bool_ || !can_keep_blocks(*layouts[r], store, type.size(), shape)) continue;
      const std::int64_t bytes = shape.blocks * shape.pitch() * size_bytes(type.dtype);
      if (bytes > left || std::count_if(layouts[r]->stores.begin(), layouts[r]->stores.end(), [&](const Leaf& other) {
                            return other.value == store.value && other.output < 0;
                          }) != 1)
        continue;
      left -= bytes;
      kept[store.value] = shape;
    }
  }
  for (std::size_t r = 0; r < layouts.size(); ++r) {
    if (fusion.regions[r].is_dropped) continue;
    const bool copies = fusion.regions[r].kind != Region::Kind::rows;
    for (Value v : fusion.regions[r].ops) {  // copies and tables are read from HBM
      const Op& op = graph.op(v);
      for (std::size_t i = 0; i < op.operands.size(); ++i) {
        if (copies || (op.code == OpCode::gather_rows && i == 0)) kept.erase(base_of(graph, op.operands[i]));
      }
    }
    for (const Leaf& load : layouts[r]->loads) {
      const auto it = kept.find(load.base);
      if (it == kept.end()) continue;
      const bool own = fusion.region_of[load.base] == static_cast<int>(r);
      if (own || !finds_blocks(*layouts[r], load, it->second)) kept.erase(it);
    }
  }
  for (int i : fusion.copied) kept.erase(base_of(graph, graph.outputs()[i].value));
  for (const Store& part : fusion.copied_parts) kept.erase(base_of(graph, part.value));
  for (const auto& [v, shape] : kept) {
    out.kept.insert(v);
    out.unstored.insert(v);
  }
}

}  // namespace

Residency residency(const Graph& graph, const Fusion& fusion, const std::vector<const Layout*>& layouts,
                    const Arch& arch, bool blocks) {
  std::map<Value, KeptShape> shapes;
  std::int64_t left = arch.sbuf_partition_bytes / kBudget;
  const std::int64_t most = arch.sbuf_partition_bytes / kMost;
  Residency out;
  for (std::size_t r = 0; r < layouts.size(); ++r) {
    if (fusion.regions[r].kind != Region::Kind::rows) continue;
    for (const Leaf& store : layouts[r]->stores) {
      KeptShape shape;
      if (!can_keep(*layouts[r], store, graph.type(store.value).size(), shape)) continue;
      if (graph.type(store.value).dtype == DType::bool_) continue;
      const std::int64_t bytes = shape.row * size_bytes(graph.type(store.value).dtype);
      if (bytes > most || bytes > left) continue;
      left -= bytes;
      shapes[store.value] = shape;
      out.kept.insert(store.value);
      if (shape.turned) out.turned.insert(store.value);
    }
  }
  out.unstored = out.kept;
  for (std::size_t r = 0; r < layouts.size(); ++r) {
    if (fusion.regions[r].is_dropped) continue;
    if (fusion.regions[r].kind != Region::Kind::rows) {  // copies read HBM
      for (Value v : fusion.regions[r].ops) {
        for (Value x : graph.op(v).operands) {
          while (is_view(graph.op(x).code)) x = graph.op(x).operands[0];
          out.unstored.erase(x);
        }
      }
      continue;
    }
    for (const Leaf& load : layouts[r]->loads) {
      const auto kept = shapes.find(load.base);
      if (kept == shapes.end() || finds(*layouts[r], load, kept->second)) continue;
      if (!spreads(graph, fusion.regions[r], *layouts[r], load, kept->second)) out.unstored.erase(load.base);
    }
    for (Value v : fusion.regions[r].ops) {  // tables are read from HBM
      if (graph.op(v).code != OpCode::gather_rows) continue;
      Value x = graph.op(v).operands[0];
      while (is_view(graph.op(x).code)) x = graph.op(x).operands[0];
      out.unstored.erase(x);
    }
  }
  if (blocks) keep_blocks(graph, fusion, layouts, arch, out);
  std::vector<Value> copied;
  for (int i : fusion.copied) copied.push_back(graph.outputs()[i].value);
  for (const Store& part : fusion.copied_parts) copied.push_back(part.value);
  for (Value x : copied) {
    while (is_view(graph.op(x).code)) x = graph.op(x).operands[0];
    out.unstored.erase(x);
  }
  return out;
}

}  // namespace kiln::tensor
