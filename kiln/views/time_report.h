// TimeReport: the answers of a timed run as data. Text, JSON, the page and comparisons are made from it.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kiln/advice/advice.h"
#include "kiln/analysis/work.h"
#include "kiln/views/lines.h"
#include "kiln/views/roofline.h"

namespace kiln::views {

using advice::Advice;

// An engine of a core, or all DMA queues together.
struct LaneUse {
  std::string name;  // tensor, dma; of a pair: core 0 tensor, core 1 tensor
  Engine engine = Engine::unknown;
  std::int64_t instructions = 0;
  int queues = 0;                                       // DMA only: queues that were used
  double busy_ns = 0;                                   // something occupies it; DMA: any queue moves bytes
  double active_ns = 0;                                 // something is in flight
  std::array<double, timing::kWaitCount> waiting_ns{};  // idle in front of an instruction, by cause
  double waiting_total_ns() const;
};

// A stretch of the critical path on one source line and lane.
struct PathStep {
  Place place;
  std::string lane, instruction;
  timing::Wait wait{};  // why its first instruction did not start earlier
  double time_ns = 0;
  std::int64_t repeats = 1;  // how often the path passes here
};

inline constexpr std::size_t kMaxSteps = 1000;

// Ranks that do the same: one of them was timed.
struct RankUse {
  std::string name;  // "ranks 0-3"
  int count = 1;
  double total_ns = 0;    // until they have ended
  double links_ns = 0;    // collectives are under way
  double exposed_ns = 0;  // of that: no engine works meanwhile
};

struct TimeReport {
  std::string program;
  std::string_view target;
  std::string_view topology;         // that collectives go over; empty: there is none of them
  std::vector<RankUse> ranks;        // all of the launch
  std::vector<std::string> what_if;  // as given
  bool reordered = false;            // or in program order
  std::string compiled;              // "12 loads hoisted, 3 buffers renamed": what the vendor's compiler would do
  double total_ns = 0;
  double low_ns = 0, high_ns = 0;  // the band
  std::string band_basis;
  std::vector<std::string> band_rows;
  double profiler_total_ns = 0, benchmark_latency_ns = 0;
  std::int64_t instructions = 0, events_left_out = 0;
  std::vector<LaneUse> lanes;
  std::size_t bottleneck = 0;           // index into lanes
  std::vector<LineTime> lines;          // in order of first appearance
  std::vector<PathStep> critical_path;  // its first kMaxSteps
  std::size_t critical_path_left_out = 0;
  analysis::Work work;
  Roofline roofline;
  double hbm_bytes_read = 0, hbm_bytes_written = 0, compulsory_bytes = 0;
  double sbuf_peak_bytes = 0, psum_peak_bytes = 0;  // per partition
  std::vector<Advice> advice;                       // largest gain first

  double active_ns(Engine engine) const;     // over all cores; 0 when unused
  double active_share(Engine engine) const;  // of the total, mean of the cores
  std::int64_t instructions_of(Engine engine) const;
};

// Advice re-runs the model; `with_advice` false leaves it out.
TimeReport report_of(const TimedRun& run, bool with_advice = true);

}  // namespace kiln::views
