// Programs of any size: those that are too large for one kernel become several, called one after the other, with a
// plan for what they hand on in HBM. Equal pieces, such as the layers of a model, are compiled once.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "kiln/tensor/lower/lower.h"

namespace kiln::tensor {

// Ops that a kernel has at most, as `counted_ops` counts them.
inline constexpr std::int64_t kMostOps = 400;

// A tensor in HBM: of the caller, or between kernels.
struct Buffer {
  enum class Kind : std::uint8_t { input, output, between } kind = Kind::between;
  std::string name;
  Type type;
  std::size_t first = 0, last = 0;  // steps that write it and read it last
  std::int64_t offset = 0;          // of one between kernels, in their range of HBM

  std::int64_t bytes() const { return type.size() * size_bytes(type.dtype); }
};

// A call of a kernel.
struct Step {
  std::size_t kernel = 0;
  std::map<std::string, std::size_t> buffers;  // by what the kernel calls its argument or result
};

struct Model {
  std::string name;
  std::vector<Compiled> kernels;
  std::vector<Step> steps;
  std::vector<Buffer> buffers;
  std::map<std::string, std::string> aliases;  // outputs that are inputs, updated in place
  std::int64_t between_bytes = 0;              // that buffers between kernels need with the plan
  std::int64_t handed_on_bytes = 0;            // that they would need side by side
  std::int64_t scratch_bytes = 0;              // of HBM within a kernel, the most of all

  bool is_one_kernel() const { return steps.size() == 1; }
};

struct ModelOptions {
  std::int64_t most_ops = kMostOps;
  std::function<Compiled(const Graph&, const CompileOptions&)> compile = tensor::compile;  // of one kernel
};

// Programs with at most `most_ops` ops are one kernel, with their own names; see `compile` for what is thrown.
Model compile_model(const Graph& graph, const CompileOptions& options = {}, const ModelOptions& how = {});

// How long each kernel takes, by the timing model.
std::vector<double> kernel_times_ns(const Model& model);

// The calls with their times, the kernels with their groups, and the plan of HBM.
std::string report_text(const Model& model);

// Calls and buffers as JSON, for whoever runs the kernels; `files` are those of the kernels, by kernel and core.
std::string plan_json(const Model& model, const std::vector<std::vector<std::string>>& files);

}  // namespace kiln::tensor
