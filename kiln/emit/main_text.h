// The block that runs an emitted kernel on random inputs.
#pragma once

#include <string>
#include <vector>

#include "kiln/emit/source_lines.h"
#include "kiln/isa/program.h"

namespace kiln::emit {

struct Argument {
  std::string name;
  const isa::Tensor* tensor;
};

void write_main(const std::string& kernel, const std::vector<Argument>& arguments,
                const std::vector<std::string>& returned, int cores, SourceLines& lines);

}  // namespace kiln::emit
