#include "kiln/check/io.h"

#include <fmt/format.h>

#include "kiln/analysis/peak.h"
#include "kiln/check/rules.h"

namespace kiln::check {
using namespace analysis;
namespace {

using isa::Program;

void check_memories(const Program& program, std::vector<Diagnostic>& out) {
  for (const isa::Tensor& t : program.tensors) {
    if (t.role == isa::Role::internal || t.memory != Memory::private_hbm) continue;
    Diagnostic d = broken_rule(io_rules(), io_rule::memory, program.locs[t.loc]);
    d.context = fmt::format("{} `{}`, {}", name(t.role), t.name, type_text(t));
    d.found = fmt::format("memory {}", name(t.memory));
    d.allowed = fmt::format("{} or {}", name(Memory::hbm), name(Memory::shared_hbm));
    out.push_back(std::move(d));
  }
}

void check_outputs(const Program& program, std::vector<Diagnostic>& out) {
  for (const isa::Tensor& t : program.tensors) {
    if (program.fragment || t.role != isa::Role::output || t.memory != Memory::hbm) continue;
    Diagnostic d = broken_rule(io_rules(), io_rule::output, program.locs[t.loc]);
    d.context = fmt::format("output `{}`, {}", t.name, type_text(t));
    d.found = fmt::format("memory {}", name(t.memory));
    d.allowed = name(Memory::shared_hbm);
    out.push_back(std::move(d));
  }
}

void check_registers(const Program& program, const Arch& arch, const Liveness& liveness, std::vector<Diagnostic>& out) {
  // A register counts as a tensor of one byte; the loops' registers are on every sequencer.
  std::vector<Demand> demands;
  for (const Interval& live : liveness.registers) {
    if (!live.empty()) demands.push_back({.live = live, .bytes = 1});
  }
  const int limit = arch.engine[static_cast<int>(Engine::sync)].registers;
  const Peak peak = find_peak(demands, limit);
  if (peak.bytes <= limit) return;
  Diagnostic d = broken_rule(io_rules(), io_rule::registers, loc_of(program, liveness.nodes[peak.at]));
  d.context = program.name;
  d.found = fmt::format("{} registers alive here", peak.bytes);
  d.allowed = fmt::format("at most {} ({})", limit, arch.name);
  out.push_back(std::move(d));
}

}  // namespace

void check_io(const Program& program, const Arch& arch, const Liveness& liveness, std::vector<Diagnostic>& out) {
  check_memories(program, out);
  check_outputs(program, out);
  check_registers(program, arch, liveness, out);
}

}  // namespace kiln::check
