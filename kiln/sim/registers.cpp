#include "kiln/sim/registers.h"

#include <fmt/format.h>

#include "kiln/sim/rules.h"

namespace kiln::sim {

void Registers::undefined(isa::RegisterId id, isa::LocId loc) const {
  raise(run_rules::kTable, run_rules::kRegisterWritten,
        {.found = fmt::format("register `{}` is read before it is written", program_.registers[id].name),
         .loc = program_.locs[loc]});
}

void Registers::read_argument(isa::Run& run) const {
  const int params = static_cast<int>(run.row().params.size());
  for (int i = 0; i < params; ++i) {
    if (run.is_register(i)) run.register_value = static_cast<std::int32_t>(read(run.reg(i), run.inst().loc));
  }
}

void Registers::execute(isa::Run& run) {
  run.registers = values_.data();
  const int set = run.facts().sets_register;
  const int params = static_cast<int>(run.row().params.size());
  for (int i = 0; i < params; ++i) {
    if (run.is_register(i) && i != set) read(run.reg(i), run.inst().loc);
  }
  run.row().semantics->run(run);
  if (set < 0) return;
  const auto gives_value = run.facts().gives_value;
  is_defined_[run.reg(set)] = !gives_value || gives_value(run);
}

}  // namespace kiln::sim
