#include "kiln/tensor/passes/footprint.h"

#include <algorithm>

#include "kiln/tensor/passes/layout.h"

namespace kiln::tensor {
namespace {

constexpr std::int64_t kMostBytes = 80 << 10;      // of a partition
constexpr std::int64_t kMostBytesOfRow = 1 << 20;  // of a row by itself, which can go in pieces

struct Reach {
  std::int64_t elements = 1, last = 0;  // how many on a partition, and where the last one lies behind the first
  bool forward = true;
};

Reach reach_of(const Layout& layout, const Leaf& leaf) {
  Reach out;
  Dims dims = leaf.free;
  dims.push_back({leaf.packed, layout.packed});
  for (const isa::Dim& d : dims) {
    if (d.stride == 0) continue;
    out.forward = out.forward && d.stride > 0;
    out.elements *= d.count;
    out.last += d.stride * (d.count - 1);
  }
  return out;
}

// Whether two loads differ in where they begin, and in nothing else.
bool are_shifted(const Leaf& a, const Leaf& b) {
  const auto same = [](const isa::Dim& x, const isa::Dim& y) { return x.stride == y.stride && x.count == y.count; };
  return a.base == b.base && a.loops == b.loops && a.partition == b.partition && a.group == b.group &&
         a.packed == b.packed && std::equal(a.free.begin(), a.free.end(), b.free.begin(), b.free.end(), same);
}

constexpr std::int64_t kFar = 4, kMany = 16;  // elements

// Every second, third or fourth element: moved as they are, each would be a transfer.
bool comes_by_elements(const Layout& layout, const Leaf& leaf) {
  if (leaf.free.empty() || leaf.free.back().count < kMany) return false;
  if (layout.packed > 1 && leaf.packed == 1) return false;
  const auto is_next = [](const isa::Dim& d) { return d.stride == 1 && d.count > 1; };
  return leaf.free.back().stride > 1 && leaf.free.back().stride <= kFar &&
         std::none_of(leaf.free.begin(), leaf.free.end(), is_next);
}

// An element of each of the rows that follow each other on a partition, such as a channel of pixels, which several
// loads may want with others of these: moved as they are, each would be a transfer.
bool comes_by_rows(const Layout& layout, const Leaf& leaf) {
  if (layout.packed < kMany || leaf.packed <= 1) return false;
  if (std::ranges::any_of(leaf.free, [](const isa::Dim& d) { return d.stride != 0 && d.count > 1; })) return false;
  const auto together =
      std::ranges::count_if(layout.loads, [&](const Leaf& other) { return are_shifted(leaf, other); });
  return leaf.packed <= kFar * together;
}

// All elements of a run, in another order than they lie in: moved so, each would be a transfer. Results of other
// regions are left as they are: they may lie in SBUF.
bool comes_in_other_order(const Graph& graph, const Reach& reach, const Leaf& leaf) {
  const OpCode code = graph.op(leaf.base).code;
  if (code != OpCode::input && code != OpCode::constant) return false;
  if (reach.elements != reach.last + 1 || reach.elements < kMany) return false;
  std::vector<Dims> one{leaf.free};
  std::erase_if(one[0], [](const isa::Dim& d) { return d.stride == 0; });
  join_together(one);
  const Dims& dims = one[0];
  return dims.size() > 1 && dims.back().stride != 1;
}

}  // namespace

std::vector<Footprint> footprints(const Graph& graph, const Layout& layout) {
  std::vector<Footprint> out;
  std::vector<int> order;
  for (std::size_t i = 0; i < layout.loads.size(); ++i) order.push_back(static_cast<int>(i));
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return layout.loads[a].offset < layout.loads[b].offset; });
  std::vector<bool> is_done(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Leaf& first = layout.loads[order[i]];
    const Reach reach = reach_of(layout, first);
    if (is_done[i] || first.is_matrix || !reach.forward || reach.elements == 1) continue;
    const bool by_rows = comes_by_rows(layout, first);
    const bool scattered = by_rows || comes_by_elements(layout, first) || comes_in_other_order(graph, reach, first);
    if (!by_rows && (scattered ? 5 : 2) * reach.elements < reach.last)
      continue;  // most of what lies between is not wanted
    Footprint all{first.offset, reach.last + 1, {order[i]}};
    const auto is_long = [](const isa::Dim& d) { return d.count > 1; };
    const bool is_row = layout.packed == 1 && std::none_of(first.free.begin(), first.free.end() - 1, is_long);
    const std::int64_t most = (is_row ? kMostBytesOfRow : kMostBytes) / size_bytes(graph.type(first.value).dtype);
    std::int64_t last = first.offset;
    for (std::size_t j = i + 1; j < order.size(); ++j) {
      const Leaf& next = layout.loads[order[j]];
      if (is_done[j] || next.is_matrix || !are_shifted(first, next)) continue;
      const std::int64_t more = next.offset - last;
      if (4 * more > 5 * reach.elements || all.span + more > most) break;
      is_done[j] = true;
      all.span += more;
      all.loads.push_back(order[j]);
      last = next.offset;
    }
    if (all.loads.size() > 1 || (scattered && all.span <= most)) out.push_back(std::move(all));
  }
  return out;
}

}  // namespace kiln::tensor
