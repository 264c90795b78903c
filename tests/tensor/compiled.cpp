#include "tests/tensor/compiled.h"

#include <fmt/format.h>

#include <cmath>
#include <random>

#include "kiln/check/check_program.h"
#include "kiln/sim/machine.h"
#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {
namespace {

// How far an output may be from the exact one, relative to its largest element: what values in between are rounded to
// counts as much as its own dtype.
double tolerance(const Graph& graph, DType t) {
  if (!is_float(t)) return 0;
  double coarsest = std::ldexp(64.0, -info(t).mantissa_bits + (t == DType::float32 ? 0 : -4));
  for (const Op& op : graph.ops()) {
    if (is_float(op.type.dtype) && op.type.dtype != DType::float32)
      coarsest = std::max(coarsest, std::ldexp(6.0, -info(op.type.dtype).mantissa_bits));
  }
  return coarsest;
}

std::string difference(const std::string& name, const Array& got, const Array& wanted, double allowed) {
  for (std::size_t i = 0; i < wanted.data.size(); ++i) {
    const double a = got.data[i], b = stored(wanted.type.dtype, wanted.data[i]);
    const bool same = a == b || (std::isnan(a) && std::isnan(b)) || std::fabs(a - b) <= allowed;
    if (!same) return fmt::format("{}[{}] is {}, not {} (allowed {})", name, i, a, b, allowed);
  }
  return {};
}

// The largest number that turns up on the way: what is taken away from each other keeps the rounding of what it was.
double largest_of(const Graph& graph, const Arrays& inputs) {
  Graph all = graph;
  bool narrow = false;
  for (Value v = 0; v < graph.size(); ++v) {
    const DType t = graph.type(v).dtype;
    narrow = narrow || (is_float(t) && t != DType::float32);
    if (is_float(t)) all.output(fmt::format("value {}", v), v);
  }
  double largest = 0;
  for (const auto& [name, array] : narrow ? evaluate(all, inputs) : inputs) {
    for (double x : array.data) {
      if (is_float(array.type.dtype) && std::isfinite(x)) largest = std::max(largest, std::fabs(x));
    }
  }
  return largest / 4;
}

// The program with every narrow float rounded as soon as it is computed.
Graph rounded(const Graph& graph) {
  return rebuilt(graph, [](const Rewriting& r) -> std::optional<Value> {
    const DType t = r.op.type.dtype;
    if (!is_float(t) || t == DType::float32 || r.op.code == OpCode::input) return {};
    return r.to.add(OpCode::cast, {r.to.copy(r.from, r.op, r.operands)}, {t});
  });
}

// An output beside the exact one. A program may amplify what its values are rounded to, such as 4 * (1 - x) with x near
// 1: where a bound by magnitude is not enough, it may be as far off as twice what rounding every value does.
std::string difference(const Graph& graph, const Arrays& inputs, const std::string& name, const Array& got,
                       const Array& wanted) {
  double largest = largest_of(graph, inputs);
  for (double x : wanted.data) {
    if (std::isfinite(x)) largest = std::max(largest, std::fabs(x));
  }
  const double allowed = tolerance(graph, wanted.type.dtype) * std::max(largest, 1e-30);
  const std::string wrong = difference(name, got, wanted, allowed);
  if (wrong.empty() || !is_float(wanted.type.dtype)) return wrong;
  const Array other = evaluate(rounded(graph), inputs).at(name);
  double farthest = 0;
  for (std::size_t i = 0; i < wanted.data.size(); ++i) {
    const double far = std::fabs(other.data[i] - wanted.data[i]);
    if (std::isfinite(far)) farthest = std::max(farthest, far);
  }
  return difference(name, got, wanted, std::max(allowed, 2 * farthest));
}

}  // namespace

Arrays random_inputs(const Graph& graph, unsigned seed, const InputOptions& options) {
  std::mt19937 random(seed);
  Arrays out;
  for (const Op& op : graph.ops()) {
    if (op.code != OpCode::input) continue;
    Array a{op.type, std::vector<double>(static_cast<std::size_t>(op.type.size()))};
    const DType t = op.type.dtype;
    std::uniform_real_distribution<double> real(options.low, options.high);
    std::uniform_int_distribution<int> whole(static_cast<int>(std::max(lowest(t), -100.0)), 100);
    for (double& x : a.data) {
      if (t == DType::bool_)
        x = static_cast<double>(random() % 2);
      else
        x = is_float(t) ? stored(t, real(random)) : whole(random);
    }
    out[op.text("name")] = std::move(a);
  }
  return out;
}

Outcome compare(const Graph& graph, const Arrays& inputs, const CompileOptions& options, const Graph* oracle) {
  return compare(compile(graph, options), graph, inputs, oracle);
}

Outcome compare(Compiled compiled, const Graph& graph, const Arrays& inputs, const Graph* oracle) {
  Outcome out{.compiled = std::move(compiled)};
  const isa::Program& program = out.compiled.program;
  for (const isa::Program* core : out.compiled.launch().programs) {
    const check::Report report = check::check_program(*core, arch(program.target));
    if (report.diagnostics.empty()) continue;
    out.wrong = to_text(report.diagnostics);
    return out;
  }
  std::map<std::string, std::vector<std::byte>> bytes;
  sim::Buffers buffers;
  const auto bind = [&](const std::string& name, const Array& array) {
    if (array.data.empty()) return;
    auto& b = bytes[name] = to_bytes(array);
    buffers[name] = {b.data(), b.size()};
  };
  for (const auto& [name, array] : inputs) bind(name, array);
  for (const Constant& c : out.compiled.constants) bind(c.name, c.array);
  const Arrays wanted = evaluate(oracle ? *oracle : graph, inputs);
  for (const auto& [name, array] : wanted) bind(name, {array.type, std::vector<double>(array.data.size())});
  std::erase_if(buffers, [&](const auto& b) {
    for (const isa::Tensor& t : program.tensors) {
      if (t.name == b.first && t.role != isa::Role::internal) return false;
    }
    return true;
  });
  out.executed =
      sim::run(out.compiled.launch(), arch(program.target), buffers, {.nan = sim::NanMode::off}).instructions;
  for (const auto& [name, array] : wanted) {
    if (array.data.empty()) continue;
    const auto alias = out.compiled.aliases.find(name);
    const std::string& at = alias == out.compiled.aliases.end() ? name : alias->second;
    out.wrong =
        difference_from(oracle ? *oracle : graph, inputs, name, from_bytes(array.type, bytes[at].data()), array);
    if (!out.wrong.empty()) break;
  }
  return out;
}

std::string difference_from(const Graph& graph, const Arrays& inputs, const std::string& name, const Array& got,
                            const Array& wanted) {
  return difference(graph, inputs, name, got, wanted);
}

Outcome compare(const Graph& graph, unsigned seed, const CompileOptions& options, const InputOptions& inputs) {
  return compare(graph, random_inputs(graph, seed, inputs), options);
}

}  // namespace kiln::tensor
