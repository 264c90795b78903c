#include "kiln/tensor/lower/assumed_trips.h"

#include "kiln/analysis/trips.h"
#include "kiln/timing/trips.h"

namespace kiln::tensor {

std::map<std::string, std::int64_t> assumed_trips(const isa::Program& program) {
  std::map<std::string, std::int64_t> out;
  for (const isa::Loop& loop : program.loops) {
    if (!analysis::known_trips(loop) && loop.usual == isa::Loop::kUnsaid) out[timing::name_of(program, loop)] = 1;
  }
  return out;
}

}  // namespace kiln::tensor
