#include "kiln/tensor/lower/dma_starts.h"

#include "kiln/analysis/trips.h"
#include "kiln/isa/enums.h"
#include "kiln/isa/table.h"

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

}  // namespace kiln::tensor
