#include "kiln/tensor/ir/weak.h"

#include <fmt/format.h>

#include "kiln/tensor/ir/rules.h"

namespace kiln::tensor {

Value weak(Graph& graph, Scalar scalar, DType beside) {
  const DType t = weak_dtype(beside, scalar.is_real);
  if (is_integer(t) && stored(t, scalar.value) != scalar.value)
    raise(rules::kTable, rules::kNumber,
          {.found = fmt::format("{} beside {}", scalar.value, name(beside)), .loc = graph.loc()});
  return graph.constant({t, {}}, {scalar.value});
}

}  // namespace kiln::tensor
