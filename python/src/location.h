// Where in the user's Python an instruction was issued: the innermost frame outside this package, and the
// calls that led there, up to the kernel itself.
#pragma once

#include <Python.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "kiln/isa/program.h"

namespace kiln::python {

// The user's line that is running now; unknown outside Python code.
SourceLoc current_location();

// Turns the running frames into places of one program. The same chain of frames is looked up by the addresses
// of its code objects and instructions, so a line in a loop costs no text.
class Locator {
 public:
  isa::LocId locate(isa::Program& program);
  // The variable that the call which was located last is about to be assigned to, or "".
  const std::string& assigned_name() const;

 private:
  struct Entry {
    std::vector<std::uintptr_t> chain;
    isa::LocId loc;
  };
  std::unordered_map<std::uint64_t, std::vector<Entry>> places_;
  std::vector<std::uintptr_t> chain_;
};

}  // namespace kiln::python
