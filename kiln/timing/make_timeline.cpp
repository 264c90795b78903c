#include "kiln/timing/make_timeline.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "kiln/timing/band.h"
#include "kiln/timing/critical_path.h"
#include "kiln/timing/exposed.h"
#include "kiln/timing/together.h"

namespace kiln::timing {
using namespace isa;

namespace {

void add_core(Timeline& t, CoreRun& run) {
  EventLog& log = run.core->log();
  const auto lane0 = static_cast<LaneId>(t.lanes.size());
  const auto event0 = static_cast<EventId>(t.events.size());
  Events events = log.take_events();
  if (t.events.empty()) {
    t.events = std::move(events);
  } else {
    t.events.append(events, lane0, event0);
  }
  t.lanes.insert(t.lanes.end(), log.lanes().begin(), log.lanes().end());
  for (Gap g : run.walk->left_out.gaps) {
    g.first_event += event0;
    g.last_event += event0;
    t.gaps.push_back(g);
  }
  t.trip_counts.insert(t.trip_counts.end(), run.walk->trip_counts.begin(), run.walk->trip_counts.end());
  t.total = std::max(t.total, run.core->progress().last_end());
  t.instructions += log.totals().instructions;
  t.hbm_bytes_read += log.totals().hbm_read;
  t.hbm_bytes_written += log.totals().hbm_written;
  t.macs += log.totals().macs;
  t.flops += log.totals().flops;
  t.dma_busy = std::max(t.dma_busy, log.dma_busy());
}

// The lives of a core's tensors, whose events are counted from `first_event` on.
struct LivesOfCore {
  std::vector<Life> lives;
  const Program* program;
  EventId first_event;
};

// What begins and ends at one moment becomes one sample. There may be millions, so each life is there only twice: in
// the order in which they begin, and in that in which they end.
void add_memory(Timeline& t, LivesOfCore core, int number) {
  std::vector<Life>& lives = core.lives;
  const auto begin = [&](const Life& life) { return t.events.start_of(core.first_event + life.begin); };
  const auto end = [&](const Life& life) { return t.events.end_of(core.first_event + life.end); };
  std::sort(lives.begin(), lives.end(), [&](const Life& a, const Life& b) { return begin(a) < begin(b); });
  std::vector<std::uint32_t> ending(lives.size());
  std::iota(ending.begin(), ending.end(), 0u);
  std::sort(ending.begin(), ending.end(), [&](auto a, auto b) { return end(lives[a]) < end(lives[b]); });
  const auto for_each_moment = [&](auto&& moment) {
    std::int64_t sbuf = 0, psum = 0;
    const auto add = [&](const Life& life, std::int64_t sign) {
      const Tensor& tensor = core.program->tensors[life.tensor];
      (tensor.memory == Memory::psum ? psum : sbuf) += sign * tensor.bytes_per_partition();
    };
    for (std::size_t begun = 0, ended = 0; ended < lives.size();) {
      Time at = end(lives[ending[ended]]);
      if (begun < lives.size()) at = std::min(at, begin(lives[begun]));
      for (; begun < lives.size() && begin(lives[begun]) == at; ++begun) add(lives[begun], 1);
      for (; ended < lives.size() && end(lives[ending[ended]]) == at; ++ended) add(lives[ending[ended]], -1);
      moment(MemorySample{at, number, sbuf, psum});
    }
  };
  std::size_t count = t.memory.size();
  for_each_moment([&](const MemorySample&) { ++count; });
  t.memory.reserve(count);
  for_each_moment([&](const MemorySample& sample) { t.memory.push_back(sample); });
}

double compulsory_bytes(const std::vector<CoreRun>& runs, std::size_t cores) {
  double bytes = 0;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const Program& first = runs[r - r % cores].core->program();  // of its rank
    for (const Tensor& tensor : runs[r].core->program().tensors) {
      if (tensor.role == Role::internal) continue;
      const bool seen = r % cores > 0 && std::any_of(first.tensors.begin(), first.tensors.end(),
                                                     [&](const Tensor& other) { return other.name == tensor.name; });
      if (seen) continue;  // the cores of a pair share inputs and outputs
      const double once = static_cast<double>(tensor.size()) * size_bytes(tensor.dtype);
      bytes += tensor.role == Role::inout ? 2 * once : once;
    }
  }
  return bytes;
}

// The lane that is busy longest; DMA queues together are busy while any of them moves bytes.
LaneId bottleneck(const Timeline& t) {
  LaneId best = 0;
  Time most = -1;
  for (LaneId i = 0; i < t.lanes.size(); ++i) {
    if (t.lanes[i].engine == Engine::dma || t.lanes[i].engine == Engine::sync) continue;
    if (t.lanes[i].busy > most) best = i, most = t.lanes[i].busy;
  }
  for (LaneId i = 0; i < t.lanes.size(); ++i) {
    if (t.lanes[i].engine == Engine::dma && t.dma_busy > most) return i;
  }
  return best;
}

// A collective that waited for other ranks began because of the one that came last, which waited for nobody.
void name_the_last(Timeline& t) {
  std::map<Time, EventId> last;  // by when it began
  for (const Event& e : t.events)
    if (t.lanes[e.lane].links && e.wait != Wait::peer) last.try_emplace(e.start, e.because);
  for (EventId id = 0; id < t.events.size(); ++id) {
    const Event e = t.events[id];
    if (!t.lanes[e.lane].links || e.wait != Wait::peer) continue;
    if (const auto found = last.find(e.start); found != last.end()) t.events.set_because(id, found->second);
  }
}

void add_ranks(Timeline& t, const std::vector<CoreRun>& runs, const TimedRanks& r) {
  const auto cores = static_cast<std::size_t>(r.launch.cores_per_rank);
  for (std::size_t kind = 0; kind < r.kinds.ranks_of.size(); ++kind) {
    RanksAlike& alike = t.ranks.emplace_back(RanksAlike{.ranks = r.kinds.ranks_of[kind]});
    for (std::size_t core = 0; core < cores; ++core)
      alike.total = std::max(alike.total, runs[kind * cores + core].core->progress().last_end());
  }
  for (const CoreRun& run : runs) t.core_names.push_back(run.core->log().prefix());
}

}  // namespace

Timeline make_timeline(std::vector<CoreRun>& runs, const TimedRanks& ranks, const TimingOptions& options) {
  const Arch& arch = ranks.arch;
  const auto cores_per_rank = static_cast<std::size_t>(ranks.launch.cores_per_rank);
  Timeline t;
  t.target = arch.target;
  t.reordered = options.reorder.value();
  add_ranks(t, runs, ranks);
  std::vector<LivesOfCore> lives;
  for (CoreRun& run : runs) {
    lives.push_back({run.core->take_lives(), &run.core->program(), static_cast<EventId>(t.events.size())});
    add_core(t, run);
  }
  if (t.ranks.size() > 1) name_the_last(t);
  t.profiler_total = t.total + from_ns(arch.timing.profiler_ns);
  t.benchmark_latency = t.total + from_ns(arch.timing.benchmark_ns);
  t.compulsory_bytes = compulsory_bytes(runs, cores_per_rank);
  const double cores = static_cast<double>(runs.size());
  t.tensor_peak_macs_per_ns = cores * arch.matmul_rows * arch.matmul_columns * arch.tensor.clock_ghz;
  const double of_rank = static_cast<double>(cores_per_rank);
  t.hbm_bytes_per_ns =
      cores / of_rank * std::min(arch.hbm_bytes_per_ns, of_rank * arch.dma.engines * arch.dma.bytes_per_ns);
  runs.clear();  // long runs have no room for what the cores knew beside what follows
  for (std::size_t i = 0; i < lives.size(); ++i) add_memory(t, std::move(lives[i]), static_cast<int>(i));
  add_exposed(t, ranks.launch.cores_per_rank);
  t.bottleneck = bottleneck(t);
  if (options.keep_events > 0) t.critical_path = critical_path(t);
  t.band = band_of(t, arch);
  if (t.events.size() > options.keep_events) {
    t.events_left_out = static_cast<std::int64_t>(t.events.size() - options.keep_events);
    t.events.shorten(options.keep_events);
    std::erase_if(t.critical_path, [&](const CriticalStep& s) { return s.event >= options.keep_events; });
  }
  return t;
}

}  // namespace kiln::timing
