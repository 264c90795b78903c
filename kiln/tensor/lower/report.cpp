#include "kiln/tensor/lower/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "kiln/tensor/lower/as_timed.h"

namespace kiln::tensor {
namespace {

constexpr double kKilo = 1024;

// When a group works, and the engine that is busy longest.
struct GroupTime {
  timing::Time from = 0, to = 0, busy = 0;
  std::string_view engine;
};

std::vector<GroupTime> times_of(const Compiled& compiled, const AsTimed& timed, const timing::Timeline& timeline) {
  std::vector<GroupTime> out(compiled.regions.size());
  std::vector<std::map<Engine, timing::Time>> busy(out.size());
  for (const timing::Event& e : timeline.events) {
    const isa::InstructionId inst = timed.origin(timeline.lanes[e.lane].core, e.inst);
    for (std::size_t g = 0; g < out.size(); ++g) {
      const RegionReport& r = compiled.regions[g];
      if (inst < r.first_instruction || inst >= r.first_instruction + r.instructions) continue;
      GroupTime& t = out[g];
      t.from = t.to == 0 ? e.start : std::min(t.from, e.start);
      t.to = std::max(t.to, e.end);
      busy[g][timeline.lanes[e.lane].engine] += e.occupied * e.repeats;
    }
  }
  for (std::size_t g = 0; g < out.size(); ++g) {
    for (const auto& [engine, time] : busy[g]) {
      if (time > out[g].busy) out[g].busy = time, out[g].engine = name(engine);
    }
  }
  return out;
}

std::string group_text(std::size_t number, const RegionReport& r) {
  std::string out =
      fmt::format("  {}. {}\n     {} rows in blocks of 128 partitions", number, r.ops, r.rows * r.packed / r.parts);
  if (r.parts > 1) out += fmt::format(", each on {} of them", r.parts);
  if (r.packed > 1) out += fmt::format(", {} rows per partition", r.packed);
  if (!r.loops.empty()) out += fmt::format(", loops over {}", fmt::join(r.loops, " x "));
  return out + fmt::format(
                   "; {} instructions\n     moves {:.1f} KB of HBM; {:.1f} KB of SBUF and {:.1f} KB of PSUM per "
                   "partition; {} tilings compared\n",
                   r.instructions, r.hbm_bytes / kKilo, r.tile_bytes / kKilo, r.psum_bytes / kKilo, r.alternatives);
}

// As long as comments in emitted source are.
std::string in_words(std::size_t number, const RegionReport& r) {
  constexpr std::size_t kWidth = 50;
  std::string text = fmt::format("group {}: {}", number, r.ops);
  if (text.size() <= kWidth) return text;
  return text.substr(0, text.rfind(' ', kWidth - 4)) + " ...";
}

}  // namespace

std::vector<std::vector<std::string>> groups_in_words(const Compiled& compiled) {
  std::vector<std::string> of_core(compiled.program.instructions.size());
  for (std::size_t g = 0; g < compiled.regions.size(); ++g) {
    const RegionReport& r = compiled.regions[g];
    const std::size_t last = std::min(of_core.size(), r.first_instruction + static_cast<std::size_t>(r.instructions));
    for (std::size_t i = r.first_instruction; i < last; ++i) of_core[i] = in_words(g + 1, r);
  }
  if (!compiled.peer) return {of_core};
  if (compiled.peer->instructions.size() != of_core.size()) return {};  // regions are told of core 0 alone
  return {of_core, of_core};
}

std::string report_text(const Compiled& compiled) {
  const Arch& chip = arch(compiled.program.target);
  const AsTimed timed(compiled.launch(), true);
  const timing::Timeline t = timeline_of(timed, true);
  const double moved = t.hbm_bytes_read + t.hbm_bytes_written;
  std::string out = fmt::format(
      "{} for {}: {} instructions in {} groups, predicted {:.1f} us\n  {} instructions executed, {:.0f} by the limits "
      "of "
      "tiles\n  moves {:.1f} KB of HBM, {:.1f} KB of them compulsory\n",
      compiled.program.name, chip.name, compiled.program.instructions.size(), compiled.regions.size(),
      timing::to_ns(t.total) / 1000, t.instructions, compiled.by_tile_limits, moved / kKilo,
      t.compulsory_bytes / kKilo);
  if (compiled.peer) out += fmt::format("  on each of two cores; {}\n", compiled.split);
  const std::vector<GroupTime> times = times_of(compiled, timed, t);
  for (std::size_t g = 0; g < compiled.regions.size(); ++g) {
    out += group_text(g + 1, compiled.regions[g]);
    const GroupTime& time = times[g];
    if (time.engine.empty()) continue;
    out += fmt::format("     from {:.1f} to {:.1f} us, mostly on {} ({:.1f} us)\n", timing::to_ns(time.from) / 1000,
                       timing::to_ns(time.to) / 1000, time.engine, timing::to_ns(time.busy) / 1000);
  }
  for (const Spill& s : compiled.spills) out += fmt::format("  through HBM: {}, {:.1f} KB\n", s.what, s.bytes / kKilo);
  if (compiled.refused > 0) out += fmt::format("  {} larger programs did not fit\n", compiled.refused);
  if (compiled.alternatives.size() > 1)
    out += fmt::format("  second best of {}: {}, {:.1f} us against {:.1f}\n", compiled.alternatives.size(),
                       compiled.alternatives[1].what, compiled.alternatives[1].time_ns / 1000,
                       compiled.alternatives[0].time_ns / 1000);
  return out;
}

}  // namespace kiln::tensor
