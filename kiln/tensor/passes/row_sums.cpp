#include "kiln/tensor/passes/row_sums.h"

#include <algorithm>

#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {
namespace {

class RowSums {
 public:
  RowSums(const Graph& graph, Fusion& fusion) : graph_(graph), f_(fusion) {}

  void run() {
    for (Value p = 0; p < graph_.size(); ++p) {
      const auto into = f_.region_of[p] >= 0 ? region_for(p) : std::nullopt;
      if (into && *into != f_.region_of[p]) move(p, *into);
    }
  }

 private:
  bool is_computed_here(Value v) const { return f_.region_of[v] >= 0 && !is_view(graph_.op(v).code); }

  // Whether a region goes through these rows one block after the other, and PSUM has room for more sums.
  bool can_add_up(int region, std::int64_t rows, std::int64_t columns) const {
    constexpr std::int64_t kMostColumns = 2048;
    const Region& r = f_.regions[region];
    if (r.kind != Region::Kind::rows || !r.candidates.contains(rows)) return false;
    for (Value s : r.sums) columns += graph_.type(s).size();
    const auto keeps_blocks = [&](Value v) {
      const OpCode code = graph_.op(v).code;
      return is_elementwise(code) || is_view(code) || code == OpCode::where || code == OpCode::cast ||
             is_search(code) || (code >= OpCode::sum && code <= OpCode::min);
    };
    return columns <= kMostColumns && std::all_of(r.ops.begin(), r.ops.end(), keeps_blocks);
  }

  bool waits_for(int region, int other, std::vector<bool>& seen) const {
    if (region == other) return true;
    if (seen[region]) return false;
    seen[region] = true;
    for (Value v : f_.regions[region].ops) {
      for (Value x : graph_.op(v).operands) {
        while (is_view(graph_.op(x).code)) x = graph_.op(x).operands[0];
        if (f_.region_of[x] >= 0 && waits_for(f_.region_of[x], other, seen)) return true;
      }
    }
    return false;
  }

  // The region that has what p adds up, or reads it with its rows and does not wait for the sum.
  std::optional<int> region_for(Value p) const {
    const Op& op = graph_.op(p);
    if (!is_product(op.code) || splat_of(graph_, op.operands[0]) != 1.0) return {};
    const Shape &ones = graph_.type(op.operands[0]).shape, &y = graph_.type(op.operands[1]).shape;
    if (ones.size() != 2 || ones[0] != 1 || y.size() != 2) return {};
    Value v = op.operands[1];
    while (graph_.op(v).code == OpCode::reshape) v = graph_.op(v).operands[0];
    const Type& t = graph_.type(v);
    if (!row_dims(t.shape, y[0]) || is_view(graph_.op(v).code) || size_bytes(t.dtype) < 2) return {};
    const auto takes = [&](int region) {
      return can_add_up(region, y[0], y[1]) ? std::optional(region) : std::nullopt;
    };
    if (is_computed_here(v)) return takes(f_.region_of[v]);
    if (graph_.op(v).code != OpCode::input) return {};
    for (Value u = 0; u < graph_.size(); ++u) {
      const Op& reader = graph_.op(u);
      if (!is_computed_here(u) || !is_elementwise(reader.code) || reader.type.shape != t.shape) continue;
      if (std::find(reader.operands.begin(), reader.operands.end(), v) == reader.operands.end()) continue;
      std::vector<bool> seen(f_.regions.size());
      if (takes(f_.region_of[u]) && !waits_for(f_.region_of[u], f_.region_of[p], seen)) return f_.region_of[u];
    }
    return {};
  }

  void move(Value p, int into) {
    std::vector<Value>& ops = f_.regions[f_.region_of[p]].ops;
    std::erase(ops, p);
    if (std::all_of(ops.begin(), ops.end(), [&](Value v) { return is_view(graph_.op(v).code); })) {
      for (Value v : ops) f_.region_of[v] = -1;
      ops.clear();
    }
    f_.region_of[p] = into;
    f_.regions[into].sums.push_back(p);
    f_.regions[into].candidates = {graph_.type(graph_.op(p).operands[0]).shape[1]};
  }

  const Graph& graph_;
  Fusion& f_;
};

}  // namespace

void take_row_sums(const Graph& graph, Fusion& fusion) { RowSums(graph, fusion).run(); }

bool is_row_sum(const Fusion& fusion, Value v) {
  const int r = fusion.region_of[v];
  if (r < 0) return false;
  const std::vector<Value>& sums = fusion.regions[r].sums;
  return std::find(sums.begin(), sums.end(), v) != sums.end();
}

}  // namespace kiln::tensor
