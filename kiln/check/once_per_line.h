// One warning per source line: a loop in Python makes an instruction of every pass.
#pragma once

#include <set>
#include <string>
#include <utility>

#include "kiln/isa/program.h"

namespace kiln::check {

// Equal for the instructions of a line. One without a known line stands for itself.
using LineKey = std::pair<std::string, std::int64_t>;
inline LineKey line_of(const isa::Program& program, const isa::Instruction& inst) {
  const SourceLoc& loc = program.locs[inst.loc];
  if (loc.line > 0) return {loc.file, loc.line};
  return {"", &inst - program.instructions.data()};
}

class OncePerLine {
 public:
  bool is_first(const isa::Program& program, const isa::Instruction& inst) {
    return seen_.insert(line_of(program, inst)).second;
  }

 private:
  std::set<LineKey> seen_;
};

}  // namespace kiln::check
