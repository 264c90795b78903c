// What the examples share: an example is a program for a shape, and the same mathematics in double precision. The driver
// checks the program, runs it on random arrays, and compares.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kiln/isa/builder.h"

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
  double tolerance = 1e-4;  // largest difference, relative to the largest reference value
};

// The main function of an example: --sizes, --target, --threads, --text, --seed.
int run_example(const Example& example, int argc, char** argv);

}  // namespace kiln::examples
