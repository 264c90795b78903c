// Graph: a tensor program in SSA form. Every op has one result, so a value is the index of its op; operands stand
// before their users. Passes read one graph and write another: nothing is changed in place.
#pragma once

#include <memory>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "kiln/base/error.h"
#include "kiln/isa/program.h"
#include "kiln/tensor/ir/op.h"
#include "kiln/tensor/ir/type.h"

namespace kiln::tensor {

using Value = std::uint32_t;
using Numbers = std::shared_ptr<const std::vector<double>>;
class Graph;
using Body = std::shared_ptr<const Graph>;  // of a loop, a branch or a function; it reads nothing but its inputs

struct Op {
  OpCode code{};
  Type type;  // of the result
  std::vector<Value> operands;
  Attrs attrs = {};
  Numbers numbers = {};  // of a constant: one for all elements, or one for each
  std::vector<Body> bodies = {};
  std::shared_ptr<const isa::Program> kernel = {};  // that the op calls
  std::uint32_t loc = 0;

  // Attributes by their names in the table.
  const AttrValue& attr(std::string_view name) const;
  const Ints& ints(std::string_view name) const { return std::get<Ints>(attr(name)); }
  std::int64_t integer(std::string_view name) const { return std::get<std::int64_t>(attr(name)); }
  double real(std::string_view name) const { return std::get<double>(attr(name)); }
  bool flag(std::string_view name) const { return std::get<bool>(attr(name)); }
  const std::string& text(std::string_view name) const { return std::get<std::string>(attr(name)); }
  bool is_splat() const { return code == OpCode::constant && numbers->size() == 1; }
};

struct Output {
  std::string name;
  Value value;
};

class Graph {
 public:
  explicit Graph(std::string name = "program") : name(std::move(name)) {}

  // Appends an op; its type is inferred. Throws Error (tensor.R*) when the operands do not fit.
  Value add(OpCode code, std::vector<Value> operands, Attrs attrs = {}, std::vector<Body> bodies = {});
  Value input(std::string name, Type type);
  Value constant(Type type, std::vector<double> numbers);  // one number for all elements, or one for each
  Value iota(Type type, std::int64_t axis);
  // A kernel written by hand: operands are its arguments in order; results are its outputs, then the arguments that it
  // changes.
  Value kernel(std::shared_ptr<const isa::Program> program, std::vector<Value> operands);
  void output(std::string name, Value value);
  // An op of another graph with other operands: attributes, numbers and place stay, the type is inferred anew.
  Value copy(const Graph& from, const Op& op, std::vector<Value> operands);

  // Where the ops added from now on come from.
  void at(SourceLoc loc);
  // Passes: what they add comes from where the op came from that they work on.
  bool pinned = false;
  const SourceLoc& loc(const Op& op) const { return locs_[op.loc]; }
  const SourceLoc& loc() const { return locs_[loc_]; }  // of what is added now

  const Op& op(Value v) const { return ops_[v]; }
  const Type& type(Value v) const { return ops_[v].type; }
  const std::vector<Op>& ops() const { return ops_; }
  const std::vector<Output>& outputs() const { return outputs_; }
  Value size() const { return static_cast<Value>(ops_.size()); }
  std::vector<Value> inputs() const;  // in order
  // How many operands and outputs each value is.
  std::vector<int> uses() const;

  std::string name;

 private:
  friend class Verifier;
  Value push(Op op);
  std::vector<Op> ops_;
  std::vector<Output> outputs_;
  std::vector<SourceLoc> locs_{SourceLoc{}};
  std::uint32_t loc_ = 0;
};

// The types of all results of an op with bodies, of one that calls a kernel, or of a collective that ends with _v; of
// others the one that it has.
std::vector<Type> result_types(const Op& op);
// The type of an op's result; throws Error (tensor.R*) at `loc`.
Type infer(const Graph& graph, const Op& op);
// The dtype in which an elementwise op takes its operands.
DType working_dtype(const Graph& graph, const Op& op);

}  // namespace kiln::tensor
