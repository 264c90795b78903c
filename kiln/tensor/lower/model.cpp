#include "kiln/tensor/lower/model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "kiln/tensor/ir/text.h"
#include "kiln/tensor/ir/verify.h"
#include "kiln/tensor/lower/hbm_plan.h"
#include "kiln/tensor/passes/bodies.h"
#include "kiln/tensor/passes/cut.h"
#include "kiln/tensor/passes/steps_at_once.h"

namespace kiln::tensor {
namespace {

class ModelMaker {
 public:
  ModelMaker(const Graph& graph, std::vector<Piece> pieces, const CompileOptions& options, const ModelOptions& how)
      : graph_(graph), options_(options), how_(how), pieces_(std::move(pieces)) {
    out_.name = graph.name;
    for (const Value v : graph.inputs()) {
      buffer_of_[v] = out_.buffers.size();
      out_.buffers.push_back({.kind = Buffer::Kind::input, .name = graph.op(v).text("name"), .type = graph.type(v)});
    }
    for (std::size_t s = 0; s < pieces_.size(); ++s) {
      for (const Value v : pieces_[s].arguments) last_read_[v] = s;
    }
  }

  Model run() {
    for (std::size_t s = 0; s < pieces_.size(); ++s) add_step(s);
    place();
    return std::move(out_);
  }

 private:
  void add_step(std::size_t s) {
    const Piece& piece = pieces_[s];
    Step step{.kernel = kernel_of(s)};
    for (std::size_t i = 0; i < piece.arguments.size(); ++i) {
      const std::size_t b = step.buffers[fmt::format("a{}", i)] = buffer_of_.at(piece.arguments[i]);
      out_.buffers[b].last = s;
    }
    const auto& aliases = out_.kernels[step.kernel].aliases;
    for (std::size_t i = 0; i < piece.results.size(); ++i) {
      const std::string name = fmt::format("r{}", i);
      const auto alias = aliases.find(name);
      if (alias == aliases.end())
        step.buffers[name] = new_buffer(piece.results[i], s);
      else
        updated(piece.results[i], step.buffers.at(alias->second));
    }
    out_.steps.push_back(std::move(step));
  }

  // A result that is an input of the program, changed in place.
  void updated(const PieceResult& result, std::size_t buffer) {
    buffer_of_[result.value] = buffer;
    if (result.output >= 0) out_.aliases[graph_.outputs()[result.output].name] = out_.buffers[buffer].name;
  }

  std::size_t new_buffer(const PieceResult& result, std::size_t step) {
    const bool is_output = result.output >= 0;
    buffer_of_.try_emplace(result.value, out_.buffers.size());
    out_.buffers.push_back(
        {.kind = is_output ? Buffer::Kind::output : Buffer::Kind::between,
         .name = is_output ? graph_.outputs()[result.output].name : fmt::format("between{}", out_.buffers.size()),
         .type = graph_.type(result.value),
         .first = step,
         .last = step});
    return out_.buffers.size() - 1;
  }

  // Equal pieces are one kernel.
  std::size_t kernel_of(std::size_t s) {
    CompileOptions options = options_;
    options.donated = donated_in(s);
    const std::string key = fmt::format("{}\n{}", fmt::join(options.donated, " "), print(pieces_[s].graph));
    const auto [found, is_new] = kernels_.try_emplace(key, out_.kernels.size());
    if (!is_new) return found->second;
    Graph graph = pieces_[s].graph;
    graph.name = fmt::format("{}_{}", graph_.name, out_.kernels.size());
    out_.kernels.push_back(how_.compile(graph, options));
    return found->second;
  }

  // Arguments that may be overwritten: donated inputs that nobody reads later.
  std::vector<std::string> donated_in(std::size_t s) const {
    std::vector<std::string> out;
    const auto& names = options_.donated;
    const Piece& piece = pieces_[s];
    for (std::size_t i = 0; i < piece.arguments.size(); ++i) {
      const Value v = piece.arguments[i];
      const Op& op = graph_.op(v);
      if (op.code != OpCode::input || last_read_.at(v) != s) continue;
      if (std::find(names.begin(), names.end(), op.text("name")) != names.end()) out.push_back(fmt::format("a{}", i));
    }
    return out;
  }

  void place() {
    std::vector<Lifetime> lives;
    for (const Buffer& b : out_.buffers) {
      if (b.kind != Buffer::Kind::between) continue;
      lives.push_back({.bytes = b.bytes(), .first = b.first, .last = b.last});
      out_.handed_on_bytes += b.bytes();
    }
    out_.between_bytes = plan_hbm(lives);
    auto next = lives.begin();
    for (Buffer& b : out_.buffers) {
      if (b.kind == Buffer::Kind::between) b.offset = (next++)->offset;
    }
    for (const Compiled& k : out_.kernels) {
      std::int64_t bytes = 0;
      for (const isa::Tensor& t : k.program.tensors) {
        const bool in_hbm = t.memory == Memory::hbm || t.memory == Memory::shared_hbm;
        if (t.role == isa::Role::internal && in_hbm) bytes += t.size() * size_bytes(t.dtype);
      }
      out_.scratch_bytes = std::max(out_.scratch_bytes, bytes);
    }
  }

  const Graph& graph_;
  const CompileOptions& options_;
  const ModelOptions& how_;
  std::vector<Piece> pieces_;
  std::map<Value, std::size_t> buffer_of_, last_read_;
  std::map<std::string, std::size_t> kernels_;
  Model out_;
};

// A program that is one kernel, whose arguments and results are those of the program.
Model one_kernel(const Graph& graph, Compiled made) {
  Model out{.name = graph.name, .kernels = {}, .steps = {{}}, .buffers = {}, .aliases = {}};
  out.kernels.push_back(std::move(made));
  out.aliases = out.kernels[0].aliases;
  const auto add = [&](Buffer::Kind kind, const std::string& name, const Type& type) {
    out.steps[0].buffers[name] = out.buffers.size();
    out.buffers.push_back({.kind = kind, .name = name, .type = type});
  };
  for (const Value v : graph.inputs()) add(Buffer::Kind::input, graph.op(v).text("name"), graph.type(v));
  for (const Output& o : graph.outputs()) {
    if (!out.aliases.contains(o.name)) add(Buffer::Kind::output, o.name, graph.type(o.value));
  }
  return out;
}

}  // namespace

Model compile_model(const Graph& graph, const CompileOptions& options, const ModelOptions& how) {
  verify(graph, "the front end");
  Graph whole = inlined(graph);
  if (counted_ops(whole) > how.most_ops) whole = with_steps_at_once(whole);  // steps of a recurrence are not cut
  if (counted_ops(whole) <= how.most_ops) return one_kernel(whole, how.compile(whole, options));
  std::vector<Piece> pieces = cut(whole, how.most_ops);
  // What cannot be cut, or has nothing but dead ops beyond a cut, is one kernel after all.
  if (pieces.size() <= 1) return one_kernel(graph, how.compile(graph, options));
  return ModelMaker(whole, std::move(pieces), options, how).run();
}

}  // namespace kiln::tensor
