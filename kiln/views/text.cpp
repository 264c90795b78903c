#include "kiln/views/text.h"

#include <fmt/format.h>

#include <algorithm>

#include "kiln/base/quantity_text.h"
#include "kiln/views/fit_width.h"
#include "kiln/views/text_table.h"
#include "kiln/views/wait_words.h"

namespace kiln::views {
namespace {

constexpr std::size_t kShownPlaces = 10;  // of an advice
constexpr std::size_t kWide = 110;        // terminals that show whole names of files
constexpr Align L = Align::left, R = Align::right;

std::string share_text(double part, const TimeReport& r) {
  return percent_text(r.total_ns > 0 ? part / r.total_ns : 0);
}

// "8 ranks on trn2.48xlarge, all alike; collectives take 12 us, 3 us of it exposed".
std::string ranks_text(const TimeReport& r) {
  int count = 0;
  for (const RankUse& ranks : r.ranks) count += ranks.count;
  std::string text = count > 1
                         ? fmt::format("{} ranks on {}, {}", count, r.topology,
                                       r.ranks.size() == 1 ? "all alike" : fmt::format("of {} kinds", r.ranks.size()))
                         : fmt::format("one rank on {}, the others taken to arrive with it", r.topology);
  if (r.ranks.size() > 1) return text;
  return text + fmt::format("; collectives under way for {}, {} of it while no engine works",
                            time_text(r.ranks[0].links_ns), time_text(r.ranks[0].exposed_ns));
}

std::string ranks_table(const TimeReport& r) {
  if (r.ranks.size() < 2) return {};
  TextTable table({L, R, R, R, R});
  table.add({"ranks", "ended", "collectives", "exposed", ""});
  for (const RankUse& ranks : r.ranks)
    table.add({ranks.name, time_text(ranks.total_ns), time_text(ranks.links_ns), time_text(ranks.exposed_ns),
               share_text(ranks.exposed_ns, r)});
  return "\nRanks\n" + table.to_text();
}

std::string head(const TimeReport& r) {
  std::string text = fmt::format("{} for {}: {}", r.program, r.target, time_text(r.total_ns));
  if (r.high_ns > 0) text += fmt::format(", between {} and {}", time_text(r.low_ns), time_text(r.high_ns));
  text += '\n';
  if (!r.band_basis.empty()) text += fmt::format("  band: {} ({} rows)\n", r.band_basis, r.band_rows.size());
  for (const std::string& change : r.what_if) text += fmt::format("  what if: {}\n", change);
  if (r.profiler_total_ns > 0) {
    text += fmt::format("  the vendor's profiler would show {}, its benchmark {}\n", time_text(r.profiler_total_ns),
                        time_text(r.benchmark_latency_ns));
  }
  if (!r.topology.empty()) text += fmt::format("  {}\n", ranks_text(r));
  const LaneUse& b = r.lanes[r.bottleneck];
  text += fmt::format("  bottleneck: {}, busy for {} of the time\n", b.name, share_text(b.busy_ns, r));
  if (!r.compiled.empty()) text += fmt::format("  as the vendor's compiler would: {}\n", r.compiled);
  text += r.reordered ? "  each engine's instructions reordered as the vendor's compiler may\n"
                      : "  instructions in the order of the program\n";
  return text;
}

// The three longest waits: "data 12.1 us, its turn 3.00 us".
std::string waits_text(const LaneUse& lane) {
  std::vector<int> order;
  for (int w = 0; w < timing::kWaitCount; ++w) {
    if (lane.waiting_ns[w] > 0) order.push_back(w);
  }
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return lane.waiting_ns[a] > lane.waiting_ns[b]; });
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(order.size(), 3); ++i) {
    text += fmt::format("{}{} {}", i ? ", " : "", words(static_cast<timing::Wait>(order[i])),
                        time_text(lane.waiting_ns[order[i]]));
  }
  return text;
}

std::string engines(const TimeReport& r) {
  TextTable table({L, R, R, R, R, L});
  table.add({"engine", "instructions", "busy", "", "waiting", "for"});
  for (const LaneUse& lane : r.lanes) {
    if (lane.instructions == 0) continue;
    const std::string name = lane.queues ? fmt::format("{} ({} queues)", lane.name, lane.queues) : lane.name;
    table.add({name, std::to_string(lane.instructions), time_text(lane.busy_ns), share_text(lane.busy_ns, r),
               time_text(lane.waiting_total_ns()), waits_text(lane)});
  }
  return "\nEngines\n" + table.to_text();
}

std::string without_folder(const Place& place) {
  return to_string(Place{place.file.substr(place.file.rfind('/') + 1), place.line});
}

// The first lines in an order, and how many there are beyond.
std::string lines_table(const TimeReport& r, const char* title, std::size_t limit, double LineTime::*time,
                        const char* time_name, bool narrow) {
  std::vector<const LineTime*> lines;
  for (const LineTime& line : r.lines) {
    if (line.*time > 0) lines.push_back(&line);
  }
  if (lines.empty()) return {};
  const std::size_t shown = std::min(limit, lines.size());
  std::partial_sort(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(shown), lines.end(),
                    [&](auto* a, auto* b) { return a->*time > b->*time || (a->*time == b->*time && a < b); });
  TextTable table({L, R, R, R, L, L});
  table.add({"line", time_name, "", "executed", "instruction", "waits mostly for"});
  for (std::size_t i = 0; i < shown; ++i) {
    const LineTime& line = *lines[i];
    std::string waits;
    if (line.waiting_ns > 0) {
      const double each = line.waiting_ns / static_cast<double>(std::max<std::int64_t>(line.executions, 1));
      waits = fmt::format("{} ({} each)", words(line.waits_for), time_text(each));
    }
    table.add({narrow ? without_folder(line.place) : to_string(line.place), time_text(line.*time),
               share_text(line.*time, r), std::to_string(line.executions), line.instructions, std::move(waits)});
  }
  std::string text = fmt::format("\n{}\n{}", title, table.to_text());
  if (lines.size() > limit) text += fmt::format("  and {} more lines\n", lines.size() - limit);
  return text;
}

std::string roofline_text(const TimeReport& r) {
  const Roofline& roof = r.roofline;
  TextTable table({L, R, R, R});
  table.add({"part", "work", "least time", "of the total"});
  for (const Ceiling& c : roof.ceilings) {
    table.add({c.name, c.is_bytes ? bytes_text(c.work) : count_text(c.work, "flop"), time_text(c.least_ns()),
               share_text(c.least_ns(), r)});
  }
  std::string text = "\nRoofline\n" + table.to_text();
  if (roof.flops > 0 && roof.hbm_bytes > 0) {
    text += fmt::format("  arithmetic intensity {:.3g} flop/B, ridge at {:.3g}: on the {} side\n", roof.intensity(),
                        roof.ridge(), roof.intensity() < roof.ridge() ? "HBM" : "tensor engine");
    text += fmt::format("  tensor engine: {} of {} ({})\n", per_second_text(roof.achieved_flops_per_ns, "flop/s"),
                        per_second_text(roof.peak_flops_per_ns, "flop/s"),
                        percent_text(roof.achieved_flops_per_ns / roof.peak_flops_per_ns));
  }
  const double moved = r.hbm_bytes_read + r.hbm_bytes_written;
  text += fmt::format("  HBM: {} moved", bytes_text(moved));
  if (r.compulsory_bytes > 0)
    text += fmt::format(", {} compulsory ({:.2f} times)", bytes_text(r.compulsory_bytes), moved / r.compulsory_bytes);
  return text + fmt::format("\n  memory per partition: at most {} of SBUF, {} of PSUM\n", bytes_text(r.sbuf_peak_bytes),
                            bytes_text(r.psum_peak_bytes));
}

std::string places_text(const advice::PlaceList& places) {
  const std::size_t shown = std::min(places.first.size(), kShownPlaces);
  const std::size_t more = places.first.size() - shown + places.left_out;
  const std::string text = to_string({places.first.begin(), places.first.begin() + static_cast<std::ptrdiff_t>(shown)});
  return more ? fmt::format("{} and {} more", text, more) : text;
}

std::string advice_text(const TimeReport& r) {
  if (r.advice.empty()) return {};
  std::string text = "\nAdvice\n";
  for (const Advice& a : r.advice) {
    text += fmt::format("  {}: {}\n    {}\n    lines: {}\n    gain: about {} ({}; {})\n", a.rule, a.found, a.remedy,
                        places_text(a.places), time_text(a.gain_ns), share_text(a.gain_ns, r), a.estimate);
  }
  return text;
}

}  // namespace

std::string to_text(const TimeReport& r, const TextOptions& options) {
  const bool narrow = options.width > 0 && options.width < kWide;
  return fit_width(head(r) + ranks_table(r) + engines(r) +
                       lines_table(r, "Critical path, by line", options.lines, &LineTime::critical_ns, "time", narrow) +
                       lines_table(r, "Hottest lines", options.lines, &LineTime::busy_ns, "busy", narrow) +
                       roofline_text(r) + advice_text(r),
                   options.width);
}

}  // namespace kiln::views
