// What is told of a model: its calls, its kernels, its buffers.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "kiln/tensor/lower/as_timed.h"
#include "kiln/tensor/lower/model.h"
#include "kiln/tensor/lower/report.h"

namespace kiln::tensor {
namespace {

constexpr double kKilo = 1024;

// Calls of the same kernel in a row are one line.
std::string steps_text(const Model& model, const std::vector<double>& times) {
  std::string out = fmt::format("  {:>12} {:>10}  call\n", "start us", "time us");
  double start = 0;
  for (std::size_t s = 0; s < model.steps.size();) {
    const std::size_t kernel = model.steps[s].kernel;
    std::size_t end = s;
    while (end < model.steps.size() && model.steps[end].kernel == kernel) ++end;
    const double time = times[kernel] / 1000;
    const auto calls = static_cast<double>(end - s);
    const std::string often = end - s > 1 ? fmt::format(", {} times in a row: {:.1f} us", end - s, calls * time) : "";
    out += fmt::format("  {:12.1f} {:10.1f}  {}{}\n", start, time, model.kernels[kernel].program.name, often);
    start += calls * time;
    s = end;
  }
  return out;
}

}  // namespace

std::vector<double> kernel_times_ns(const Model& model) {
  std::vector<double> out;
  for (const Compiled& k : model.kernels) out.push_back(time_as_seen_ns(k.launch()));
  return out;
}

std::string report_text(const Model& model) {
  if (model.is_one_kernel()) return report_text(model.kernels[0]);
  const std::vector<double> times = kernel_times_ns(model);
  double total = 0;
  std::size_t between = 0;
  for (const Step& s : model.steps) total += times[s.kernel];
  for (const Buffer& b : model.buffers) between += b.kind == Buffer::Kind::between;
  std::string out = fmt::format(
      "{} for {}: {} calls of {} kernels, predicted {:.1f} us\n"
      "  HBM between kernels: {} buffers of {:.1f} KB in {:.1f} KB; within kernels at most {:.1f} KB\n",
      model.name, arch(model.kernels[0].program.target).name, model.steps.size(), model.kernels.size(), total / 1000,
      between, static_cast<double>(model.handed_on_bytes) / kKilo, static_cast<double>(model.between_bytes) / kKilo,
      static_cast<double>(model.scratch_bytes) / kKilo);
  out += steps_text(model, times);
  for (const Buffer& b : model.buffers) {
    if (b.kind == Buffer::Kind::between)
      out += fmt::format("  {}: {} at {}, calls {} to {}\n", b.name, to_string(b.type), b.offset, b.first, b.last);
  }
  for (const Compiled& k : model.kernels) out += report_text(k);
  return out;
}

std::string plan_json(const Model& model, const std::vector<std::vector<std::string>>& files) {
  using Json = nlohmann::ordered_json;
  constexpr const char* kKinds[] = {"input", "output", "between"};
  Json buffers = Json::array(), steps = Json::array();
  for (const Buffer& b : model.buffers) {
    buffers.push_back({{"name", b.name},
                       {"kind", kKinds[static_cast<int>(b.kind)]},
                       {"dtype", kiln::name(b.type.dtype)},
                       {"shape", b.type.shape}});
    if (b.kind != Buffer::Kind::between) continue;
    buffers.back().update({{"offset", b.offset}, {"first_step", b.first}, {"last_step", b.last}});
  }
  for (const Step& s : model.steps) {
    Json bound = Json::object();
    for (const auto& [name, buffer] : s.buffers) bound[name] = model.buffers[buffer].name;
    steps.push_back({{"kernel", s.kernel}, {"buffers", std::move(bound)}});
  }
  return Json{{"name", model.name},
              {"kernels", files},
              {"between_bytes", model.between_bytes},
              {"scratch_bytes", model.scratch_bytes},
              {"aliases", model.aliases},
              {"buffers", std::move(buffers)},
              {"steps", std::move(steps)}}
             .dump(1) +
         "\n";
}

}  // namespace kiln::tensor
