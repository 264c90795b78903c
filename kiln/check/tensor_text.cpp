#include "kiln/check/tensor_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kiln::check {

std::string title(const isa::Tensor& tensor) { return fmt::format("{} tensor `{}`", name(tensor.memory), tensor.name); }

std::string type_text(const isa::Tensor& tensor) {
  return fmt::format("{} ({})", name(tensor.dtype), fmt::join(tensor.shape, ", "));
}

}  // namespace kiln::check
