// The statements of an outline as Python.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kiln/emit/names.h"
#include "kiln/emit/outline.h"
#include "kiln/emit/source_lines.h"
#include "kiln/emit/sum.h"

namespace kiln::emit {

// Names that the body of a kernel finds: its arguments and what it returns, by tensor.
struct Border {
  std::vector<std::string> names;  // by TensorId; empty: the tensor is the body's own
};

// What is written: the statements of a program, rolled, and the groups of its instructions.
struct Statements {
  const isa::Program& program;
  const Outline& outline;
  std::span<const std::string> groups;
};

// Writes the statements. `around`: the variables that stand around all of them.
void write_statements(const Statements& statements, const Border& border, Names names, std::vector<Variable> around,
                      SourceLines& lines);

// `nl.ndarray(...)`'s arguments but for the address.
std::vector<std::string> ndarray_arguments(const isa::Tensor& tensor);

}  // namespace kiln::emit
