// Programs that the host of the commands hands over instead of files: kernels that Python has traced.
#pragma once

#include <map>
#include <string>

#include "kiln/isa/program.h"

namespace kiln::cli {

struct GivenPrograms {
  std::map<std::string, isa::Program> programs;  // by the FILE that stands for each among the words
  int reserved_psum_banks = 0;
};

}  // namespace kiln::cli
