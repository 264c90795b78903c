// Which file holds which tensor: the --in and --out options of `kiln run` against what the programs declare.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kiln/base/error.h"
#include "kiln/base/npy.h"
#include "kiln/isa/launch.h"

namespace kiln::cli {

// A tensor that the outside sees. The programs of a pair of cores share those of the same name.
struct Port {
  const isa::Tensor* tensor = nullptr;
  bool is_input = false, is_output = false;  // both: inout
  std::string in_file, out_file;             // empty: not given
};
using Ports = std::map<std::string, Port, std::less<>>;

struct Bindings {
  std::vector<std::string> in, out;  // NAME=FILE
  bool print = false;                // outputs need no file
};

// The same files for one of several ranks: `{}` of an --in is its number, and an --out without it gets it before its
// extension, y.3.npy.
Bindings of_rank(const Bindings& bindings, int rank, int ranks);

// The ports of the programs with their files. Throws Error with everything that is wrong, not only the first.
Ports bind_ports(const isa::Launch& launch, const Bindings& bindings);

// The arrays to run on: inputs as their files hold them, outputs zero. Throws Error when a file is malformed
// or has another shape or dtype than declared.
using Arrays = std::map<std::string, NpyArray, std::less<>>;
Arrays load_arrays(const Ports& ports);

// (128, 512)
std::string shape_text(const std::vector<std::int64_t>& shape);

}  // namespace kiln::cli
