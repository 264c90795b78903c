#include "kiln/tensor/passes/row_parts.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {
namespace {

// Elements of a row, and the extent of the first dimension behind the rows; nothing for what has no such rows.
struct Behind {
  std::int64_t elements = 0, first = 0;
};
Behind behind(const Shape& shape, std::int64_t rows) {
  const auto d = row_dims(shape, rows);
  if (!d) return {};
  const std::int64_t n = product(shape, *d, shape.size());
  return {n, n == 1 ? 1 : shape[*d]};
}

// Whether something with all elements of a row leaves the region, and not only what rows are reduced to.
bool leaves_rows(const Graph& graph, const Fusion& fusion, int region, std::int64_t rows) {
  const auto is_whole = [&](Value v) { return graph.type(v).size() > rows; };
  const std::vector<Value>& ops = fusion.regions[region].ops;
  return std::any_of(ops.begin(), ops.end(), [&](Value v) { return fusion.is_stored[v] && is_whole(v); }) ||
         std::any_of(fusion.stores[region].begin(), fusion.stores[region].end(),
                     [&](const Store& store) { return is_whole(store.value); });
}

bool combines(OpCode code) { return code == OpCode::sum || code == OpCode::max || code == OpCode::min; }

}  // namespace

std::int64_t parted_length(const Graph& graph, const Fusion& fusion, int region, std::int64_t rows) {
  const Region& r = fusion.regions[region];
  if (!r.sums.empty() || rows == 0) return 0;
  std::int64_t length = 0, elements = 1;
  bool reduces = false;
  const auto agrees = [&](const Behind& x) {
    if (x.elements > 1 && elements == 1) elements = x.elements;
    if (x.elements > 1) length = std::gcd(length, x.first);
    return x.elements == 1 || x.elements == elements;
  };
  for (Value v : r.ops) {
    const Op& op = graph.op(v);
    const Behind made = behind(op.type.shape, rows);
    if (!agrees(made)) return 0;
    if (combines(op.code)) {
      const Value x = op.operands[0];
      const Behind read = behind(graph.type(x).shape, rows);
      if (made.elements != 1 || !is_float(graph.type(x).dtype) || !agrees(read)) return 0;
      reduces = true;
      continue;
    }
    const bool same_place = is_elementwise(op.code) || op.code == OpCode::where || op.code == OpCode::cast ||
                            op.code == OpCode::broadcast_to;
    if (op.code == OpCode::reshape && fusion.region_of[op.operands[0]] == region) continue;
    if (!same_place) return 0;
    for (Value x : op.operands) {
      if (fusion.region_of[x] == region && graph.type(x).size() > rows && graph.type(x).shape != op.type.shape)
        return 0;
    }
  }
  return reduces ? length : 0;
}

std::vector<std::int64_t> parts_of_rows(const Graph& graph, const Fusion& fusion, int region, std::int64_t rows) {
  constexpr std::int64_t kLanes = 128, kFewestElements = 128, kLongRow = 6144;
  const std::int64_t length = parted_length(graph, fusion, region, rows);
  if (length < 2) return {};
  std::int64_t elements = 1;  // of a row
  for (Value v : fusion.regions[region].ops) elements = std::max(elements, graph.type(v).size() / rows);
  if (rows >= kLanes && elements <= kLongRow) return {};  // whole rows are fewer instructions, in as much time
  // Pieces of rows that are only reduced are read once, too.
  const bool fill_blocks = 4 * rows >= 3 * kLanes * ((rows + kLanes - 1) / kLanes);
  if (rows > kLanes && fill_blocks && !leaves_rows(graph, fusion, region, rows)) return {};
  std::vector<std::int64_t> possible;
  for (std::int64_t parts = 2; parts <= std::min(kLanes, length); ++parts) {
    const bool fills = 8 * (kLanes / parts * parts) >= 7 * kLanes || rows == 1;
    if (length % parts == 0 && elements / parts >= kFewestElements && fills) possible.push_back(parts);
  }
  std::set<std::int64_t> out;
  for (const std::int64_t wanted : {1024, 2048, 4096}) {  // elements on a partition
    const auto away = [&](std::int64_t parts) {
      const auto here = static_cast<double>(elements) / static_cast<double>(parts);
      return std::abs(std::log(here / static_cast<double>(wanted)));
    };
    const auto nearest = std::min_element(possible.begin(), possible.end(),
                                          [&](std::int64_t a, std::int64_t b) { return away(a) < away(b); });
    if (nearest != possible.end()) out.insert(*nearest);
  }
  return {out.begin(), out.end()};
}

}  // namespace kiln::tensor
