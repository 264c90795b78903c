#include "kiln/tensor/passes/cut.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "kiln/tensor/passes/repeats.h"
#include "kiln/tensor/passes/strided.h"

namespace kiln::tensor {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kOfACut = 65536;        // bytes that a kernel more is worth
constexpr std::size_t kWorthwhile = 32;  // ops: what repeats with fewer is taken several times at once

// Whether every piece that reads it has its own: it is made of constants alone.
std::vector<bool> free_values(const Graph& graph) {
  std::vector<bool> out;
  for (const Op& op : graph.ops()) {
    const bool is_plain =
        is_elementwise(op.code) || is_view(op.code) || op.code == OpCode::cast || op.code == OpCode::where;
    const bool reads_free = std::all_of(op.operands.begin(), op.operands.end(), [&](Value v) { return out[v]; });
    out.push_back(op.code == OpCode::constant || op.code == OpCode::iota || (is_plain && reads_free));
  }
  return out;
}

std::string attribute_text(const AttrValue& value) {
  return std::visit(
      [](const auto& v) {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, DType>)
          return std::string(name(v));
        else
          return fmt::format("{}", v);
      },
      value);
}

// Equal for ops that do the same with operands of the same types.
std::uint64_t mark_of(const Graph& graph, const Op& op) {
  std::string text = fmt::format("{} {}", name(op.code), to_string(op.type));
  for (const AttrValue& a : op.attrs) text += ' ' + attribute_text(a);
  for (Value v : op.operands) text += ' ' + to_string(graph.type(v));
  return std::hash<std::string>{}(text);
}

// Ops in their order, with what lies between two of them. Place p is in front of the op p.
class Line {
 public:
  explicit Line(const Graph& graph) : graph_(graph), free_(free_values(graph)), rank_(graph.size(), -1) {
    for (Value v = 0; v < graph.size(); ++v) {
      if (free_[v] || graph.op(v).code == OpCode::input) continue;
      rank_[v] = static_cast<std::int64_t>(order_.size());
      order_.push_back(v);
      marks_.push_back(mark_of(graph, graph.op(v)));
    }
    last_use_.assign(graph.size(), -1);
    for (const Value v : order_) {
      for (Value x : graph.op(v).operands) last_use_[x] = std::max(last_use_[x], rank_[v]);
    }
    find_costs();
  }

  std::size_t size() const { return order_.size(); }
  double cost(std::size_t place) const { return costs_[place]; }
  const std::vector<std::uint64_t>& marks() const { return marks_; }
  bool is_free(Value v) const { return free_[v]; }
  std::int64_t rank(Value v) const { return rank_[v]; }
  Value op(std::size_t place) const { return order_[place]; }
  bool is_read_from(Value v, std::size_t place) const { return last_use_[v] >= static_cast<std::int64_t>(place); }

 private:
  // Bytes that are handed on over each place; never between an op of several results and these.
  void find_costs() {
    costs_.assign(order_.size() + 1, 0);
    std::vector<double> change(order_.size() + 2, 0);
    std::vector<bool> never(order_.size() + 1, false);
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const Op& op = graph_.op(order_[i]);
      const double bytes = static_cast<double>(op.type.size() * size_bytes(op.type.dtype));
      change[i + 1] += bytes;
      change[std::max<std::int64_t>(static_cast<std::int64_t>(i), last_use_[order_[i]]) + 1] -= bytes;
      if (op.code != OpCode::result) continue;
      for (std::size_t p = static_cast<std::size_t>(rank_[op.operands[0]]) + 1; p <= i; ++p) never[p] = true;
    }
    double now = 0;
    for (std::size_t p = 0; p < costs_.size(); ++p) {
      now += change[p];
      costs_[p] = never[p] ? kNever : now + kOfACut;
    }
  }

  const Graph& graph_;
  std::vector<bool> free_;
  std::vector<std::int64_t> rank_, last_use_;
  std::vector<Value> order_;
  std::vector<std::uint64_t> marks_;
  std::vector<double> costs_;
};

using Cost = std::function<double(std::size_t)>;

// Places between first and last at which the sum of costs is least, with at most `most` ops from one to the next.
std::vector<std::size_t> cheapest(std::size_t first, std::size_t last, std::size_t most, const Cost& cost) {
  std::vector<double> best(last - first + 1, kNever);
  std::vector<std::size_t> from(best.size(), 0);
  best[0] = 0;
  for (std::size_t p = 1; p < best.size(); ++p) {
    const double own = first + p == last ? 0 : cost(first + p);
    for (std::size_t q = p; q-- > 0;) {
      const bool is_far = p - q > most;
      if (is_far && best[p] < kNever) break;  // longer ones only where no cut was possible
      if (best[q] + own < best[p]) best[p] = best[q] + own, from[p] = q;
    }
  }
  std::vector<std::size_t> out;
  for (std::size_t p = from.back(); p > 0; p = from[p]) out.push_back(first + p);
  std::reverse(out.begin(), out.end());
  return out;
}

class Cutter {
 public:
  Cutter(const Line& line, std::size_t most) : line_(line), most_(most) {}

  // All places, the ends too.
  std::vector<std::size_t> places() {
    part(0, line_.size());
    out_.insert(0);
    out_.insert(line_.size());
    return {out_.begin(), out_.end()};
  }

 private:
  void part(std::size_t first, std::size_t last) {
    if (last - first <= most_) return;
    const auto found = longest_repeat(line_.marks(), first, last);
    const auto repeat = found ? with_phase(*found) : std::nullopt;
    if (!repeat) {
      const auto cuts = cheapest(first, last, most_, [&](std::size_t p) { return line_.cost(p); });
      out_.insert(cuts.begin(), cuts.end());
      return;
    }
    cut_repeat(*repeat);
    part(first, repeat->start);
    part(repeat->end(), last);
  }

  // Several periods at once where they are short, beginning where least is handed on.
  std::optional<Repeat> with_phase(const Repeat& r) const {
    const std::size_t at_once = r.period >= kWorthwhile ? 1 : std::min(kWorthwhile, most_) / r.period;
    const std::size_t period = r.period * std::max<std::size_t>(1, at_once);
    std::optional<Repeat> best;
    double least = kNever;
    for (std::size_t start = r.start; start < r.start + period && start + 2 * period <= r.end(); ++start) {
      const Repeat tried{start, period, (r.end() - start) / period};
      double cost = 0;
      for (std::size_t i = 0; i <= tried.count; ++i) cost += line_.cost(start + i * period);
      cost /= static_cast<double>(tried.count + 1);
      if (cost >= least) continue;
      least = cost;
      best = tried;
    }
    return best;
  }

  void cut_repeat(const Repeat& r) {
    for (std::size_t i = 0; i <= r.count; ++i) out_.insert(r.start + i * r.period);
    if (r.period <= most_) return;
    const Cost all = [&](std::size_t p) {
      double sum = 0;
      for (std::size_t i = 0; i < r.count; ++i) sum += line_.cost(p + i * r.period);
      return sum;
    };
    for (const std::size_t p : cheapest(r.start, r.start + r.period, most_, all)) {
      for (std::size_t i = 0; i < r.count; ++i) out_.insert(p + i * r.period);
    }
  }

  const Line& line_;
  std::size_t most_;
  std::set<std::size_t> out_;
};

// Copies ops of the whole program into a piece.
class Copier {
 public:
  Copier(const Graph& graph, const Line& line, std::size_t first, std::size_t last)
      : graph_(graph), line_(line), first_(first), last_(last) {}

  void add(Value v, int output) {
    out_.graph.output(fmt::format("r{}", out_.results.size()), now(v));
    out_.results.push_back({v, output});
  }
  Value now(Value v) {
    const auto found = now_.find(v);
    if (found != now_.end()) return found->second;
    const std::int64_t rank = line_.rank(v);
    const bool is_here = rank >= static_cast<std::int64_t>(first_) && rank < static_cast<std::int64_t>(last_);
    return now_[v] = is_here || line_.is_free(v) ? copied(v) : argument(v);
  }
  Piece finish() { return std::move(out_); }

 private:
  Value copied(Value v) {
    const Op& op = graph_.op(v);
    std::vector<Value> operands;
    for (Value x : op.operands) operands.push_back(now(x));
    return out_.graph.copy(graph_, op, std::move(operands));
  }
  Value argument(Value v) {
    out_.arguments.push_back(v);
    return out_.graph.input(fmt::format("a{}", out_.arguments.size() - 1), graph_.type(v));
  }

  const Graph& graph_;
  const Line& line_;
  std::size_t first_, last_;
  Piece out_{Graph(graph_.name), {}, {}};
  std::map<Value, Value> now_;
};

// Which output a value is, the first of several; -1: none.
std::map<Value, int> outputs_by_value(const Graph& graph) {
  std::map<Value, int> out;
  for (std::size_t i = 0; i < graph.outputs().size(); ++i)
    out.try_emplace(graph.outputs()[i].value, static_cast<int>(i));
  return out;
}

}  // namespace

std::int64_t counted_ops(const Graph& graph) { return static_cast<std::int64_t>(Line(graph).size()); }

std::vector<Piece> cut(const Graph& graph, std::int64_t most_ops) {
  const Line line(graph);
  const std::map<Value, int> outputs = outputs_by_value(graph);
  const std::vector<std::size_t> places =
      Cutter(line, static_cast<std::size_t>(std::max<std::int64_t>(1, most_ops))).places();
  std::vector<Piece> out;
  for (std::size_t i = 0; i + 1 < places.size(); ++i) {
    Copier copier(graph, line, places[i], places[i + 1]);
    for (std::size_t p = places[i]; p < places[i + 1]; ++p) copier.now(line.op(p));  // in their order
    for (std::size_t p = places[i]; p < places[i + 1]; ++p) {
      const auto output = outputs.find(line.op(p));
      if (output != outputs.end() || line.is_read_from(line.op(p), places[i + 1]))
        copier.add(line.op(p), output == outputs.end() ? -1 : output->second);
    }
    Piece piece = copier.finish();
    if (!piece.results.empty()) out.push_back(std::move(piece));
  }
  // Outputs that nobody computes: inputs, constants, and the second name of a value.
  Copier rest(graph, line, line.size(), line.size());
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    const Value v = graph.outputs()[i].value;
    if (line.rank(v) < 0 || outputs.at(v) != static_cast<int>(i)) rest.add(v, static_cast<int>(i));
  }
  Piece piece = rest.finish();
  if (!piece.results.empty()) out.push_back(std::move(piece));
  return out;
}

}  // namespace kiln::tensor
