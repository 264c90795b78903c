// What the examples share: an example is a program for a shape, and the same mathematics in double precision.
// The driver checks the program, runs it on random arrays, and compares.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kiln/check/check_program.h"
#include "kiln/isa/builder/builder.h"
#include "kiln/sim/machine.h"

namespace kiln::examples {

using Sizes = std::vector<std::int64_t>;
using Arrays = std::map<std::string, std::vector<float>>;

struct Example {
  const char* name;
  const char* summary;
  std::vector<const char*> size_names;
  Sizes default_sizes;
  isa::Program (*build)(const Sizes& sizes, Target target);
  // Fills the outputs of `arrays` from its inputs.
  void (*reference)(const Sizes& sizes, Arrays& arrays);
  // Replaces random inputs where they need structure (indices); null when any numbers do.
  void (*prepare)(const Sizes& sizes, Arrays& arrays) = nullptr;
  double tolerance = 1e-5;  // largest difference, relative to the largest reference value
  // What the flag --demo does; null when there is none. `page`: a file for the timeline; empty: none. Returns
  // the exit code.
  int (*demo)(const Example& example, const std::string& page) = nullptr;
};

struct TrialOptions {
  Target target = Target::trn2;
  int threads = 0;  // 0: one per processor
  unsigned seed = 1;
};

// An example checked and, when it is legal, run on random inputs.
struct Trial {
  isa::Program program;
  check::Report report;
  sim::RunReport run;
  double check_seconds = 0, run_seconds = 0;
  double difference = 0;  // largest of the outputs, relative to the largest value of the reference
  bool ok = false;        // legal, and the difference is within the tolerance
};
Trial try_example(const Example& example, const Sizes& sizes, const TrialOptions& options);

// The main function of an example: --sizes, --target, --threads, --seed, --text. Exit codes: 0 fine, 1 the
// program breaks a rule or computes something else, 2 wrong usage.
int run_example(const Example& example, int argc, char** argv);

}  // namespace kiln::examples
