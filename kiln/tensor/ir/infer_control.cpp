// Types of ops with bodies: what goes into a body is what its inputs say, what comes out is state again.
#include "kiln/tensor/ir/collective.h"
#include "kiln/tensor/ir/infer_op.h"

namespace kiln::tensor {
namespace {

void require_bodies(const Ask& a, std::size_t count) {
  a.require(a.op.bodies.size() == count, rules::kBody, fmt::format("{} bodies, not {}", a.op.bodies.size(), count));
}

// The inputs of a body are `given`, in order.
void require_inputs(const Ask& a, const Graph& body, const std::vector<Type>& given) {
  const std::vector<Value> inputs = body.inputs();
  a.require(inputs.size() == given.size(), rules::kBody,
            fmt::format("a body of {} inputs where {} are given", inputs.size(), given.size()));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    a.require(
        body.type(inputs[i]) == given[i], rules::kBody,
        fmt::format("input {} of a body is {}, given is {}", i, to_string(body.type(inputs[i])), to_string(given[i])));
  }
}

std::vector<Type> outputs_of(const Ask& a, const Graph& body) {
  std::vector<Type> out;
  for (const Output& o : body.outputs()) out.push_back(body.type(o.value));
  a.require(!out.empty(), rules::kBody, "a body without outputs");
  return out;
}

std::vector<Type> operands_of(const Ask& a, std::size_t first = 0) {
  std::vector<Type> out;
  for (std::size_t i = first; i < a.op.operands.size(); ++i) out.push_back(a.operand(i));
  return out;
}

// Checks that a body gives back the state it takes; the type of the first one.
Type require_state(const Ask& a, const Graph& body) {
  const std::int64_t carried = a.op.integer("carried");
  const std::vector<Type> given = operands_of(a), out = outputs_of(a, body);
  a.require(carried >= 1 && carried <= static_cast<std::int64_t>(given.size()), rules::kBody,
            fmt::format("{} states of {} operands", carried, given.size()));
  a.require(static_cast<std::int64_t>(out.size()) == carried, rules::kBody,
            fmt::format("a body of {} outputs for {} states", out.size(), carried));
  for (std::size_t i = 0; i < out.size(); ++i) {
    a.require(out[i] == given[i], rules::kBody,
              fmt::format("state {} is {} before a pass and {} after it", i, to_string(given[i]), to_string(out[i])));
  }
  return out[0];
}

}  // namespace

Type infer_for_loop(const Ask& a) {
  require_bodies(a, 1);
  a.require(a.op.integer("count") >= 0, rules::kBody, fmt::format("{} passes", a.op.integer("count")));
  std::vector<Type> given = operands_of(a);
  given.insert(given.begin(), Type{DType::int32, {}});
  require_inputs(a, *a.op.bodies[0], given);
  return require_state(a, *a.op.bodies[0]);
}

Type infer_while_loop(const Ask& a) {
  require_bodies(a, 2);
  for (const Body& body : a.op.bodies) require_inputs(a, *body, operands_of(a));
  const std::vector<Type> condition = outputs_of(a, *a.op.bodies[0]);
  a.require(condition.size() == 1 && condition[0] == Type{DType::bool_, {}}, rules::kBody,
            fmt::format("a condition {}", to_string(condition[0])));
  return require_state(a, *a.op.bodies[1]);
}

Type infer_branch(const Ask& a) {
  require_bodies(a, 2);
  a.require(!a.op.operands.empty() && a.operand(0) == Type{DType::bool_, {}}, rules::kBody,
            "the condition is no bool[]");
  for (const Body& body : a.op.bodies) require_inputs(a, *body, operands_of(a, 1));
  const std::vector<Type> yes = outputs_of(a, *a.op.bodies[0]);
  a.require(yes == outputs_of(a, *a.op.bodies[1]), rules::kBody, "two bodies with results of other types");
  return yes[0];
}

Type infer_call(const Ask& a) {
  require_bodies(a, 1);
  require_inputs(a, *a.op.bodies[0], operands_of(a));
  return outputs_of(a, *a.op.bodies[0])[0];
}

Type infer_result(const Ask& a) {
  const Op& from = a.graph.op(a.op.operands[0]);
  a.require(!from.bodies.empty() || from.kernel || is_sized(from.code), rules::kBody,
            fmt::format("a result of {}", name(from.code)));
  const std::vector<Type> types = result_types(from);
  const std::int64_t index = a.op.integer("index");
  a.require(index >= 0 && index < static_cast<std::int64_t>(types.size()), rules::kBody,
            fmt::format("result {} of {}", index, types.size()));
  return types[index];
}

namespace {

// Truth is a byte on the chip, and a scalar has one element.
bool is_argument(const isa::Tensor& tensor, const Type& t) {
  const DType stored = t.dtype == DType::bool_ ? DType::uint8 : t.dtype;
  return tensor.dtype == stored && tensor.shape == (t.shape.empty() ? Shape{1} : t.shape);
}

}  // namespace

Type infer_kernel(const Ask& a) {
  a.require(a.op.kernel != nullptr, rules::kBody, "no kernel");
  std::size_t next = 0;
  for (const isa::Tensor& t : a.op.kernel->tensors) {
    a.require(t.role == isa::Role::internal || !is_on_chip(t.memory), rules::kBody,
              fmt::format("argument {} of the kernel lies on the chip", t.name));
    a.require(!t.address, rules::kBody, fmt::format("{} of the kernel has an address of its own", t.name));
    if (t.role != isa::Role::input && t.role != isa::Role::inout) continue;
    a.require(next < a.op.operands.size() && is_argument(t, a.operand(next)), rules::kBody,
              fmt::format("argument {} of the kernel is {}", t.name, to_string(Type{t.dtype, t.shape})));
    ++next;
  }
  a.require(next == a.op.operands.size(), rules::kBody,
            fmt::format("{} operands for {} arguments", a.op.operands.size(), next));
  const std::vector<Type> types = result_types(a.op);
  a.require(!types.empty(), rules::kBody, "the kernel has no results");
  return types[0];
}

std::vector<Type> result_types(const Op& op) {
  std::vector<Type> out;
  if (op.kernel) {
    for (isa::Role role : {isa::Role::output, isa::Role::inout}) {
      for (const isa::Tensor& t : op.kernel->tensors) {
        if (t.role == role) out.push_back({t.dtype, t.shape});
      }
    }
    return out;
  }
  if (is_sized(op.code)) return {op.type, {DType::int32, {group_size(op)}}};
  if (op.bodies.empty()) return {op.type};
  for (const Output& o : op.bodies.back()->outputs()) out.push_back(op.bodies.back()->type(o.value));
  return out;
}

}  // namespace kiln::tensor
