#include "kiln/tensor/lower/tile_limits.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kiln/analysis/trips.h"
#include "kiln/tensor/passes/strided.h"

namespace kiln::tensor {
namespace {

constexpr double kOfOperator = 0.5;  // an instruction of the vector or the scalar engine takes two operators of a chain
constexpr int kFoundAtOnce = 8;      // by max8, of the largest elements of a row
constexpr int kMxDepth = 4;          // elements of a partition that nc_matmul_mx multiplies at once

double pieces(double n, double of) { return std::ceil(n / of); }

class Counter {
 public:
  Counter(const Graph& graph, const Arch& chip) : graph_(graph), chip_(chip) {}

  // Of a body: what it reads and leaves stays on the chip.
  double computed() const {
    double out = 0;
    for (const Op& op : graph_.ops()) out += of(op);
    const std::vector<bool> is_turned = read_turned();
    for (Value v = 0; v < graph_.size(); ++v) {
      if (is_turned[v]) out += turned(graph_.type(v));
    }
    return out;
  }
  double moved() const {
    const std::vector<bool> read = read_whole();
    double out = 0;
    for (Value v = 0; v < graph_.size(); ++v) {
      const Op& op = graph_.op(v);
      const bool is_given = op.code == OpCode::input || (op.code == OpCode::constant && !op.is_splat());
      if (is_given && read[v]) out += tiles(op.type);
    }
    for (const Output& o : graph_.outputs()) {
      const Op& op = graph_.op(o.value);
      if (!is_update(op.code)) out += tiles(op.type);
    }
    return out;
  }

 private:
  static bool is_update(OpCode code) {
    return code == OpCode::update_slice || code == OpCode::scatter_rows || code == OpCode::scatter ||
           code == OpCode::scatter_nd || code == OpCode::put_along_axis;
  }
  // Ops of whose first operand the elements that they take, or change, are moved, and no others.
  static bool is_by_index(OpCode code) {
    return is_update(code) || code == OpCode::gather_rows || code == OpCode::take || code == OpCode::dynamic_slice ||
           code == OpCode::take_along_axis || code == OpCode::gather_nd;
  }

  // By value: whether somebody reads it whole.
  std::vector<bool> read_whole() const {
    std::vector<bool> out(graph_.size());
    for (const Op& op : graph_.ops()) {
      for (std::size_t i = 0; i < op.operands.size(); ++i) {
        if (i > 0 || !is_by_index(op.code)) out[op.operands[i]] = true;
      }
    }
    return out;
  }

  // By value: whether it has columns as rows for somebody that is no product, which takes its operands either way.
  std::vector<bool> read_turned() const {
    std::vector<bool> out(graph_.size());
    const auto read = [&](Value v) {
      const Op& op = graph_.op(v);
      if (op.code == OpCode::transpose && op.ints("perm").back() + 1 != op.type.rank()) out[v] = true;
    };
    for (const Op& op : graph_.ops()) {
      if (is_product(op.code) || is_view(op.code)) continue;
      for (const Value v : op.operands) read(v);
    }
    for (const Output& o : graph_.outputs()) read(o.value);
    return out;
  }

  double rows(const Type& t) const {
    return t.shape.empty() ? 1 : static_cast<double>(product(t.shape, 0, t.shape.size() - 1));
  }
  // Blocks of rows; a row that no partition holds is several.
  double tiles(const Type& t) const {
    if (t.size() == 0) return 0;
    const double row = t.shape.empty() ? 1 : static_cast<double>(t.shape.back());
    const double held =
        static_cast<double>((chip_.sbuf_partition_bytes - chip_.sbuf_reserved_bytes) / size_bytes(t.dtype));
    return pieces(rows(t), chip_.partitions) * pieces(row, held);
  }
  // Blocks of as many columns as rows, as the tensor engine turns them.
  double turned(const Type& t) const {
    if (t.size() == 0) return 0;
    return pieces(rows(t), chip_.partitions) * pieces(static_cast<double>(t.shape.back()), chip_.matmul_columns);
  }
  // Along leading axes: sums are products with ones, a bank of PSUM at a time; everything else is turned.
  double over_rows(const Op& op) const {
    const Type& x = graph_.type(op.operands[0]);
    const Ints& axes = op.ints("axes");
    double reduced = 1;
    for (const std::int64_t a : axes) reduced *= static_cast<double>(x.shape[a]);
    const double left = static_cast<double>(x.size()) / reduced;
    const bool is_sum = op.code == OpCode::sum || op.code == OpCode::mean;
    const double columns = is_sum ? static_cast<double>(chip_.psum_bank_bytes) / 4 : chip_.matmul_columns;
    return pieces(reduced, chip_.partitions) * pieces(left, columns);
  }
  // Either side is stationary, the other one moves a bank of PSUM at a time; what comes out is taken from there.
  double products(double batch, double m, double k, double n, double depth) const {
    const double bank = static_cast<double>(chip_.psum_bank_bytes) / 4;
    const auto one_way = [&](double held, double moving) {
      const double results = pieces(held, chip_.matmul_columns) * pieces(moving, bank);
      return results * (pieces(k, depth) + 1);
    };
    return batch * std::min(one_way(m, n), one_way(n, m));
  }
  double product_of(const Op& op) const {
    const Shape& a = graph_.type(op.operands[0]).shape;
    const Shape& b = graph_.type(op.operands[1]).shape;
    const double n = b.size() < 2 ? 1 : static_cast<double>(b.back());
    const double k = static_cast<double>(a.back());
    if (op.type.size() == 0 || k == 0) return tiles(op.type);
    // One matrix for all rows, or a matrix for each batch.
    const double m = b.size() <= 2 ? static_cast<double>(op.type.size()) / n
                                   : static_cast<double>(a.size() < 2 ? 1 : a[a.size() - 2]);
    const double batch = static_cast<double>(op.type.size()) / (m * n);
    return products(batch, m, k, n, op.code == OpCode::mx_matmul ? kMxDepth * chip_.matmul_rows : chip_.matmul_rows);
  }
  double convolution(const Op& op) const {
    const Shape& w = graph_.type(op.operands[1]).shape;
    const double channels = static_cast<double>(w[0]), groups = static_cast<double>(op.integer("groups"));
    const double places = static_cast<double>(op.type.size()) / std::max(1.0, channels);
    return products(groups, channels / groups, static_cast<double>(product(w, 1, w.size())), places, chip_.matmul_rows);
  }
  double body(const Body& body) const { return Counter(*body, chip_).computed(); }
  double control(const Op& op) const {
    if (op.code == OpCode::kernel) {
      analysis::TripCounts trips;
      for (const isa::Loop& loop : op.kernel->loops) trips.push_back(analysis::known_trips(loop).value_or(1));
      return analysis::executed_instructions(*op.kernel, op.kernel->body, trips);
    }
    double out = 0;
    for (const Body& b : op.bodies) out = op.code == OpCode::branch ? std::max(out, body(b)) : out + body(b);
    return op.code == OpCode::for_loop ? out * static_cast<double>(op.integer("count")) : out;
  }

  double of(const Op& op) const {
    switch (op.code) {
      case OpCode::input:
      case OpCode::constant:
      case OpCode::cast:  // every instruction converts
      case OpCode::bitcast:
      case OpCode::concat:
      case OpCode::result:
        return 0;
      case OpCode::matmul:
      case OpCode::matmul_f32:
      case OpCode::mx_matmul:
        return product_of(op);
      case OpCode::conv:
        return convolution(op);
      case OpCode::top_k:
      case OpCode::top_k_indices:
        return tiles(graph_.type(op.operands[0])) * pieces(static_cast<double>(op.integer("k")), kFoundAtOnce);
      case OpCode::sort:
      case OpCode::argsort: {  // minima and maxima of each step of a network
        const double n = static_cast<double>(std::max<std::int64_t>(1, op.type.shape[op.integer("axis")]));
        const double rounds = std::ceil(std::log2(n));
        return tiles(op.type) * rounds * (rounds + 1);
      }
      case OpCode::update_slice:
        return tiles(graph_.type(op.operands[1]));
      case OpCode::scatter_rows:
        return tiles(graph_.type(op.operands[2]));
      default:
        break;
    }
    if (is_view(op.code)) return 0;
    if (!op.bodies.empty() || op.kernel) return control(op);
    if (op.code >= OpCode::sum && op.code <= OpCode::argmin && op.type.size() > 0) {
      const auto& axes = op.ints("axes");
      const std::int64_t last = graph_.type(op.operands[0]).rank() - 1;
      if (std::find(axes.begin(), axes.end(), last) == axes.end()) return over_rows(op);
    }
    double most = tiles(op.type);
    if (!is_by_index(op.code)) {
      for (const Value v : op.operands) most = std::max(most, tiles(graph_.type(v)));
    }
    const bool is_chained = is_elementwise(op.code) || op.code == OpCode::where || op.code == OpCode::sum ||
                            op.code == OpCode::max || op.code == OpCode::min || op.code == OpCode::mean;
    return is_chained ? kOfOperator * most : most;
  }

  const Graph& graph_;
  const Arch& chip_;
};

}  // namespace

double instructions_by_tile_limits(const Graph& graph, const Arch& chip) {
  const Counter counter(graph, chip);
  return std::ceil(counter.computed()) + counter.moved();
}

}  // namespace kiln::tensor
