#include "kiln/check/io.h"

#include <fmt/format.h>

#include "kiln/analysis/peak.h"
#include "kiln/check/rules.h"
#include "kiln/check/tensor_text.h"

namespace kiln::check {
using namespace analysis;
namespace {

using isa::Program;

void check_memories(const Program& program, std::vector<Diagnostic>& out) {
  for (const isa::Tensor& t : program.tensors) {
    if (t.role == isa::Role::internal || t.memory != Memory::private_hbm) continue;
    out.push_back(broken(io_rules::kTable, io_rules::kMemory,
                         {.found = fmt::format("memory {}", name(t.memory)),
                          .allowed = fmt::format("{} or {}", name(Memory::hbm), name(Memory::shared_hbm)),
                          .loc = program.locs[t.loc],
                          .context = fmt::format("{} `{}`, {}", name(t.role), t.name, type_text(t))}));
  }
}

void check_outputs(const Program& program, std::vector<Diagnostic>& out) {
  for (const isa::Tensor& t : program.tensors) {
    if (program.fragment || t.role != isa::Role::output || t.memory != Memory::hbm) continue;
    out.push_back(broken(io_rules::kTable, io_rules::kOutput,
                         {.found = fmt::format("memory {}", name(t.memory)),
                          .allowed = std::string(name(Memory::shared_hbm)),
                          .loc = program.locs[t.loc],
                          .context = fmt::format("output `{}`, {}", t.name, type_text(t))}));
  }
}

void check_registers(const Program& program, const Arch& arch, const Liveness& liveness, std::vector<Diagnostic>& out) {
  // A register counts as a tensor of one byte; the loops' registers are on every sequencer.
  std::vector<Demand> demands;
  for (const Interval& live : liveness.registers) {
    if (!live.empty()) demands.push_back({.live = live, .bytes = 1});
  }
  const int limit = arch.sequencer_registers;
  const Peak peak = find_peak(demands, limit);
  if (peak.bytes <= limit) return;
  out.push_back(broken(io_rules::kTable, io_rules::kRegisters,
                       {.found = fmt::format("{} registers alive here", peak.bytes),
                        .allowed = fmt::format("at most {} ({})", limit, arch.name),
                        .loc = loc_of(program, liveness.nodes[peak.at]),
                        .context = program.name}));
}

}  // namespace

void check_io(const Program& program, const Arch& arch, const Liveness& liveness, std::vector<Diagnostic>& out) {
  check_memories(program, out);
  check_outputs(program, out);
  check_registers(program, arch, liveness, out);
}

}  // namespace kiln::check
