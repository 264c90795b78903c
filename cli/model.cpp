#include "cli/model.h"

#include <fmt/format.h>

#include <filesystem>
#include <list>
#include <nlohmann/json.hpp>
#include <optional>

#include "kiln/base/file.h"
#include "kiln/emit/emit.h"
#include "kiln/isa/launch.h"
#include "kiln/isa/text/print.h"
#include "kiln/sim/memory_need.h"
#include "kiln/tensor/ir/text.h"
#include "kiln/tensor/lower/report.h"

namespace kiln::cli {
namespace {

std::string beside(const std::string& out, const std::string& ending) {
  const std::filesystem::path path(out);
  return (path.parent_path() / (path.stem().string() + ending)).string();
}

// By name: memory that a kernel reads or writes.
class KernelBuffers {
 public:
  explicit KernelBuffers(const tensor::Compiled& kernel) : kernel_(kernel) {
    for (const tensor::Constant& c : kernel.constants) {
      constants_.push_back(tensor::to_bytes(c.array));
      buffers_[c.name] = {constants_.back().data(), constants_.back().size()};
    }
  }
  void bind(const std::string& name, std::span<std::byte> memory) {
    for (const isa::Tensor& t : kernel_.program.tensors) {
      if (t.name == name && t.role != isa::Role::internal) buffers_[name] = {memory.data(), memory.size()};
    }
  }
  const sim::Buffers& all() const { return buffers_; }

 private:
  const tensor::Compiled& kernel_;
  std::vector<std::vector<std::byte>> constants_;
  sim::Buffers buffers_;
};

void add(sim::RunReport& sum, sim::RunReport&& more) {
  sum.instructions += more.instructions;
  for (std::size_t e = 0; e < sum.instructions_by_engine.size(); ++e)
    sum.instructions_by_engine[e] += more.instructions_by_engine[e];
  for (Diagnostic& d : more.warnings) sum.warnings.push_back(std::move(d));
}

}  // namespace

tensor::Graph read_graph(const std::string& path) {
  const bool standard_input = path == "-";
  return tensor::parse(read_file(standard_input ? "/dev/stdin" : path), standard_input ? "<stdin>" : path);
}

void write_model(const tensor::Model& model, const std::string& out, const std::string& origin) {
  const bool python = out.ends_with(".py");
  const std::string ending = std::filesystem::path(out).extension().string();
  std::vector<std::vector<std::string>> files;
  std::vector<std::pair<std::string, std::string>> texts;
  for (std::size_t k = 0; k < model.kernels.size(); ++k) {
    const tensor::Compiled& made = model.kernels[k];
    const std::string stem = fmt::format(".kernel{}", k);
    files.emplace_back();
    const auto write = [&](const std::string& name, std::string text) {
      files.back().push_back(std::filesystem::path(beside(out, name)).filename().string());
      texts.emplace_back(beside(out, name), std::move(text));
    };
    if (python) {
      write(stem + ending, emit::emit(made.launch(), {.origin = origin, .groups = tensor::groups_in_words(made)}));
    } else {
      write(made.peer ? stem + ".core0" + ending : stem + ending, isa::print(made.program));
      if (made.peer) write(stem + ".core1" + ending, isa::print(*made.peer));
    }
    for (const tensor::Constant& c : made.constants) {
      write_npy(beside(out, fmt::format("{}.{}.npy", stem, c.name)),
                {c.array.type.dtype, c.array.type.shape, tensor::to_bytes(c.array)});
    }
  }
  texts.emplace_back(beside(out, ".plan.json"), tensor::plan_json(model, files));
  for (const auto& [file, text] : texts) write_atomically(file, text);
}

std::string model_times(const tensor::Model& model, bool json) {
  if (!json) return tensor::report_text(model);
  const std::vector<double> times = tensor::kernel_times_ns(model);
  nlohmann::ordered_json steps = nlohmann::ordered_json::array();
  double start = 0;
  for (const tensor::Step& s : model.steps) {
    steps.push_back(
        {{"name", model.kernels[s.kernel].program.name}, {"start_ns", start}, {"time_ns", times[s.kernel]}});
    start += times[s.kernel];
  }
  const std::string chip(arch(model.kernels[0].program.target).name);
  return dump({{"ok", true},
               {"name", model.name},
               {"target", chip},
               {"time_ns", start},
               {"kernels", model.kernels.size()},
               {"between_bytes", model.between_bytes},
               {"scratch_bytes", model.scratch_bytes},
               {"steps", std::move(steps)}});
}

isa::Program outside_of(const tensor::Graph& graph, Target target) {
  isa::Program out;
  out.name = graph.name;
  out.target = target;
  const auto declare = [&](const std::string& name, const tensor::Type& type, isa::Role role) {
    out.tensors.push_back(
        {.name = name, .memory = Memory::hbm, .dtype = type.dtype, .role = role, .shape = type.shape, .address = {}});
  };
  for (const tensor::Value v : graph.inputs()) declare(graph.op(v).text("name"), graph.type(v), isa::Role::input);
  for (const tensor::Output& o : graph.outputs()) declare(o.name, graph.type(o.value), isa::Role::output);
  return out;
}

namespace {

// What one rank has in the place of the model's buffers.
class RankMemory {
 public:
  RankMemory(const tensor::Model& model, Arrays& arrays)
      : arrays_(arrays), between_(static_cast<std::size_t>(model.between_bytes)) {}

  std::span<std::byte> of(const tensor::Buffer& b) {
    if (b.kind == tensor::Buffer::Kind::between)
      return std::span(between_).subspan(static_cast<std::size_t>(b.offset), static_cast<std::size_t>(b.bytes()));
    std::vector<std::byte>& data = arrays_.find(b.name)->second.data;
    return {data.data(), data.size()};
  }

 private:
  Arrays& arrays_;
  std::vector<std::byte> between_;
};

}  // namespace

sim::RunReport run_model(const tensor::Model& model, const std::vector<Arrays*>& ranks,
                         const sim::RunOptions& options) {
  std::vector<std::optional<RankMemory>> memory(ranks.size());
  for (std::size_t r = 0; r < ranks.size(); ++r)
    if (ranks[r]) memory[r].emplace(model, *ranks[r]);
  sim::RunReport sum;
  for (const tensor::Step& step : model.steps) {
    const tensor::Compiled& kernel = model.kernels[step.kernel];
    const isa::Launch launch = kernel.launch().on_ranks(static_cast<int>(ranks.size()));
    isa::require_ranks(launch);
    sim::require_memory(launch, options.max_memory);
    std::list<KernelBuffers> own;
    std::vector<sim::Buffers> buffers(ranks.size());
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      if (!memory[r]) continue;
      own.emplace_back(kernel);
      for (const auto& [name, buffer] : step.buffers) own.back().bind(name, memory[r]->of(model.buffers[buffer]));
      buffers[r] = own.back().all();
    }
    add(sum, sim::run(launch, arch(launch.target()), buffers, options));
  }
  return sum;
}

}  // namespace kiln::cli
