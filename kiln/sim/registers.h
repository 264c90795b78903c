// The registers of a core.
#pragma once

#include <cstdint>
#include <vector>

#include "kiln/isa/semantics/run.h"

namespace kiln::sim {

class Registers {
 public:
  explicit Registers(const isa::Program& program)
      : program_(program), values_(program.registers.size()), is_defined_(program.registers.size()) {}

  // What a register holds. One that has no value yet is an error at `loc`.
  std::uint32_t read(isa::RegisterId id, isa::LocId loc) const {
    if (!is_defined_[id]) undefined(id, loc);
    return values_[id];
  }
  bool is_defined(isa::RegisterId id) const { return is_defined_[id]; }
  void write(isa::RegisterId id, std::uint32_t value) {
    values_[id] = value;
    is_defined_[id] = true;
  }

  // The value of the register among an instruction's arguments, if there is one.
  void read_argument(isa::Run& run) const;

  // Executes a register instruction. The tiles that it reads must be there.
  void execute(isa::Run& run);

 private:
  [[noreturn]] void undefined(isa::RegisterId id, isa::LocId loc) const;

  const isa::Program& program_;
  std::vector<std::uint32_t> values_;
  std::vector<bool> is_defined_;
};

}  // namespace kiln::sim
