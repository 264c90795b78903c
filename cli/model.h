// What commands do with a tensor program that is several kernels.
#pragma once

#include <string>

#include "cli/bindings.h"
#include "cli/outcome.h"
#include "kiln/sim/machine.h"
#include "kiln/tensor/lower/model.h"

namespace kiln::cli {

// The tensor program of a .kt file; `path` "-" means standard input.
tensor::Graph read_graph(const std::string& path);

// Writes model.kernel0.kiln, ... (or .py), their constants, and model.plan.json: the calls and their buffers.
void write_model(const tensor::Model& model, const std::string& out, const std::string& origin);

// The predicted time of all calls, as text or JSON.
std::string model_times(const tensor::Model& model, bool json);

// A program that has nothing but the tensors that the outside of a tensor program sees.
isa::Program outside_of(const tensor::Graph& graph, Target target);

// Runs the kernels one after the other on arrays by the names of `outside_of`, those of each rank; none: another
// process has them.
sim::RunReport run_model(const tensor::Model& model, const std::vector<Arrays*>& ranks, const sim::RunOptions& options);

}  // namespace kiln::cli
