// `attention --demo`: what Kiln finds out about a kernel, told for someone who has never seen it.
#pragma once

#include "example.h"

namespace kiln::examples {

int attention_demo(const Example& attention, const std::string& page);

}  // namespace kiln::examples
