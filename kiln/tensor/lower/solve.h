// What level 2 does, with the choices that it made: where a search goes on from.
#pragma once

#include "kiln/tensor/lower/maker.h"

namespace kiln::tensor {

struct Solved {
  Compiled made;
  Choice choice;
  std::vector<Graph> cores;      // after all passes; one, or one for each core of a pair
  std::unique_ptr<Plans> plans;  // of these
};
Solved solve(const Graph& graph, const CompileOptions& options);
// The same from what the passes left.
Solved solve_after_passes(Graph ready, const CompileOptions& options);

// The first of some choices, with smaller and smaller tiles, that gives a program which passes check.
Solved first_that_fits(std::vector<Graph> cores, const CompileOptions& options);

// One program for each core. Nothing when a region has no common loops.
std::optional<Compiled> make(const std::vector<Graph>& cores, const CompileOptions& options, const Choice& choice,
                             Plans& plans);
std::optional<Compiled> make(const std::vector<Graph>& cores, const CompileOptions& options, const Choice& choice);
// Programs that are compared have constants without arrays; this makes them.
void fill_constants(Compiled& made);
// What check says of programs that are not legal.
std::vector<Diagnostic> errors_of(const Compiled& made, const CompileOptions& options);

}  // namespace kiln::tensor
