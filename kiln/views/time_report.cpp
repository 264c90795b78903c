#include "kiln/views/time_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "kiln/timing/rank_kinds.h"

namespace kiln::views {
namespace {

using timing::Timeline;
using timing::to_ns;

std::string text_of(const timing::WhatIf& change) {
  return fmt::format("{}={}{}", change.name, change.value, change.relative ? "x" : "");
}

void add_lane(LaneUse& use, const timing::Lane& lane) {
  use.instructions += lane.executions;
  use.active_ns += to_ns(lane.active);
  for (int w = 0; w < timing::kWaitCount; ++w) use.waiting_ns[w] += to_ns(lane.waiting[w]);
}

// Engines as they are; all queues become one entry, since work spreads over them and over both cores.
std::vector<LaneUse> lanes_of(const Timeline& t, std::size_t& bottleneck) {
  std::vector<LaneUse> lanes;
  LaneUse dma{.name = "dma", .engine = Engine::dma, .busy_ns = to_ns(t.dma_busy)};
  bool dma_binds = false;
  for (std::size_t i = 0; i < t.lanes.size(); ++i) {
    const timing::Lane& lane = t.lanes[i];
    if (lane.queue >= 0) {
      dma.queues += lane.executions > 0;
      add_lane(dma, lane);
      dma_binds |= i == t.bottleneck;
      continue;
    }
    if (i == t.bottleneck) bottleneck = lanes.size();
    lanes.push_back({.name = lane.name, .engine = lane.engine, .busy_ns = to_ns(lane.busy)});
    add_lane(lanes.back(), lane);
  }
  dma.active_ns = dma.busy_ns;
  // Transfers wait in a queue all at once, and the queue is not idle meanwhile.
  dma.waiting_ns[static_cast<int>(timing::Wait::queue)] = 0;
  if (dma_binds) bottleneck = lanes.size();
  lanes.push_back(dma);
  return lanes;
}

// Steps of one line on one lane in a row become one. Of those beyond kMaxSteps, only how many there are.
void add_path(TimeReport& r, const TimedRun& run) {
  std::optional<timing::Event> last;
  const auto goes_on = [&](const timing::Event& event) {
    return last && run.timeline.lanes[last->lane].name == run.timeline.lanes[event.lane].name &&
           place_of(run, *last) == place_of(run, event);
  };
  for (const timing::CriticalStep& step : run.timeline.critical_path) {
    const timing::Event event = run.timeline.events[step.event];
    if (!goes_on(event)) {
      if (r.critical_path.size() == kMaxSteps) {
        ++r.critical_path_left_out;
      } else {
        r.critical_path.push_back({place_of(run, event), run.timeline.lanes[event.lane].name,
                                   std::string(run.instruction_of(event).row().name), event.wait, 0, 0});
      }
    }
    last = event;
    if (r.critical_path_left_out > 0) continue;
    r.critical_path.back().time_ns += to_ns(step.time);
    r.critical_path.back().repeats += step.repeats;
  }
}

}  // namespace

double LaneUse::waiting_total_ns() const { return std::accumulate(waiting_ns.begin(), waiting_ns.end(), 0.0); }

double TimeReport::active_ns(Engine engine) const {
  double sum = 0;
  for (const LaneUse& lane : lanes) sum += lane.engine == engine ? lane.active_ns : 0;
  return sum;
}

double TimeReport::active_share(Engine engine) const {
  const auto cores =
      std::count_if(lanes.begin(), lanes.end(), [](const LaneUse& lane) { return lane.engine == Engine::tensor; });
  if (total_ns <= 0 || cores == 0) return 0;
  return std::min(1.0, active_ns(engine) / total_ns / static_cast<double>(cores));  // sync has two lanes
}

std::int64_t TimeReport::instructions_of(Engine engine) const {
  std::int64_t sum = 0;
  for (const LaneUse& lane : lanes) sum += lane.engine == engine ? lane.instructions : 0;
  return sum;
}

TimeReport report_of(const TimedRun& run, bool with_advice) {
  const Timeline& t = run.timeline;
  TimeReport r;
  r.program = run.launch.name();
  r.target = run.arch.name;
  for (const timing::RanksAlike& alike : t.ranks)
    r.ranks.push_back({timing::ranks_text(alike.ranks), static_cast<int>(alike.ranks.size()), to_ns(alike.total),
                       to_ns(alike.links), to_ns(alike.exposed)});
  if (std::ranges::any_of(t.lanes, &timing::Lane::links)) r.topology = run.arch.links.server;
  for (const timing::WhatIf& change : run.options.what_if) r.what_if.push_back(text_of(change));
  r.reordered = t.reordered;
  r.total_ns = to_ns(t.total);
  r.low_ns = to_ns(t.band.low);
  r.high_ns = to_ns(t.band.high);
  r.band_basis = t.band.basis;
  r.band_rows = t.band.rows;
  r.profiler_total_ns = to_ns(t.profiler_total);
  r.benchmark_latency_ns = to_ns(t.benchmark_latency);
  r.instructions = t.instructions;
  r.events_left_out = t.events_left_out;
  r.lanes = lanes_of(t, r.bottleneck);
  r.lines = time_by_line(run);
  add_path(r, run);
  for (int core = 0; core < static_cast<int>(run.cores().size()); ++core)
    add_work(r.work, *run.cores()[core], run.trips(core), run.arch);
  r.roofline = roofline_of(run, r.work);
  r.hbm_bytes_read = t.hbm_bytes_read;
  r.hbm_bytes_written = t.hbm_bytes_written;
  r.compulsory_bytes = t.compulsory_bytes;
  for (const timing::MemorySample& sample : t.memory) {
    r.sbuf_peak_bytes = std::max(r.sbuf_peak_bytes, static_cast<double>(sample.sbuf_bytes));
    r.psum_peak_bytes = std::max(r.psum_peak_bytes, static_cast<double>(sample.psum_bytes));
  }
  if (with_advice) r.advice = advice::advise(run);
  return r;
}

}  // namespace kiln::views
