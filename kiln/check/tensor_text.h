// Words about tensors, for messages.
#pragma once

#include <string>

#include "kiln/isa/program.h"

namespace kiln::check {

std::string title(const isa::Tensor& tensor);      // "sbuf tensor `x`"
std::string type_text(const isa::Tensor& tensor);  // "float32 (128, 512)"

}  // namespace kiln::check
