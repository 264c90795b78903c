#include "example.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <random>

#include "kiln/isa/text/print.h"

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

// Seconds that a call takes.
template <class Fn>
double seconds(Fn&& call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string sizes_text(const Example& e, const Sizes& sizes) {
  std::string text;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    text += fmt::format("{}{}={}", i ? " " : "", e.size_names[i], sizes[i]);
  return text;
}

int check_and_run(const Example& e, const Sizes& sizes, const TrialOptions& options) {
  const Trial trial = try_example(e, sizes, options);
  const auto& found = trial.report.diagnostics;
  if (!found.empty()) fmt::print(stderr, "{}\n", to_text(found));
  if (!trial.report.ok()) return 1;
  fmt::print("{} {}: legal on {}, {} instructions, largest relative difference {:.1e} ({} {:.0e}), seed {}\n", e.name,
             sizes_text(e, sizes), arch(options.target).name, trial.run.instructions, trial.difference,
             trial.ok ? "within" : "EXCEEDS", e.tolerance, options.seed);
  return trial.ok ? 0 : 1;
}

constexpr std::int64_t kMaxSize = std::int64_t{1} << 24;

struct CommandLine {
  Sizes sizes;
  TrialOptions trial;
  bool text = false, demo = false;
  std::string page;
};

void describe(CLI::App& app, const Example& e, CommandLine& line) {
  std::string names;
  for (const char* n : e.size_names) names += fmt::format(" {}", n);
  app.add_option("--sizes", line.sizes, "sizes:" + names)
      ->expected(static_cast<int>(e.size_names.size()))
      ->check(CLI::Range(std::int64_t{1}, kMaxSize))
      ->capture_default_str();
  app.add_option_function<std::string>(
         "--target",
         [&](const std::string& name) {
           if (!parse_target(name, line.trial.target)) throw CLI::ValidationError("--target", "no target " + name);
         },
         target_names(", "))
      ->default_str("trn2");
  app.add_option("--threads", line.trial.threads, "threads, 0 for all")->check(CLI::NonNegativeNumber);
  app.add_option("--seed", line.trial.seed, "seed of the random inputs")->capture_default_str();
  app.add_flag("--text", line.text, "print the program instead of running it");
  if (!e.demo) return;
  CLI::Option* demo = app.add_flag("--demo", line.demo, "tell what Kiln finds out about this kernel");
  app.add_option("--page", line.page, "with --demo: write its timeline, for any browser")
      ->type_name("FILE")
      ->needs(demo);
}

}  // namespace

Trial try_example(const Example& e, const Sizes& sizes, const TrialOptions& options) {
  const Arch& chip = arch(options.target);
  Trial trial{.program = e.build(sizes, options.target)};
  trial.check_seconds = seconds([&] { trial.report = check::check_program(trial.program, chip); });
  if (!trial.report.ok()) return trial;
  Arrays got = make_arrays(trial.program, options.seed);
  if (e.prepare) e.prepare(sizes, got);
  Arrays want = got;
  trial.run_seconds =
      seconds([&] { trial.run = sim::run(trial.program, chip, buffers(got), {.threads = options.threads}); });
  e.reference(sizes, want);
  trial.difference = difference(trial.program, got, want);
  trial.ok = trial.difference <= e.tolerance;
  return trial;
}

int run_example(const Example& e, int argc, char** argv) {
  CLI::App app{e.summary, e.name};
  CommandLine line{.sizes = e.default_sizes};
  describe(app, e, line);
  try {
    app.parse(argc, argv);
    if (line.demo) return e.demo(e, line.page);
    if (!line.text) return check_and_run(e, line.sizes, line.trial);
    fmt::print("{}", isa::print(e.build(line.sizes, line.trial.target)));
    return 0;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) ? 2 : 0;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "arrays of these sizes do not fit into the memory of this computer\n");
    return 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}

}  // namespace kiln::examples
