// Tells which pass of its loops a diagnostic is about, in the user's words: i=3, j=77.
#pragma once

#include "kiln/isa/launch.h"
#include "kiln/isa/semantics/pass.h"
#include "kiln/sim/machine.h"

namespace kiln::sim {

// The loops of a pass by the names they have in the program.
NamedPass named(const isa::Program& program, const isa::Pass& pass);
std::string text_of(const NamedPass& pass);

class PassTeller {
 public:
  PassTeller(const isa::Launch& launch, const RunOptions& options) : launch_(launch), options_(options) {}

  // Adds the pass to a diagnostic about an instruction, or about a loop (null).
  void tell(Diagnostic& diagnostic, const isa::Program& program, const isa::Instruction* inst,
            const isa::Pass& pass) const;
  void tell(Diagnostic& diagnostic, const isa::Instruction& inst, const isa::Pass& pass) const;

 private:
  const isa::Launch& launch_;
  const RunOptions& options_;
};

}  // namespace kiln::sim
