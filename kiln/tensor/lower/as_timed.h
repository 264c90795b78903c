// A launch as `kiln time` times it: loops written out, and changed as the vendor's compiler would. Reports say this
// time, and the last choice between candidates goes by it.
#pragma once

#include <vector>

#include "kiln/isa/launch.h"
#include "kiln/timing/simulate.h"

namespace kiln::tensor {

// Whether `kiln time` writes out the loops of a program.
bool is_written_out(const isa::Program& program, const timing::TimingOptions& options = {});

class AsTimed {
 public:
  // `out`: for each program, whether its loops are written out.
  AsTimed(const isa::Launch& launch, const std::vector<bool>& out, bool keeps_origins = false);
  explicit AsTimed(const isa::Launch& launch, bool keeps_origins = false);

  isa::Launch launch() const { return isa::Launch::of(programs_); }
  // The instruction of the given program that one of the timed ones is.
  isa::InstructionId origin(int core, isa::InstructionId id) const;
  // Whether instructions without an engine went to another one than they would as written.
  bool is_balanced() const { return is_balanced_; }

 private:
  void add(const isa::Program& program, bool out, bool keeps_origins);

  std::vector<isa::Program> programs_;
  std::vector<std::vector<isa::InstructionId>> origins_;  // by core; empty: instructions have their own numbers
  bool is_balanced_ = false;
};

// With all passes of all loops; loops on registers that nobody knows a count of run once.
timing::Timeline timeline_of(const AsTimed& timed, bool keeps_events = false);
double time_as_seen_ns(const isa::Launch& launch);

}  // namespace kiln::tensor
