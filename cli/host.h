// What the process around the commands does about kernels in Python: the program `kiln` starts an interpreter, the
// Python package is in one.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "kiln/isa/program.h"

namespace kiln::cli {

// A command line that the Python package is to perform.
struct PythonRequest {
  std::string command;                                      // check, run, time or explain
  std::vector<std::string> words;                           // the whole command line, the command first
  std::map<std::string, std::vector<std::string>> options;  // what was given, by name: FILE, arg, json, ...
  std::vector<std::string> script_words;                    // those after `--`
};

// A kernel of a .py file that was traced for one chip.
struct TracedKernel {
  std::vector<isa::Program> programs;  // one for each core of the logical core
  std::string title;
  int reserved_psum_banks = 0;
  std::string note;  // what the user should know besides; may be empty
};

struct Host {
  // Returns the exit code.
  std::function<int(const PythonRequest&)> hand_over;
  // For `kiln time`, which is not handed over where this exists: the kernel of a file, or of the one after --compare,
  // for a chip (empty: as the environment says). Throws Error.
  std::function<TracedKernel(const std::string& file, bool compared, const std::string& chip)> trace;
};

}  // namespace kiln::cli
