#include "example.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstring>
#include <random>

#include "kiln/check/check_program.h"
#include "kiln/isa/print.h"
#include "kiln/sim/machine.h"

namespace kiln::examples {
namespace {

// Integer tensors travel as bits in float vectors: every dtype here has four bytes.
Arrays make_arrays(const isa::Program& program, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  Arrays arrays;
  for (const isa::Tensor& t : program.tensors) {
    if (t.role == isa::Role::internal) continue;
    auto& a = arrays[t.name];
    a.resize(t.size());
    if (t.role == isa::Role::input) {
      for (float& x : a) x = normal(generator);
    }
  }
  return arrays;
}

sim::Buffers buffers(Arrays& arrays) {
  sim::Buffers b;
  for (auto& [name, a] : arrays) b[name] = {a.data(), a.size() * sizeof(float)};
  return b;
}

// Largest difference of the outputs, relative to the largest value of the reference.
double difference(const isa::Program& program, const Arrays& got, const Arrays& want) {
  double worst = 0;
  for (const isa::Tensor& t : program.tensors) {
    if (t.role != isa::Role::output) continue;
    const auto &g = got.at(t.name), &w = want.at(t.name);
    double scale = 1e-30, diff = 0;
    for (std::size_t i = 0; i < g.size(); ++i) {
      scale = std::max(scale, std::abs(double{w[i]}));
      diff = std::max(diff, std::isnan(g[i]) ? INFINITY : std::abs(double{g[i]} - double{w[i]}));
    }
    worst = std::max(worst, diff / scale);
  }
  return worst;
}

std::string sizes_text(const Example& e, const Sizes& sizes) {
  std::string text;
  for (std::size_t i = 0; i < sizes.size(); ++i) text += fmt::format("{}{}={}", i ? " " : "", e.size_names[i], sizes[i]);
  return text;
}

int check_and_run(const Example& e, const Sizes& sizes, Target target, int threads, unsigned seed) {
  const isa::Program program = e.build(sizes, target);
  const check::Report report = check::check_program(program, arch(target));
  if (!report.diagnostics.empty()) fmt::print("{}\n", to_text(report.diagnostics));
  if (!report.ok()) return 1;
  Arrays got = make_arrays(program, seed);
  if (e.prepare) e.prepare(sizes, got);
  Arrays want = got;
  const sim::RunReport run = sim::run(program, arch(target), buffers(got), {.threads = threads});
  e.reference(sizes, want);
  const double diff = difference(program, got, want);
  const bool ok = diff <= e.tolerance;
  fmt::print("{} {}: legal on {}, {} instructions, largest relative difference {:.2e} ({} {:.0e}), seed {}\n", e.name,
             sizes_text(e, sizes), arch(target).name, run.instructions, diff, ok ? "within" : "EXCEEDS", e.tolerance, seed);
  return ok ? 0 : 1;
}

}  // namespace

int run_example(const Example& e, int argc, char** argv) {
  CLI::App app{e.summary, e.name};
  Sizes sizes = e.default_sizes;
  std::string target_name = "trn2";
  int threads = 0;
  unsigned seed = 1;
  bool text = false;
  std::string names;
  for (const char* n : e.size_names) names += fmt::format("{}{}", names.empty() ? "" : " ", n);
  app.add_option("--sizes", sizes, "sizes: " + names)->expected(static_cast<int>(sizes.size()))->check(CLI::PositiveNumber);
  app.add_option("--target", target_name, "trn1, trn2 or trn3");
  app.add_option("--threads", threads, "threads, 0 for all");
  app.add_option("--seed", seed, "seed of the random inputs");
  app.add_flag("--text", text, "print the program instead of running it");
  CLI11_PARSE(app, argc, argv);
  try {
    Target target;
    if (!parse_target(target_name, target)) {
      fmt::print(stderr, "unknown target {}: trn1, trn2 or trn3\n", target_name);
      return 2;
    }
    if (text) {
      fmt::print("{}", isa::print(e.build(sizes, target)));
      return 0;
    }
    return check_and_run(e, sizes, target, threads, seed);
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}

}  // namespace kiln::examples
