// What the compiler makes of building blocks: instructions, predicted time over the least that DMA engines and tensor
// engine need, bytes over the compulsory ones, processor time to compile. The peer's counts stand beside.
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <ctime>

#include "bench/compile_patterns.h"
#include "kiln/analysis/engine_counts.h"
#include "kiln/tensor/ir/text.h"
#include "kiln/tensor/lower/as_timed.h"
#include "kiln/tensor/lower/lower.h"
#include "kiln/tensor/lower/model.h"
#include "kiln/tensor/lower/report.h"
#include "kiln/tensor/lower/tuner.h"

namespace {

using namespace kiln;

struct Least {
  double bytes = 0, dma_ns = 0, tensor_ns = 0;
  double ns() const { return std::max(dma_ns, tensor_ns); }
};

// Inputs and outputs once, products at full rate.
Least least(const tensor::Graph& graph, const Arch& arch) {
  Least out;
  const auto bytes = [](const tensor::Type& t) { return static_cast<double>(t.size() * size_bytes(t.dtype)); };
  for (const tensor::Op& op : graph.ops()) {
    if (op.code == tensor::OpCode::input) out.bytes += bytes(op.type);
    if (op.code == tensor::OpCode::conv) {
      const auto& w = graph.type(op.operands[1]).shape;
      const double passes = size_bytes(op.type.dtype) == 4 ? arch.matmul_fp32_passes : 1;
      const double taps = static_cast<double>(tensor::product(w, 1, w.size()));
      const double places = static_cast<double>(op.type.size() / w[0]), channels = static_cast<double>(w[0]);
      out.tensor_ns += passes * std::ceil(taps / 128) * std::ceil(channels / 128) * places / arch.tensor.clock_ghz;
    }
    if (!tensor::is_product(op.code)) continue;
    const double k = static_cast<double>(graph.type(op.operands[0]).shape.back());
    const double passes = size_bytes(op.type.dtype) == 4 ? arch.matmul_fp32_passes : 1;
    const auto& s = op.type.shape;
    const double rows = static_cast<double>(op.type.size() / s.back()), wide = static_cast<double>(s.back());
    // The smaller side is stationary and may fill part of the array only: columns move either way.
    out.tensor_ns += passes * std::ceil(k / 128) *
                     std::min(std::ceil(rows / 128) * wide, std::ceil(wide / 128) * rows) / arch.tensor.clock_ghz;
  }
  for (const tensor::Output& o : graph.outputs()) out.bytes += bytes(graph.type(o.value));
  out.dma_ns = out.bytes / (arch.dma.engines * arch.dma.bytes_per_ns);
  return out;
}

void show(const bench::Pattern& pattern, tensor::CompileOptions options, bool report) {
  options.donated = pattern.donated;
  const tensor::Graph graph = pattern.make();
  const std::clock_t start = std::clock();
  try {
    const tensor::Compiled c = tensor::compile(graph, options);
    const double ms = 1000.0 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    const timing::Timeline run = tensor::timeline_of(tensor::AsTimed(c.launch()));
    const auto executed = static_cast<double>(run.instructions);
    Least l = least(graph, arch(options.target));
    if (pattern.bytes > 0) {
      l.dma_ns *= pattern.bytes / l.bytes;
      l.bytes = pattern.bytes;
    }
    const double us = timing::to_ns(run.total) / 1000;
    const double moved = run.hbm_bytes_read + run.hbm_bytes_written;
    fmt::print("{:38} {:6} {:6} {:8.0f} {:8.0f} {:9.1f} {:9.1f} {:6.2f} {:6.2f} {:8.1f}\n", pattern.name, pattern.peer,
               c.program.instructions.size(), executed, c.by_tile_limits, us, l.ns() / 1000, us * 1000 / l.ns(),
               moved / l.bytes, ms);
    if (!report) return;
    fmt::print("{}", tensor::report_text(c));
    for (const tensor::Alternative& a : c.alternatives) fmt::print("    {:9.1f} us: {}\n", a.time_ns / 1000, a.what);
  } catch (const Error& e) {
    fmt::print("{:38} {}\n", pattern.name, e.first().found);
  }
  std::fflush(stdout);
}

// A whole model: cut into kernels, equal layers compiled once.
void show_model(const tensor::CompileOptions& options, bool report) {
  const tensor::Graph graph = bench::model();
  const std::clock_t start = std::clock();
  const tensor::Model model = tensor::compile_model(graph, options);
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  const std::vector<double> times = tensor::kernel_times_ns(model);
  double us = 0;
  std::size_t instructions = 0;
  for (const tensor::Step& step : model.steps) us += times[step.kernel] / 1000;
  for (const tensor::Compiled& kernel : model.kernels) instructions += kernel.program.instructions.size();
  fmt::print(
      "whole model 0.6B bf16: {} ops, {} calls of {} kernels with {} instructions, {:.1f} us (least {:.1f}), "
      "{:.2f} s to compile\n",
      graph.size(), model.steps.size(), model.kernels.size(), instructions, us,
      least(graph, arch(options.target)).ns() / 1000, seconds);
  if (report) fmt::print("{}", tensor::report_text(model));
}

// Level 2, and what a search of so many seconds finds; the ratio.
double search(const bench::Pattern& pattern, tensor::CompileOptions options, double seconds) {
  options.donated = pattern.donated;
  const tensor::Graph graph = pattern.make();
  const double before = tensor::time_as_seen_ns(tensor::compile(graph, options).launch());
  std::size_t tried = 0;
  const tensor::Compiled c = tensor::tuned(
      graph, options,
      {.seconds = seconds, .progress = [&](const tensor::Tuner& tuner, double) { tried = tuner.tried(); }});
  const double after = tensor::time_as_seen_ns(c.launch());
  fmt::print("{:38} {:8} {:9.1f} {:9.1f} {:6.3f}  {}\n", pattern.name, tried, before / 1000, after / 1000,
             after / before, c.alternatives.empty() ? "" : c.alternatives[0].what);
  std::fflush(stdout);
  return after / before;
}

}  // namespace

int main(int argc, char** argv) {
  tensor::CompileOptions options;
  const char* only = "";
  double seconds = 0;                 // of a search
  bool text = false, report = false;  // the programs themselves; what became of them
  bool model = false;
  for (int i = 1; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--lnc2"))
      options.lnc = 2;
    else if (!std::strncmp(argv[i], "-O", 2))
      options.level = argv[i][2] - '0';
    else if (!std::strncmp(argv[i], "trn", 3))
      parse_target(argv[i], options.target);
    else if (!std::strcmp(argv[i], "--search") && i + 1 < argc)
      seconds = std::atof(argv[++i]);
    else if (!std::strcmp(argv[i], "--model"))
      model = true;
    else if (!std::strcmp(argv[i], "--report"))
      report = true;
    else if (!std::strcmp(argv[i], "--kt"))
      text = true;
    else
      only = argv[i];
  }
  if (model) {
    show_model(options, report);
    return 0;
  }
  std::vector<bench::Pattern> all = bench::patterns();
  for (bench::Pattern& pattern : bench::broad_patterns()) all.push_back(std::move(pattern));
  for (bench::Pattern& pattern : bench::expert_patterns()) all.push_back(std::move(pattern));
  for (bench::Pattern& pattern : bench::narrow_patterns()) all.push_back(std::move(pattern));
  for (bench::Pattern& pattern : bench::row_patterns()) all.push_back(std::move(pattern));
  if (text) {
    for (const bench::Pattern& pattern : all) {
      if (pattern.name.find(only) != std::string::npos) fmt::print("{}", tensor::print(pattern.make()));
    }
    return 0;
  }
  if (seconds > 0) {
    fmt::print("{:38} {:>8} {:>9} {:>9} {:>6}  {}\n", "pattern", "programs", "-O2 us", "-O3 us", "ratio", "changed");
    double logs = 0, count = 0;
    for (const bench::Pattern& pattern : all) {
      if (pattern.name.find(only) == std::string::npos) continue;
      logs += std::log(search(pattern, options, seconds));
      ++count;
    }
    fmt::print("geometric mean {:.3f}\n", std::exp(logs / std::max(1.0, count)));
    return 0;
  }
  fmt::print("{:38} {:>6} {:>6} {:>8} {:>8} {:>9} {:>9} {:>6} {:>6} {:>8}\n", "pattern", "peer", "static", "executed",
             "tiles", "time us", "least us", "ratio", "bytes", "cpu ms");
  for (const bench::Pattern& pattern : all) {
    if (pattern.name.find(only) != std::string::npos) show(pattern, options, report);
  }
}
