#include <fmt/format.h>

#include <algorithm>

#include "kiln/advice/advice_rules.h"
#include "kiln/advice/picked.h"
#include "kiln/base/quantity_text.h"
#include "kiln/isa/semantics/cost.h"

namespace kiln::advice {
namespace {
constexpr double kGoodRunBytes = 2048;  // the vendor's bandwidth guide: at least 2 KiB per contiguous run
}

std::optional<Advice> small_dma(const Evidence& e) {
  double bytes = 0, runs = 0;
  Picked small = pick(e, &CoreChange::merged, [&](std::size_t, const isa::InstView& inst, std::int64_t times) {
    if (times < 2 || inst.facts().collective) return false;  // one cannot be merged
    if (resolve_engine(inst, e.run.arch) != Engine::dma) return false;
    const isa::Cost cost = cost_of(inst.program(), inst.inst(), e.run.arch);
    if (cost.dma_bytes >= kGoodRunBytes * cost.dma_descriptors) return false;
    bytes += cost.dma_bytes * static_cast<double>(times);
    runs += cost.dma_descriptors * static_cast<double>(times);
    return true;
  });
  if (small.executed == 0) return {};
  const double mean = bytes / runs;
  small.change.merge = std::min(kGoodRunBytes / mean, static_cast<double>(small.executed));
  return Advice{
      .found = fmt::format("{} DMA transfers move {} per contiguous run, {} in all", small.executed, bytes_text(mean),
                           bytes_text(bytes)),
      .remedy = "load or store several tiles with one dma_copy, with at least 2 KiB per partition",
      .places = std::move(small.places).take(),
      .gain_ns = e.gain_with(small.change),
      .estimate = e.estimate(fmt::format("triggers and packets of {:.1f} of these DMAs made one", small.change.merge))};
}

}  // namespace kiln::advice
