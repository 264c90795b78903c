#include "kiln/tensor/ir/graph.h"

#include <fmt/format.h>

#include "kiln/tensor/ir/rules.h"

namespace kiln::tensor {

const AttrValue& Op::attr(std::string_view name) const {
  const auto& infos = info(code).attributes;
  for (std::size_t i = 0; i < infos.size(); ++i) {
    if (infos[i].name == name) return attrs.at(i);
  }
  internal_error(__FILE__, __LINE__, fmt::format("{} has no attribute {}", tensor::name(code), name));
}

Value Graph::push(Op op) {
  op.loc = loc_;
  op.type = infer(*this, op);
  ops_.push_back(std::move(op));
  return size() - 1;
}

Value Graph::add(OpCode code, std::vector<Value> operands, Attrs attrs, std::vector<Body> bodies) {
  return push({.code = code, .operands = std::move(operands), .attrs = std::move(attrs), .bodies = std::move(bodies)});
}

Value Graph::input(std::string input_name, Type type) {
  for (const Op& op : ops_) {
    if (op.code != OpCode::input || op.text("name") != input_name) continue;
    raise(rules::kTable, rules::kNames,
          {.found = fmt::format("two inputs are called `{}`", input_name), .loc = locs_[loc_]});
  }
  return push({.code = OpCode::input, .type = std::move(type), .attrs = {std::move(input_name)}});
}

Value Graph::constant(Type type, std::vector<double> numbers) {
  for (double& x : numbers) x = stored(type.dtype, x);
  return push({.code = OpCode::constant,
               .type = std::move(type),
               .numbers = std::make_shared<const std::vector<double>>(std::move(numbers))});
}

Value Graph::iota(Type type, std::int64_t axis) {
  return push({.code = OpCode::iota, .type = std::move(type), .attrs = {axis}});
}

Value Graph::kernel(std::shared_ptr<const isa::Program> program, std::vector<Value> operands) {
  return push({.code = OpCode::kernel, .operands = std::move(operands), .kernel = std::move(program)});
}

void Graph::output(std::string output_name, Value value) {
  for (const Op& op : ops_) {
    if (op.code == OpCode::input && op.text("name") == output_name)
      raise(rules::kTable, rules::kNames,
            {.found = fmt::format("an input and an output are called `{}`", output_name), .loc = locs_[loc_]});
  }
  for (const Output& o : outputs_) {
    if (o.name == output_name)
      raise(rules::kTable, rules::kNames,
            {.found = fmt::format("two outputs are called `{}`", output_name), .loc = locs_[loc_]});
  }
  outputs_.push_back({std::move(output_name), value});
}

Value Graph::copy(const Graph& from, const Op& op, std::vector<Value> operands) {
  if (from.loc(op).known()) at(from.loc(op));
  Op mine = op;
  mine.operands = std::move(operands);
  return push(std::move(mine));
}

void Graph::at(SourceLoc loc) {
  if (!(locs_.back() == loc)) locs_.push_back(std::move(loc));
  loc_ = static_cast<std::uint32_t>(locs_.size() - 1);
}

std::vector<Value> Graph::inputs() const {
  std::vector<Value> out;
  for (Value v = 0; v < size(); ++v) {
    if (ops_[v].code == OpCode::input) out.push_back(v);
  }
  return out;
}

std::vector<int> Graph::uses() const {
  std::vector<int> out(ops_.size(), 0);
  for (const Op& op : ops_) {
    for (Value v : op.operands) ++out[v];
  }
  for (const Output& o : outputs_) ++out[o.value];
  return out;
}

}  // namespace kiln::tensor
