#include "kiln/tensor/passes/row_sums.h"

#include <algorithm>

#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {
namespace {

constexpr std::int64_t kBlock = 128, kFewestSummedRows = 512;  // fewer are read again in no time

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

  // Whether a matrix stays in SBUF while blocks of rows come.
  bool is_small_product(const Op& op) const {
    constexpr std::int64_t kMostBytes = 32768;  // of a partition
    const Type& y = graph_.type(op.operands[1]);
    return y.rank() == 2 && (y.shape[0] + kBlock - 1) / kBlock * y.shape[1] * size_bytes(y.dtype) <= kMostBytes;
  }

  // Whether a region goes through these rows one block after the other, and PSUM has room for more sums.
  bool can_add_up(int region, std::int64_t rows, std::int64_t columns) const {
    constexpr std::int64_t kMostColumns = 2048, kMostBesideProducts = 1024;
    const Region& r = f_.regions[region];
    if (r.kind != Region::Kind::rows || !r.candidates.contains(rows)) return false;
    for (Value s : r.sums) columns += columns_of(s);
    int products = 0;
    const auto keeps_blocks = [&](Value v) {
      const OpCode code = graph_.op(v).code;
      if (is_product(code)) return ++products == 1 && is_small_product(graph_.op(v));
      return is_elementwise(code) || is_view(code) || code == OpCode::where || code == OpCode::cast ||
             is_search(code) || (code >= OpCode::sum && code <= OpCode::min);
    };
    return std::all_of(r.ops.begin(), r.ops.end(), keeps_blocks) &&
           columns <= (products > 0 ? kMostBesideProducts : kMostColumns);
  }

  // Of PSUM, in which up to 128 rows of the result lie side by side.
  std::int64_t columns_of(Value p) const {
    const Shape& shape = graph_.type(p).shape;
    return (shape[0] + kBlock - 1) / kBlock * shape[1];
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

  // Whether a region can read v with its rows, as it computes or reads it already.
  bool reads_rows_of(int region, Value v) const {
    return std::any_of(f_.regions[region].ops.begin(), f_.regions[region].ops.end(), [&](Value u) {
      const Op& op = graph_.op(u);
      const bool takes = is_elementwise(op.code) ? op.type.shape == graph_.type(v).shape : is_product(op.code);
      const auto end = is_product(op.code) ? op.operands.begin() + 1 : op.operands.end();
      return takes && std::find(op.operands.begin(), end, v) != end;
    });
  }

  // Whether a region that does not wait for p can have it: what else p reads is there before.
  bool takes(int region, Value p, const std::vector<Value>& of) const {
    const Shape& y = graph_.type(graph_.op(p).operands[1]).shape;
    if (!can_add_up(region, y[0], columns_of(p))) return false;
    std::vector<bool> seen(f_.regions.size());
    if (waits_for(region, f_.region_of[p], seen)) return false;
    return std::all_of(of.begin(), of.end(), [&](Value v) {
      std::vector<bool> before(f_.regions.size());
      return f_.region_of[v] < 0 || f_.region_of[v] == region || !waits_for(f_.region_of[v], region, before);
    });
  }

  // The region that has what p adds up, or reads it with its rows and does not wait for the sum.
  std::optional<int> region_for(Value p) const {
    const Op& op = graph_.op(p);
    if (!is_product(op.code)) return {};
    const Type &x = graph_.type(op.operands[0]), &y = graph_.type(op.operands[1]);
    if (x.rank() != 2 || y.rank() != 2) return {};
    const bool counts = splat_of(graph_, op.operands[0]) == 1.0 && x.shape[0] == 1;
    const bool turned = graph_.op(op.operands[0]).code == OpCode::transpose;
    if (!counts && (!turned || y.shape[0] < kFewestSummedRows || x.dtype != y.dtype)) return {};
    std::vector<Value> of;
    for (int i : {0, 1}) {
      const auto v = summed_rows(graph_, p, i);
      if (!v) continue;
      const Type& t = graph_.type(*v);
      const bool given = graph_.op(*v).code == OpCode::input;
      if (!row_dims(t.shape, y.shape[0]) || size_bytes(t.dtype) < 2 || (!is_computed_here(*v) && !given)) return {};
      of.push_back(*v);
    }
    for (Value v : of) {
      if (is_computed_here(v) && takes(f_.region_of[v], p, of)) return f_.region_of[v];
    }
    if (std::any_of(of.begin(), of.end(), [&](Value v) { return is_computed_here(v); })) return {};
    for (std::size_t r = 0; r < f_.regions.size(); ++r) {
      const int region = static_cast<int>(r);
      const bool reads = std::any_of(of.begin(), of.end(), [&](Value v) { return reads_rows_of(region, v); });
      if (reads && takes(region, p, of)) return region;
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
    f_.regions[into].candidates = {graph_.type(graph_.op(p).operands[1]).shape[0]};
  }

  const Graph& graph_;
  Fusion& f_;
};

}  // namespace

std::optional<Value> summed_rows(const Graph& graph, Value sum, int operand) {
  Value v = graph.op(sum).operands[operand];
  if (operand == 0 && splat_of(graph, v)) return {};
  if (operand == 0 && graph.op(v).code == OpCode::transpose) v = graph.op(v).operands[0];
  while (graph.op(v).code == OpCode::reshape) v = graph.op(v).operands[0];
  return v;
}

void take_row_sums(const Graph& graph, Fusion& fusion) { RowSums(graph, fusion).run(); }

bool is_row_sum(const Fusion& fusion, Value v) {
  const int r = fusion.region_of[v];
  if (r < 0) return false;
  const std::vector<Value>& sums = fusion.regions[r].sums;
  return std::find(sums.begin(), sums.end(), v) != sums.end();
}

}  // namespace kiln::tensor
