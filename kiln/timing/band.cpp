#include "kiln/timing/band.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace kiln::timing {

namespace {

constexpr Residual kResiduals[] = {
#define KILN_RESIDUAL(id, target, bottleneck, reordered, in_order, tensor, vector, scalar, dma, decades) \
  {id, Target::target, Engine::bottleneck, reordered, in_order, {{tensor, vector, scalar, dma}, decades}},
#include "kiln/timing/residuals.def"
#undef KILN_RESIDUAL
    {"", Target::trn2, Engine::unknown, 1, 1, {}},  // so that the table is never empty
};
constexpr std::size_t kFewest = 4;      // rows that a band needs
constexpr std::size_t kNamed = 2;       // nearest rows that are named
constexpr double kCovered = 0.9;        // share of the rows inside it
constexpr double kUnknownFactor = 1.5;  // where no row is like this kernel
constexpr double kLinkFactor = 2;       // what collectives are known to: docs/ranks.md
constexpr double kPerDecade = 0.2;      // of distance: ten times as long is as far as a fifth more of an engine's time
constexpr double kNear = 0.35;          // up to here the rows speak for a kernel; beyond, the band grows
constexpr double kGrowth = 1.5;         // of its logarithm, per distance

struct Like {
  const Residual* row;
  double distance;
};

// A run that asks for its band.
struct Asked {
  Likeness own;
  Engine bottleneck;
  Target target;
  std::span<const std::string> without;
};

std::vector<Like> rows_like(const Asked& asked, int step) {
  std::vector<Like> rows;
  for (const Residual& r : residuals()) {
    const bool left_out = std::find(asked.without.begin(), asked.without.end(), r.id) != asked.without.end();
    if (left_out || (step < 2 && r.target != asked.target) || (step < 1 && r.bottleneck != asked.bottleneck)) continue;
    rows.push_back({&r, distance(asked.own, r.likeness)});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Like& a, const Like& b) { return a.distance < b.distance; });
  return rows;
}

// How far off the rows are, as a factor, and more for a kernel that is far from all of them.
double factor_of(const std::vector<Like>& rows, bool reordered) {
  std::vector<double> off;
  for (const Like& r : rows) off.push_back(std::abs(std::log(reordered ? r.row->reordered : r.row->in_order)));
  std::sort(off.begin(), off.end());
  const auto place = static_cast<std::size_t>(std::ceil(kCovered * static_cast<double>(off.size())));
  const double far = std::max(0.0, rows.front().distance - kNear);
  return std::exp(off[std::min(off.size() - 1, place)] * (1 + kGrowth * far) + far * std::log(kUnknownFactor));
}

std::string basis_of(const std::vector<Like>& rows, const Arch& arch, int step) {
  if (step == 2) return "measured kernels of every generation";
  std::string text = fmt::format("{}, {}", arch.name, step == 0 ? "kernels with this bottleneck" : "all kernels");
  text += rows.front().distance > kNear ? "; unlike all of them, nearest " : "; nearest ";
  for (std::size_t i = 0; i < std::min(kNamed, rows.size()); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", rows[i].row->id);
  return text;
}

// No kernel with collectives is among the rows: while they alone go on, they take what links are known to within.
void set_ends(Band& band, const Timeline& t, double factor) {
  Time exposed = 0;
  for (const RanksAlike& ranks : t.ranks) exposed = std::max(exposed, std::min(ranks.exposed, t.total));
  const auto alone = static_cast<double>(exposed), rest = static_cast<double>(t.total - exposed);
  band.low = static_cast<Time>(rest / factor + alone / kLinkFactor);
  band.high = static_cast<Time>(rest * factor + alone * kLinkFactor);
  if (exposed > 0) band.basis += fmt::format("; collectives within a factor of {}", kLinkFactor);
}

}  // namespace

std::span<const Residual> residuals() { return std::span(kResiduals).first(std::size(kResiduals) - 1); }

Likeness likeness_of(const Timeline& t) {
  Likeness like;
  if (t.total <= 0) return like;
  const auto total = static_cast<double>(t.total);
  for (const Lane& lane : t.lanes) {
    const int place = lane.engine == Engine::tensor   ? 0
                      : lane.engine == Engine::vector ? 1
                      : lane.engine == Engine::scalar ? 2
                                                      : -1;
    if (place >= 0 && lane.queue < 0 && lane.core == 0)
      like.busy[static_cast<std::size_t>(place)] = static_cast<double>(lane.busy) / total;
  }
  like.busy[3] = static_cast<double>(t.dma_busy) / total;
  like.decades = std::log10(to_ns(t.total));
  return like;
}

double distance(const Likeness& a, const Likeness& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.busy.size(); ++i) sum += (a.busy[i] - b.busy[i]) * (a.busy[i] - b.busy[i]);
  const double decades = kPerDecade * (a.decades - b.decades);
  return std::sqrt(sum + decades * decades);
}

// Rows of the same generation and bottleneck; when there are too few, of the same generation; else of all. `step` says
// which, and is 3 where no row is left.
static std::pair<std::vector<Like>, int> speaking_rows(const Asked& asked) {
  int step = 0;
  std::vector<Like> rows = rows_like(asked, step);
  while (rows.size() < kFewest && ++step < 3) rows = rows_like(asked, step);
  return {std::move(rows), step};
}

double band_factor(const Likeness& own, Engine bottleneck, const Arch& arch, std::span<const std::string> without) {
  const auto [rows, step] = speaking_rows({own, bottleneck, arch.target, without});
  return step == 3 ? kUnknownFactor : factor_of(rows, true);
}

Band band_of(const Timeline& t, const Arch& arch, std::span<const std::string> without) {
  const Engine engine = t.lanes.empty() ? Engine::unknown : t.lanes[t.bottleneck].engine;
  const auto [rows, step] = speaking_rows({likeness_of(t), engine, arch.target, without});
  Band band;
  if (step == 3) {
    band.basis = "no measured kernel is like this one";
    set_ends(band, t, kUnknownFactor);
    return band;
  }
  for (const Like& r : rows) band.rows.emplace_back(r.row->id);
  band.basis = basis_of(rows, arch, step);
  set_ends(band, t, factor_of(rows, t.reordered));
  return band;
}

}  // namespace kiln::timing
