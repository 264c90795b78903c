// Tensor programs in C++ that read like the math.
//
//   Builder b("attention");
//   Expr q = b.input("q", {DType::bfloat16, {16, 512, 128}}), ...;
//   b.output("out", matmul(softmax(matmul(q, transpose(k)) * 0.088 + mask), v));
//   Graph graph = b.finish();
#pragma once

#include <initializer_list>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "kiln/tensor/ir/graph.h"
#include "kiln/tensor/ir/weak.h"

namespace kiln::tensor {

class Builder;

// A value of a program that is being built. A number stands for itself: it takes the dtype of the tensor beside it.
class Expr {
 public:
  Expr(double x) : scalar_{x, true} {}                              // NOLINT: implicit on purpose
  Expr(int x) : scalar_{static_cast<double>(x), false} {}           // NOLINT
  Expr(std::int64_t x) : scalar_{static_cast<double>(x), false} {}  // NOLINT
  Expr(Graph& graph, Value value) : graph_(&graph), value_(value) {}
  bool is_number() const { return graph_ == nullptr; }
  const Scalar& number() const { return scalar_; }
  Graph& graph() const { return *graph_; }
  Value value() const { return value_; }
  const Type& type() const { return graph_->type(value_); }
  const Shape& shape() const { return type().shape; }
  DType dtype() const { return type().dtype; }
  int rank() const { return type().rank(); }

 private:
  Graph* graph_ = nullptr;
  Value value_ = kScalar;
  Scalar scalar_;
};

using At = std::source_location;

// An operand and the place of the call that it stands in.
struct Here : Expr {
  Here(const Expr& e, At at = At::current()) : Expr(e), at(at) {}   // NOLINT: implicit on purpose
  Here(double x, At at = At::current()) : Expr(x), at(at) {}        // NOLINT
  Here(int x, At at = At::current()) : Expr(x), at(at) {}           // NOLINT
  Here(std::int64_t x, At at = At::current()) : Expr(x), at(at) {}  // NOLINT
  At at;
};

class Builder {
 public:
  explicit Builder(std::string name) : graph_(std::move(name)) {}
  Builder(const Builder&) = delete;
  Expr input(std::string name, Type type) { return {graph_, graph_.input(std::move(name), std::move(type))}; }
  Expr constant(Type type, std::vector<double> numbers) {
    return {graph_, graph_.constant(std::move(type), std::move(numbers))};
  }
  Expr iota(Type type, std::int64_t axis) { return {graph_, graph_.iota(std::move(type), axis)}; }
  void output(std::string name, const Expr& value) { graph_.output(std::move(name), value.value()); }
  Graph finish() { return std::move(graph_); }
  Graph& graph() { return graph_; }

 private:
  Graph graph_;
};

// An op on expressions; numbers among the operands become weak constants.
Expr apply(OpCode code, std::initializer_list<Expr> operands, Attrs attrs, At at);

// Every elementwise op by its name in ops.def: exp(x), maximum(x, y), ...
#define KILN_UNARY(name, ...) \
  inline Expr name(const Here& x) { return apply(OpCode::name, {x}, {}, x.at); }
#define KILN_BINARY(name, ...) \
  inline Expr name(const Here& x, const Expr& y) { return apply(OpCode::name, {x, y}, {}, x.at); }
#include "kiln/tensor/ir/ops.def"

inline Expr operator+(const Here& x, const Here& y) { return add(x, y); }
inline Expr operator-(const Here& x, const Here& y) { return subtract(x, y); }
inline Expr operator*(const Here& x, const Here& y) { return multiply(x, y); }
inline Expr operator/(const Here& x, const Here& y) { return divide(x, y); }
inline Expr operator-(const Here& x) { return negative(x); }
inline Expr operator<(const Here& x, const Here& y) { return less(x, y); }
inline Expr operator<=(const Here& x, const Here& y) { return less_equal(x, y); }
inline Expr operator>(const Here& x, const Here& y) { return greater(x, y); }
inline Expr operator>=(const Here& x, const Here& y) { return greater_equal(x, y); }

// Axes count from 0, or from -1 at the end. No axes: all of them.
struct Axes {
  Ints axes = {};
  bool keepdims = false;
};
Expr sum(const Here& x, Axes axes = {});
Expr prod(const Here& x, Axes axes = {});
Expr max(const Here& x, Axes axes = {});
Expr min(const Here& x, Axes axes = {});
Expr any(const Here& x, Axes axes = {});
Expr all(const Here& x, Axes axes = {});
Expr mean(const Here& x, Axes axes = {});
Expr variance(const Here& x, Axes axes = {}, std::int64_t ddof = 0);
Expr standard_deviation(const Here& x, Axes axes = {}, std::int64_t ddof = 0);
Expr argmax(const Here& x, std::int64_t axis, bool keepdims = false);
Expr argmin(const Here& x, std::int64_t axis, bool keepdims = false);
Expr logsumexp(const Here& x, Axes axes = {});
Expr cumsum(const Here& x, std::int64_t axis);

Expr matmul(const Here& x, const Expr& y);
Expr einsum(const std::string& formula, const Expr& x, const Expr& y);  // "bik,bkj->bij"
Expr where(const Here& condition, const Expr& x, const Expr& y);
Expr clip(const Here& x, std::optional<double> low, std::optional<double> high);
Expr cast(const Here& x, DType dtype);
Expr bitcast(const Here& x, DType dtype);

Expr reshape(const Here& x, Shape shape);       // one extent may be -1
Expr transpose(const Here& x, Ints perm = {});  // the last two dimensions swapped when none is given
Expr broadcast_to(const Here& x, Shape shape);
Expr expand_dims(const Here& x, std::int64_t axis);
// One dimension; bounds as in Python, clamped, negative from the end.
Expr slice(const Here& x, std::int64_t axis, std::optional<std::int64_t> start, std::optional<std::int64_t> stop,
           std::int64_t step = 1);
Expr concat(const std::vector<Expr>& parts, std::int64_t axis);
Expr stack(const std::vector<Expr>& parts, std::int64_t axis);
std::vector<Expr> split(const Here& x, std::int64_t parts, std::int64_t axis);
Expr pad(const Here& x, Ints low, Ints high, double value = 0);
Expr tril(const Here& x, std::int64_t k = 0);
Expr triu(const Here& x, std::int64_t k = 0);

Expr gather_rows(const Here& table, const Expr& indices);
Expr scatter_rows(const Here& table, const Expr& indices, const Expr& rows);
Expr dynamic_slice(const Here& x, const Expr& start, std::int64_t axis, std::int64_t size);
Expr update_slice(const Here& x, const Expr& part, const Expr& start, std::int64_t axis);

// What models are made of; groups of ops that the compiler recognises.
Expr softmax(const Here& x, std::int64_t axis = -1);
Expr rms_norm(const Here& x, const Expr& gain, double epsilon = 1e-6);
Expr layer_norm(const Here& x, const Expr& gain, const Expr& bias, double epsilon = 1e-5);

}  // namespace kiln::tensor
