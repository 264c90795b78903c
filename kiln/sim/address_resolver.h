// Addresses: from the accesses of an instruction to tiles in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kiln/isa/semantics/run.h"
#include "kiln/sim/bindings.h"
#include "kiln/sim/loan.h"
#include "kiln/sim/loop_stack.h"
#include "kiln/sim/operand.h"
#include "kiln/sim/postponed.h"
#include "kiln/sim/registers.h"

namespace kiln::sim {

class AddressResolver {
 public:
  // What an address is made of.
  struct Sources {
    const isa::Program& program;
    const Arch& arch;
    const Bindings& bindings;
    const LoopStack& loops;
    const Registers& registers;
    const Postponed& postponed;
    Origins& origins;  // index tiles must have been written
    TaskQueue& queue;  // and their values must be there
  };
  explicit AddressResolver(const Sources& sources) : at_(sources) {}

  // Gives the run its tiles, and lists them as operands. What it reads of the tensors in `lent` lies there.
  void add_operands(isa::Run& run, std::span<const Lent> lent, Operands& operands) const;

  // The tile of an access without run-time parts.
  void place(isa::Tile& tile, const isa::Access& access, const Binding& binding) const;

  // Where an access to HBM lies if an instruction were at it now; nothing when that is not known, or outside.
  Soon foresee(const isa::Access& access) const;

 private:
  using Keep = std::vector<std::shared_ptr<void>>;  // tables that a tile points to
  void add_operand(isa::Run& run, int param, const isa::Access& access, const Binding& binding,
                   Operands& operands) const;
  void resolve(isa::Tile& tile, const isa::Access& access, const Binding& binding, const isa::Run& run,
               Keep& keep) const;
  void resolve_scalar(isa::Tile& tile, const isa::Access& access, std::int64_t value, const isa::Run& run,
                      Keep& keep) const;
  void resolve_vector(isa::Tile& tile, const isa::Access& access, const isa::Access& index, const isa::Run& run,
                      Keep& keep) const;
  void resolve_indirect(isa::Tile& tile, const isa::Access& access, const isa::Access& index, const isa::Run& run,
                        Keep& keep) const;
  std::vector<std::int64_t> read_indices(const isa::Access& index, const isa::Run& run, std::int64_t group,
                                         std::int64_t count, Keep& keep) const;
  void check_start(const isa::Tile& tile, int param, const isa::Access& access, const isa::Run& run) const;

  const Sources at_;
};

}  // namespace kiln::sim
