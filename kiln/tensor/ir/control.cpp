#include "kiln/tensor/ir/control.h"

#include <fmt/format.h>

#include "kiln/tensor/ir/rules.h"

namespace kiln::tensor {
namespace {

// A body whose inputs are of these types; `make` gives its outputs.
Body body_of(const std::vector<Type>& types, const std::function<Exprs(const Exprs&)>& make) {
  auto graph = std::make_shared<Graph>("body");
  Exprs inputs;
  for (std::size_t i = 0; i < types.size(); ++i)
    inputs.emplace_back(*graph, graph->input(fmt::format("x{}", i), types[i]));
  const Exprs outputs = make(inputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) graph->output(fmt::format("y{}", i), outputs[i].value());
  return graph;
}

std::vector<Type> types_of(const Exprs& a, const Exprs& b) {
  std::vector<Type> out;
  for (const Exprs* part : {&a, &b}) {
    for (const Expr& e : *part) out.push_back(e.type());
  }
  return out;
}

std::vector<Value> values_of(const Exprs& a, const Exprs& b) {
  std::vector<Value> out;
  for (const Exprs* part : {&a, &b}) {
    for (const Expr& e : *part) out.push_back(e.value());
  }
  return out;
}

Exprs front(const Exprs& all, std::size_t n) { return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n)}; }
Exprs behind(const Exprs& all, std::size_t n) { return {all.begin() + static_cast<std::ptrdiff_t>(n), all.end()}; }

Graph& graph_of(const Exprs& state, const At& at) {
  if (state.empty()) raise(rules::kTable, rules::kBody, {.found = "a loop without state"});
  Graph& graph = state[0].graph();
  if (!graph.pinned) graph.at(SourceLoc{.file = at.file_name(), .line = static_cast<int>(at.line())});
  return graph;
}

Exprs results(Graph& graph, Value v) {
  const std::size_t n = graph.op(v).bodies.back()->outputs().size();
  Exprs out{{graph, v}};
  for (std::size_t i = 1; i < n; ++i)
    out.emplace_back(graph, graph.add(OpCode::result, {v}, {static_cast<std::int64_t>(i)}));
  return out;
}

}  // namespace

Exprs for_loop(std::int64_t count, const Exprs& state, const Exprs& reads,
               const std::function<Exprs(Expr, const Exprs&, const Exprs&)>& body, At at) {
  Graph& graph = graph_of(state, at);
  std::vector<Type> types = types_of(state, reads);
  types.insert(types.begin(), Type{DType::int32, {}});
  const std::size_t n = state.size();
  const Body made = body_of(types, [&](const Exprs& in) {
    const Exprs rest = behind(in, 1);
    return body(in[0], front(rest, n), behind(rest, n));
  });
  return results(graph,
                 graph.add(OpCode::for_loop, values_of(state, reads), {count, static_cast<std::int64_t>(n)}, {made}));
}

Exprs while_loop(const Exprs& state, const Exprs& reads,
                 const std::function<Expr(const Exprs&, const Exprs&)>& condition, const StateBody& body, At at) {
  Graph& graph = graph_of(state, at);
  const std::size_t n = state.size();
  const std::vector<Type> types = types_of(state, reads);
  const Body asked = body_of(types, [&](const Exprs& in) { return Exprs{condition(front(in, n), behind(in, n))}; });
  const Body made = body_of(types, [&](const Exprs& in) { return body(front(in, n), behind(in, n)); });
  return results(graph,
                 graph.add(OpCode::while_loop, values_of(state, reads), {static_cast<std::int64_t>(n)}, {asked, made}));
}

Exprs branch(const Here& condition, const Exprs& reads, const std::function<Exprs(const Exprs&)>& yes,
             const std::function<Exprs(const Exprs&)>& no) {
  Graph& graph = graph_of({condition}, condition.at);
  const std::vector<Type> types = types_of(reads, {});
  return results(
      graph, graph.add(OpCode::branch, values_of({condition}, reads), {}, {body_of(types, yes), body_of(types, no)}));
}

Exprs scan(const Exprs& state, const Exprs& xs, const Exprs& reads,
           const std::function<Exprs(const Exprs&, const Exprs&, const Exprs&)>& body, At at) {
  if (xs.empty()) raise(rules::kTable, rules::kBody, {.found = "a scan of nothing"});
  const std::int64_t count = xs[0].shape().at(0);
  const auto slice_type = [](const Expr& x) { return Type{x.dtype(), Shape(x.shape().begin() + 1, x.shape().end())}; };
  // What the body gives for one slice tells what is put together.
  std::vector<Type> types = types_of(state, {});
  for (const Expr& x : xs) types.push_back(slice_type(x));
  for (const Expr& x : reads) types.push_back(x.type());
  const std::size_t n = state.size(), m = xs.size();
  const Body once =
      body_of(types, [&](const Exprs& in) { return body(front(in, n), front(behind(in, n), m), behind(in, n + m)); });
  Graph& graph = graph_of(xs, at);
  Exprs all = state;
  for (std::size_t i = n; i < once->outputs().size(); ++i) {
    Type t = once->type(once->outputs()[i].value);
    t.shape.insert(t.shape.begin(), count);
    all.emplace_back(graph, graph.constant(t, {0}));
  }
  Exprs given = xs;
  given.insert(given.end(), reads.begin(), reads.end());
  return for_loop(
      count, all, given,
      [&](const Expr& pass, const Exprs& now, const Exprs& read) {
        Exprs slices;
        for (std::size_t i = 0; i < m; ++i)
          slices.push_back(reshape(dynamic_slice(read[i], pass, 0, 1), slice_type(read[i]).shape));
        Exprs out = body(front(now, n), slices, behind(read, m));
        for (std::size_t i = n; i < out.size(); ++i) out[i] = update_slice(now[i], expand_dims(out[i], 0), pass, 0);
        return out;
      },
      at);
}

}  // namespace kiln::tensor
