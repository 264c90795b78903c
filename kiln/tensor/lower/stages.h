// The compiler stage by stage, for `kiln opt`: what each pass leaves, and the predicted time of the program that would
// be made of that, with none of what comes later but the passes that instructions need.
#pragma once

#include "kiln/tensor/lower/lower.h"

namespace kiln::tensor {

struct Stage {
  std::string name;              // of a pass; or of a step behind the passes (see below)
  std::optional<Graph> graph;    // after the pass
  std::optional<Compiled> made;  // after a step behind the passes
  double seconds = 0;            // of the processor, that it took
};

// The steps behind the passes: regions, layouts and tiles by rules (level 1), then candidates compared with the timing
// model (level 2).
inline constexpr const char* kInstructionsStage = "instructions";
inline constexpr const char* kCandidatesStage = "candidates";

// The names of all stages, in order.
std::vector<std::string> stage_names();

// The stages in order; those behind the passes are made only when `whole` says so.
std::vector<Stage> stages(const Graph& graph, const CompileOptions& options, bool whole);

// Of the program that what is there after a stage makes: ops one by one through HBM after a pass. Nothing where that
// makes no program.
std::optional<double> predicted_ns(const std::vector<Stage>& all, std::size_t stage, const CompileOptions& options);

}  // namespace kiln::tensor
