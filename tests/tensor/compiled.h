// Compiled programs against the oracle, on random inputs.
#pragma once

#include <string>

#include "kiln/tensor/lower/lower.h"

namespace kiln::tensor {

struct Outcome {
  std::string wrong;  // empty: every output is as the oracle says
  Compiled compiled;
  std::int64_t executed = 0;
};

struct InputOptions {
  double low = -2, high = 2;
};

Arrays random_inputs(const Graph& graph, unsigned seed, const InputOptions& options = {});
// Compiles, checks, runs and compares.
Outcome compare(const Graph& graph, unsigned seed = 1, const CompileOptions& options = {},
                const InputOptions& inputs = {});
// With `oracle`, another graph says what is right.
Outcome compare(const Graph& graph, const Arrays& inputs, const CompileOptions& options = {},
                const Graph* oracle = nullptr);
// The same of what is compiled already.
Outcome compare(Compiled compiled, const Graph& graph, const Arrays& inputs, const Graph* oracle = nullptr);

// What is wrong with an output that some other way was computed; empty: nothing.
std::string difference_from(const Graph& graph, const Arrays& inputs, const std::string& name, const Array& got,
                            const Array& wanted);

}  // namespace kiln::tensor
