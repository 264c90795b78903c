#include "kiln/tensor/passes/running_sums.h"

#include <algorithm>
#include <map>
#include <set>

#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {
namespace {

constexpr std::int64_t kMostElements = 8192;  // of a row: what is added up stays in SBUF

// The row that a pass puts at its own place into state; nothing when the state is more than all rows in order.
std::optional<Value> row_of(const Op& loop, std::size_t state) {
  const Graph& body = *loop.bodies[0];
  const std::vector<Value> inputs = body.inputs();
  const Op& update = body.op(body.outputs()[state].value);
  const Value before = inputs[1 + state];
  if (update.code != OpCode::update_slice || update.operands[0] != before || update.operands[2] != inputs[0]) return {};
  const Type& row = body.type(update.operands[1]);
  const bool each = update.integer("axis") == 0 && row.shape[0] == 1 && update.type.shape[0] == loop.integer("count");
  const bool alone = body.uses()[before] == 1 && body.uses()[body.outputs()[state].value] == 1;
  if (!each || !alone || row.dtype != DType::float32 || row.size() > kMostElements) return {};
  return update.operands[1];
}

// Sums of all rows that loops leave, and what lies between them and the loop.
struct Found {
  std::map<Value, std::set<std::size_t>> states;  // by loop
  std::set<Value> sums, views;
};

class Finder {
 public:
  explicit Finder(const Graph& graph) : graph_(graph), uses_(graph.uses()), user_(graph.size(), 0) {
    for (Value v = 0; v < graph.size(); ++v) {
      for (Value x : graph.op(v).operands) user_[x] = v;
    }
  }
  Found run() {
    for (Value v = 0; v < graph_.size(); ++v) {
      const Op& op = graph_.op(v);
      if (op.code == OpCode::for_loop && graph_.type(v).rank() > 0) look(v, 0, v);
      if (op.code == OpCode::result && graph_.op(op.operands[0]).code == OpCode::for_loop)
        look(op.operands[0], static_cast<std::size_t>(op.integer("index")), v);
    }
    return std::move(found_);
  }

 private:
  void look(Value loop, std::size_t state, Value result) {
    const Op& op = graph_.op(loop);
    if (op.integer("count") < 2 || state >= static_cast<std::size_t>(op.integer("carried")) || !row_of(op, state))
      return;
    // Of a loop's own value `result` ops are users too.
    std::set<Value> views;
    Value v = result;
    const auto next = [&](Value x) { return uses_[x] == 1 || (x == loop && plain_uses(x) == 1); };
    while (next(v)) {
      const Value u = v == loop ? plain_user(v) : user_[v];
      if (sums_rows(u, op.integer("count"))) {
        found_.states[loop].insert(state);
        found_.sums.insert(u);
        found_.views.insert(views.begin(), views.end());
        return;
      }
      if (u == 0 || graph_.op(u).code != OpCode::reshape) return;
      views.insert(u);
      v = u;
    }
  }
  bool sums_rows(Value u, std::int64_t count) const {
    const Op& op = graph_.op(u);
    if (op.code != OpCode::sum || op.ints("axes").empty()) return false;
    const Ints& axes = op.ints("axes");
    const Shape& shape = graph_.type(op.operands[0]).shape;
    const auto first = static_cast<std::size_t>(axes.front()), last = static_cast<std::size_t>(axes.back());
    return axes.size() == last - first + 1 && product(shape, 0, first) == 1 && product(shape, first, last + 1) == count;
  }
  int plain_uses(Value loop) const {
    int n = uses_[loop];
    for (const Op& op : graph_.ops()) n -= op.code == OpCode::result && op.operands[0] == loop;
    return n;
  }
  Value plain_user(Value loop) const {
    for (Value v = loop + 1; v < graph_.size(); ++v) {
      const Op& op = graph_.op(v);
      const bool reads = std::find(op.operands.begin(), op.operands.end(), loop) != op.operands.end();
      if (reads && op.code != OpCode::result) return v;
    }
    return 0;
  }

  const Graph& graph_;
  std::vector<int> uses_;
  std::vector<Value> user_;  // the last one
  Found found_;
};

Body adding(const Op& loop, const std::set<std::size_t>& states) {
  const Graph& body = *loop.bodies[0];
  Graph out(body.name);
  const std::vector<Value> inputs = body.inputs();
  std::map<Value, std::size_t> before, after;
  for (std::size_t s : states) {
    before[inputs[1 + s]] = s;
    after[body.outputs()[s].value] = s;
  }
  std::vector<Value> now;
  for (Value v = 0; v < body.size(); ++v) {
    const Op& op = body.op(v);
    if (const auto state = before.find(v); state != before.end()) {
      now.push_back(out.input(op.text("name"), body.type(*row_of(loop, state->second))));
    } else if (const auto sum = after.find(v); sum != after.end()) {
      const Value row = *row_of(loop, sum->second);
      now.push_back(out.add(OpCode::add, {now[inputs[1 + sum->second]], now[row]}));
    } else {
      std::vector<Value> operands;
      for (Value x : op.operands) operands.push_back(now[x]);
      now.push_back(out.copy(body, op, std::move(operands)));
    }
  }
  for (const Output& o : body.outputs()) out.output(o.name, now[o.value]);
  return std::make_shared<const Graph>(std::move(out));
}

}  // namespace

Graph with_running_sums(const Graph& graph) {
  const Found found = Finder(graph).run();
  if (found.sums.empty()) return graph;
  Value at = 0;
  return rebuilt(graph, [&](const Rewriting& r) -> std::optional<Value> {
    const Value v = at++;
    if (found.sums.contains(v)) return reshape(r.operand(0), r.op.type.shape).value();
    if (found.views.contains(v)) return r.operands[0];
    const auto states = found.states.find(v);
    if (states == found.states.end()) return {};
    std::vector<Value> operands = r.operands;
    for (std::size_t s : states->second) operands[s] = r.to.constant(r.op.bodies[0]->type(*row_of(r.op, s)), {0});
    return r.to.add(OpCode::for_loop, std::move(operands), r.op.attrs, {adding(r.op, states->second)});
  });
}

}  // namespace kiln::tensor
