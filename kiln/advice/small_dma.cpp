#include <fmt/format.h>

#include <algorithm>

#include "kiln/advice/advice_rules.h"
#include "kiln/base/quantity_text.h"
#include "kiln/isa/semantics/cost.h"

namespace kiln::advice {
namespace {
constexpr double kGoodRunBytes = 2048;  // the vendor's bandwidth guide: at least 2 KiB per contiguous run
}

std::optional<Advice> small_dma(const Evidence& e) {
  Places places;
  double bytes = 0, runs = 0;
  std::int64_t transfers = 0;
  Change change;
  change.cores.resize(e.run.cores().size());
  for (std::size_t core = 0; core < e.run.cores().size(); ++core) {
    const isa::Program& program = *e.run.cores()[core];
    for (std::size_t i = 0; i < program.instructions.size(); ++i) {
      const isa::InstView inst(program, program.instructions[i]);
      const std::int64_t times = e.executions[core][i];
      if (times < 2 || inst.facts().collective) continue;  // one cannot be merged
      if (resolve_engine(inst, e.run.arch) != Engine::dma) continue;
      const isa::Cost cost = cost_of(program, inst.inst(), e.run.arch);
      if (cost.dma_bytes >= kGoodRunBytes * cost.dma_descriptors) continue;
      places.add(inst);
      change.cores[core].merged.push_back(static_cast<isa::InstructionId>(i));
      transfers += times;
      bytes += cost.dma_bytes * static_cast<double>(times);
      runs += cost.dma_descriptors * static_cast<double>(times);
    }
  }
  if (transfers == 0) return {};
  const double mean = bytes / runs;
  change.merge = std::min(kGoodRunBytes / mean, static_cast<double>(transfers));
  return Advice{
      .found = fmt::format("{} DMA transfers move {} per contiguous run, {} in all", transfers, bytes_text(mean),
                           bytes_text(bytes)),
      .remedy = "load or store several tiles with one dma_copy, with at least 2 KiB per partition",
      .places = std::move(places).take(),
      .gain_ns = e.gain_with(change),
      .estimate = e.estimate(fmt::format("triggers and packets of {:.1f} of these DMAs made one", change.merge))};
}

}  // namespace kiln::advice
