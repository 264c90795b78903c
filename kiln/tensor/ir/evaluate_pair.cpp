// Ops of a pair of cores have no value on one: the program before it was split has.
#include "kiln/base/error.h"
#include "kiln/tensor/ir/evaluate_op.h"
#include "kiln/tensor/ir/rules.h"

namespace kiln::tensor {

Array eval_pair(const Eval&) {
  raise(rules::kTable, rules::kNotYet,
        {.found = "not yet: one core of a pair in the oracle; evaluate the program before it is split",
         .category = Category::not_yet});
}

}  // namespace kiln::tensor
