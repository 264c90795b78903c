// Launch: the programs of one run. A launch has ranks; a rank is a logical core of one NeuronCore, or of two that
// share its memory and meet (lnc 2). Each core of each rank has a program of its own.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kiln/isa/program.h"

namespace kiln::isa {

// The programs must outlive the launch.
struct Launch {
  Launch() = default;
  Launch(const Program& program);                      // on one core
  explicit Launch(std::vector<const Program*> cores);  // of one rank
  static Launch of(const std::vector<Program>& cores);
  // So many ranks that all run the programs of this one. One rank of several.
  Launch on_ranks(int count) const;
  Launch of_rank(int rank) const;

  std::vector<const Program*> programs;  // rank by rank, core by core
  int ranks = 1;
  int cores_per_rank = 1;

  const Program& program(int rank, int core) const { return *programs.at(rank * cores_per_rank + core); }
  std::span<const Program* const> cores(int rank = 0) const {
    return std::span(programs).subspan(rank * cores_per_rank, cores_per_rank);
  }
  Target target() const { return programs.at(0)->target; }
  std::string name() const;  // of all programs
};

// Whether the cores of a rank see a tensor of this name as one: what the caller gives or gets, and shared_hbm.
bool is_shared(const Tensor& tensor);

// Everything wrong with how the programs stand together, codes launch.R*; empty when the launch can be run and timed.
// Each program has passed verify. What the cores share is compared where a run binds it (run.R10).
std::vector<Diagnostic> verify(const Launch& launch);
// Throws Error with those.
void require_sound(const Launch& launch);
// The same for a launch that is run, not only timed: the ranks that collectives name are there.
std::vector<Diagnostic> verify_ranks(const Launch& launch);
void require_ranks(const Launch& launch);

}  // namespace kiln::isa
