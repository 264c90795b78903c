#include "kiln/tensor/passes/activations.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

namespace kiln::tensor {
namespace {

constexpr std::size_t kMostOps = 16;  // of a formula
constexpr double kFarthest = 8;       // numbers that it is tried on, on either side of 0

double gelu_of(double x) { return x / 2 * (1 + std::erf(x / std::numbers::sqrt2)); }
double gelu_tanh_of(double x) {
  return x / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}
double mish_of(double x) { return x * std::tanh(std::log1p(std::exp(x))); }

struct Activation {
  OpCode code;
  double (*of)(double);
};
constexpr Activation kActivations[] = {
    {OpCode::gelu_tanh, gelu_tanh_of}, {OpCode::gelu, gelu_of}, {OpCode::mish, mish_of}};

// What an op makes of numbers; nothing for ops that such formulas do not have.
std::optional<double> applied(OpCode code, double x, double y) {
  switch (code) {
    case OpCode::add:
      return x + y;
    case OpCode::subtract:
      return x - y;
    case OpCode::multiply:
      return x * y;
    case OpCode::divide:
      return x / y;
    case OpCode::power:
      return std::pow(x, y);
    case OpCode::negative:
      return -x;
    case OpCode::square:
      return x * x;
    case OpCode::tanh:
      return std::tanh(x);
    case OpCode::erf:
      return std::erf(x);
    case OpCode::exp:
      return std::exp(x);
    case OpCode::log:
      return std::log(x);
    case OpCode::log1p:
      return std::log1p(x);
    case OpCode::softplus:
      return std::log1p(std::exp(x));
    default:
      return {};
  }
}

// The product of two values, and what they are made of.
class Formula {
 public:
  Formula(const Graph& graph, Value left, Value right) : graph_(graph), left_(left), right_(right) {
    gather(left);
    gather(right);
  }

  // Values that it may be a formula of.
  const std::set<Value>& values() const { return values_; }
  bool has(OpCode code) const {
    return std::any_of(values_.begin(), values_.end(), [&](Value v) { return graph_.op(v).code == code; });
  }

  // Its value where x has this one; nothing when it is made of more than x.
  std::optional<double> at(Value x, double number) const {
    const auto a = of(left_, x, number), b = of(right_, x, number);
    return a && b ? std::optional(*a * *b) : std::nullopt;
  }

 private:
  void gather(Value v) {
    if (values_.size() >= kMostOps || splat_of(graph_, v) || !values_.insert(v).second) return;
    if (!applied(graph_.op(v).code, 1, 1)) return;
    for (Value operand : graph_.op(v).operands) gather(operand);
  }

  std::optional<double> of(Value v, Value x, double number) const {
    if (v == x) return number;
    if (const auto constant = splat_of(graph_, v)) return constant;
    const Op& op = graph_.op(v);
    if (!values_.contains(v) || op.operands.empty() || !applied(op.code, 1, 1)) return {};
    double given[2] = {0, 0};
    for (std::size_t i = 0; i < op.operands.size(); ++i) {
      const auto operand = of(op.operands[i], x, number);
      if (!operand) return {};
      given[i] = *operand;
    }
    return applied(op.code, given[0], given[1]);
  }

  const Graph& graph_;
  Value left_, right_;
  std::set<Value> values_;
};

// Whether a formula of x is a function, as far as the dtype tells them apart: its own numbers were rounded to it.
bool is_same(const Formula& formula, Value x, double (*function)(double), DType dtype) {
  const double near = dtype == DType::float32 ? 2e-6 : std::ldexp(1.0, -9);
  for (double number = -kFarthest; number <= kFarthest; number += 0.37) {
    const auto value = formula.at(x, number);
    if (!value || !(std::fabs(*value - function(number)) <= near * std::fabs(number))) return false;
  }
  return true;
}

}  // namespace

std::optional<Value> recognised_activation(const Rewriting& r) {
  const DType t = r.op.type.dtype;
  if (r.op.code != OpCode::multiply || (t != DType::float32 && size_bytes(t) != 2) || !is_float(t)) return {};
  const auto is_function = [&](Value v) {
    const OpCode code = r.to.op(v).code;
    return code == OpCode::multiply || code == OpCode::add || code == OpCode::tanh;
  };
  if (std::none_of(r.operands.begin(), r.operands.end(), is_function)) return {};
  const Formula formula(r.to, r.operands[0], r.operands[1]);
  if (!formula.has(OpCode::tanh) && !formula.has(OpCode::erf)) return {};
  for (Value x : formula.values()) {
    if (!(r.to.type(x) == r.op.type)) continue;
    for (const Activation& a : kActivations) {
      if (is_same(formula, x, a.of, t)) return r.to.add(a.code, {x});
    }
  }
  return {};
}

}  // namespace kiln::tensor
