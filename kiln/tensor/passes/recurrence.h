// Recurrences: state that each step changes element by element, s = a * s + b, or by a maximum or minimum, computed for
// all steps at once. The steps are passes of a loop, or ops that follow each other.
#pragma once

#include <map>
#include <set>

#include "kiln/tensor/passes/over_time.h"

namespace kiln::tensor {

// Steps that do the same: what a value of one step is for all of them. A value is named by its lane: the values of all
// steps, or of a rolled loop the one of its body.
using Lane = std::vector<Value>;

class Steps {
 public:
  Steps(const Graph& from, Graph& to, std::int64_t steps) : from_(from), to_(to), over_(to, steps) {}
  virtual ~Steps() = default;

  // What the lane is for all steps; nothing where its ops have no such form.
  std::optional<Timed> all(const Lane& lane);
  // The state behind each step, `after`, made of the one before it; `start` is the one before the first step.
  std::optional<Timed> states(const Lane& before, const Lane& after, Value start);
  // The state before each step, of those behind them.
  Timed before(const Timed& states, Value start);
  OverTime& over() { return over_; }

 protected:
  const Op& op_of(const Lane& lane) const { return from_.op(lane[0]); }
  // What is no op on other values of a step: operands that all steps share, places in them, states.
  virtual std::optional<Timed> leaf(const Lane& lane) = 0;
  // Whether the ops of a lane that is no leaf are one op of what all steps have of their operands.
  virtual bool goes_deeper(const Lane& lane) const = 0;
  // Operand i of an op of the steps.
  virtual Lane operand(const Lane& lane, std::size_t i) const = 0;

  const Graph& from_;
  Graph& to_;

 private:
  // factor * state + summand; without a factor it is 1, or 0 where the value does not depend on the state.
  struct Affine {
    bool depends = false;
    std::optional<Timed> factor = {}, summand = {};
    bool cancels = false;  // the state is there twice: an infinite one would be less itself
  };
  std::optional<Affine> affine(const Lane& lane);
  std::optional<Affine> affine_sum(const Lane& lane);
  std::optional<Affine> affine_product(const Lane& lane);
  std::optional<Timed> states_behind(const Lane& after, Value start);
  std::optional<Timed> extremes(const Lane& after, Value start);
  Value as_first(Value start);
  Expr with_infinities(const Expr& summand, Value start);
  bool depends(const Lane& lane);
  Timed combined(OpCode code, const Timed& x, const Timed& y);
  Timed negated(const Timed& x);

  OverTime over_;
  Lane state_, next_;  // before and behind each step: what is being made
  std::map<Lane, bool> depends_;
  std::map<Lane, std::optional<Timed>> made_;
};

}  // namespace kiln::tensor
