#include "kiln/tensor/lower/stages.h"

#include <algorithm>
#include <ctime>

#include "kiln/tensor/lower/as_timed.h"
#include "kiln/tensor/lower/solve.h"

namespace kiln::tensor {
namespace {

Stage step(const char* name, const Graph& ready, CompileOptions options, int level) {
  options.level = level;
  const std::clock_t begin = std::clock();
  Stage out{.name = name, .graph = {}, .made = solve_after_passes(ready, options).made};
  out.seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  return out;
}

}  // namespace

std::vector<std::string> stage_names() {
  std::vector<std::string> out = pass_names();
  for (const char* name : {kInstructionsStage, kCandidatesStage}) out.emplace_back(name);
  return out;
}

std::vector<Stage> stages(const Graph& graph, const CompileOptions& options, bool whole) {
  std::vector<Stage> out;
  for (PassResult& r : run_passes(before_passes(graph, options.target), options.target))
    out.push_back({.name = std::move(r.pass), .graph = std::move(r.graph), .made = {}, .seconds = r.seconds});
  if (!whole) return out;
  const Graph ready = *out.back().graph;
  out.push_back(step(kInstructionsStage, ready, options, 1));
  out.push_back(step(kCandidatesStage, ready, options, 2));
  return out;
}

std::optional<double> predicted_ns(const std::vector<Stage>& all, std::size_t stage, const CompileOptions& options) {
  if (all[stage].made) return time_as_seen_ns(all[stage].made->launch());
  CompileOptions plain = options;
  plain.level = 1, plain.fuse = false;
  try {
    return time_as_seen_ns(solve_after_passes(run_needed_passes(*all[stage].graph, stage + 1), plain).made.launch());
  } catch (const Error& e) {
    const auto is_ours = [](const Diagnostic& d) { return d.category == Category::internal; };
    if (std::ranges::any_of(e.diagnostics(), is_ours)) throw;
    return {};
  }
}

}  // namespace kiln::tensor
