// OverTime: what one step of a loop computes, for all steps at once. What differs from step to step has one more
// dimension behind its own, with a place for each step.
#pragma once

#include <map>

#include "kiln/tensor/ir/expr.h"

namespace kiln::tensor {

struct Timed {
  Value value;
  bool varies;  // it has the dimension of the steps
};

class OverTime {
 public:
  OverTime(Graph& to, std::int64_t steps) : to_(to), steps_(steps) {}
  std::int64_t steps() const { return steps_; }

  // An op of one step; nothing where there is no op for all steps.
  std::optional<Timed> apply(const Graph& from, const Op& op, const std::vector<Timed>& operands);
  // One op on what is element by element: operands broadcast.
  Timed elementwise(OpCode code, const std::vector<Timed>& operands);
  // Element `start + t * stride` of an axis of x, which stays as an extent of 1.
  Timed taken(Value x, std::int64_t axis, std::int64_t start, std::int64_t stride);
  // With the dimension of the steps, and all of its places.
  Value spread(const Timed& x);
  // As `spread`, seen in the shape of one step, to which it broadcasts.
  Value spread(const Timed& x, const Shape& shape);
  Timed as_float32(const Timed& x);
  // The dimension of the steps stands before dimension `axis` of one step.
  Value with_steps_at(const Timed& x, std::int64_t axis);

 private:
  Expr expr(const Timed& x) const { return {to_, x.value}; }
  Value beside(const Timed& x);
  // Places of an axis that become steps: of a value, and of the operand of a view or of one that is made element by
  // element, which then is made for the steps.
  struct Places {
    std::int64_t axis, start, stride;
    auto operator<=>(const Places&) const = default;
  };
  Value moved(Value x, const Places& places);
  std::optional<Value> moved_before(Value x, const Places& places);
  std::optional<Timed> product(const Graph& from, const Op& op, const std::vector<Timed>& operands);

  Graph& to_;
  std::int64_t steps_;
  std::map<std::pair<Value, Places>, Value> moved_;
};

}  // namespace kiln::tensor
