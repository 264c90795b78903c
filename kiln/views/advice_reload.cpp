#include <fmt/format.h>

#include "kiln/views/advice_rules.h"
#include "kiln/views/format.h"

namespace kiln::views {
namespace {
constexpr double kTooOften = 1.5;
}

std::optional<Advice> reload(const Evidence& e) {
  const timing::Timeline& t = e.run.timeline;
  const double moved = t.hbm_bytes_read + t.hbm_bytes_written;
  if (t.compulsory_bytes <= 0 || moved < kTooOften * t.compulsory_bytes) return {};
  Places places;
  for (std::size_t core = 0; core < e.run.cores.size(); ++core) {
    const isa::Program& program = *e.run.cores[core];
    for (std::size_t i = 0; i < program.instructions.size(); ++i) {
      const isa::InstView inst(program, program.instructions[i]);
      if (resolve_engine(inst, e.run.arch) == Engine::dma && e.executions[core][i] > 1) places.add(inst);
    }
  }
  return Advice{
      .found = fmt::format("{} move between HBM and the chip, {} would do ({:.1f} times as much)",
                           bytes_text(moved), bytes_text(t.compulsory_bytes), moved / t.compulsory_bytes),
      .remedy = "keep tiles that are used again in SBUF, or loop so that they are used while they are there",
      .places = std::move(places).take(),
      .gain_ns = e.gain_with({{"dma_bandwidth", moved / t.compulsory_bytes}}),
      .estimate = kRerun};
}

}  // namespace kiln::views
