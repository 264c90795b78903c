#include "kiln/timing/band.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace kiln::timing {

namespace {

constexpr Residual kResiduals[] = {
#define KILN_RESIDUAL(id, target, bottleneck, reordered, in_order) \
  {id, Target::target, Engine::bottleneck, reordered, in_order},
#include "kiln/timing/residuals.def"
#undef KILN_RESIDUAL
    {"", Target::trn2, Engine::unknown, 1, 1},  // so that the table is never empty
};
constexpr std::size_t kFewest = 4;      // rows that a band needs
constexpr double kCovered = 0.9;        // share of the rows inside it
constexpr double kUnknownFactor = 1.5;  // where no row is like this kernel

}  // namespace

std::span<const Residual> residuals() { return std::span(kResiduals).first(std::size(kResiduals) - 1); }

// Rows of the same generation and bottleneck; when there are too few, of the same generation; else a factor.
Band band_of(const Timeline& t, const Arch& arch, std::string_view without) {
  const Engine engine = t.lanes.empty() ? Engine::unknown : t.lanes[t.bottleneck].engine;
  Band band;
  for (int step = 0; step < 3; ++step) {
    std::vector<double> off;
    band.rows.clear();
    for (const Residual& r : residuals()) {
      if (r.id == without) continue;
      if (step < 2 && r.target != arch.target) continue;
      if (step < 1 && r.bottleneck != engine) continue;
      off.push_back(std::abs(std::log(t.reordered ? r.reordered : r.in_order)));
      band.rows.emplace_back(r.id);
    }
    if (off.size() < kFewest) continue;
    std::sort(off.begin(), off.end());
    const double factor = std::exp(
        off[std::min(off.size() - 1, static_cast<std::size_t>(std::ceil(kCovered * static_cast<double>(off.size()))))]);
    const char* scope = step == 0 ? "kernels with this bottleneck" : "all kernels";
    band.basis = step == 2 ? "measured kernels of every generation" : fmt::format("{}, {}", arch.name, scope);
    band.low = static_cast<Time>(static_cast<double>(t.total) / factor);
    band.high = static_cast<Time>(static_cast<double>(t.total) * factor);
    return band;
  }
  band.rows.clear();
  band.basis = "no measured kernel is like this one";
  band.low = static_cast<Time>(static_cast<double>(t.total) / kUnknownFactor);
  band.high = static_cast<Time>(static_cast<double>(t.total) * kUnknownFactor);
  return band;
}

}  // namespace kiln::timing
