#include "kiln/tensor/lower/dma_starts.h"

#include <algorithm>

#include "kiln/analysis/trips.h"
#include "kiln/isa/enums.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/rewrite/edit.h"

namespace kiln::tensor {
namespace {

constexpr double kMuch = 0.4;

bool is_dma(const isa::Instruction& inst) { return isa::info(inst.opcode).find_param(isa::AttrType::DgeMode) >= 0; }

}  // namespace

bool waits_for_starts(const isa::Program& program, const Arch& chip, double time_ns) {
  if (!chip.features.hwdge) return false;
  analysis::TripCounts trips;
  for (const isa::Loop& loop : program.loops)
    trips.push_back(analysis::known_trips(loop).value_or(loop.usual == isa::Loop::kUnsaid ? 1 : loop.usual));
  const std::vector<std::int64_t> times = analysis::executions(program, trips);
  std::int64_t starts = 0;
  for (std::size_t i = 0; i < times.size(); ++i) starts += is_dma(program.instructions[i]) ? times[i] : 0;
  const double each = chip.dma.hwdge.trigger_ns + chip.dma.trigger_gap_ns;
  return static_cast<double>(starts) * each > kMuch * time_ns;
}

void start_by_software(isa::Program& program, const Arch& chip) {
  for (const isa::Instruction& inst : program.instructions) {
    if (!is_dma(inst)) continue;
    isa::Arg& mode = rewrite::arg_of(program, inst, isa::info(inst.opcode).find_param(isa::AttrType::DgeMode));
    const isa::Arg before = mode;
    if (before.integer != static_cast<std::int64_t>(isa::DgeMode::unknown)) continue;
    mode = rewrite::enumerator(static_cast<std::int64_t>(isa::DgeMode::swdge));
    std::vector<Diagnostic> said;
    isa::check_instruction(program, inst, chip, said);
    if (!said.empty()) mode = before;
  }
}

}  // namespace kiln::tensor
