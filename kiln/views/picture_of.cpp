#include "kiln/views/picture_of.h"

#include <fmt/format.h>

#include <algorithm>

#include "kiln/isa/print.h"
#include "kiln/views/wait_words.h"

namespace kiln::views {
namespace {

using timing::to_ns;

constexpr std::uint32_t kNoTrack = 0xffffffffu;

class Painter {
 public:
  Painter(const TimedRun& run, const PictureOptions& options)
      : run_(run), t_(run.timeline), options_(options) {}

  Picture paint() {
    for (const isa::Program* core : run_.cores)
      picture_.title += (picture_.title.empty() ? "" : " + ") + core->name;
    picture_.title += fmt::format(" on {}", run_.arch.name);
    picture_.total = t_.total;
    for (int w = 1; w < timing::kWaitCount; ++w)
      picture_.causes.push_back(words(static_cast<timing::Wait>(w)));
    add_labels();
    add_tracks();
    add_slices();
    add_flows();
    add_gaps();
    add_memory();
    add_bandwidth();
    return std::move(picture_);
  }

 private:
  // One label per instruction of the program, one program after the other.
  void add_labels() {
    for (const isa::Program* program : run_.cores) {
      first_label_.push_back(static_cast<std::uint32_t>(picture_.labels.size()));
      for (const isa::Instruction& inst : program->instructions) {
        const SourceLoc& loc = program->locs[inst.loc];
        picture_.labels.push_back(
            {std::string(info(inst.opcode).name), isa::print(*program, inst), loc.file, loc.line});
      }
    }
  }

  void add_tracks() {
    for (const timing::Lane& lane : t_.lanes) {
      track_of_.push_back(lane.executions ? static_cast<std::uint32_t>(picture_.tracks.size()) : kNoTrack);
      if (lane.executions) picture_.tracks.push_back({lane.name, {}});
    }
  }

  Slice slice_of(const timing::Event& event) const {
    Slice slice;
    slice.start = event.start;
    slice.duration = event.occupied;
    slice.label = first_label_[t_.lanes[event.lane].core] + event.inst;
    if (event.start > event.issue) {
      slice.wait = event.start - event.issue;
      slice.cause = static_cast<std::uint32_t>(event.wait);
    }
    return slice;
  }

  // A track takes its slices in order of time; events come in order of issue.
  void add_slices() {
    const std::size_t count = std::min(t_.events.size(), options_.max_slices);
    picture_.slices_left_out = t_.events.size() - count + static_cast<std::size_t>(t_.events_left_out);
    std::vector<timing::EventId> order(count);
    for (std::size_t i = 0; i < count; ++i) order[i] = static_cast<timing::EventId>(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](auto a, auto b) { return t_.events[a].start < t_.events[b].start; });
    std::vector<bool> critical(t_.events.size());
    for (const timing::CriticalStep& step : t_.critical_path) critical[step.event] = true;
    place_.resize(count);
    for (const timing::EventId id : order) {
      Slice slice = slice_of(t_.events[id]);
      slice.critical = critical[id];
      place_[id] = picture_.add(track_of_[t_.events[id].lane], slice);
    }
  }

  // An instruction that follows another one on its own lane needs no arrow.
  void add_flows() {
    for (std::size_t i = 0; i < place_.size() && picture_.flows.size() < options_.max_flows; ++i) {
      const timing::Event& event = t_.events[i];
      if (event.because >= place_.size() || event.wait == timing::Wait::engine) continue;
      picture_.flows.push_back({place_[event.because], place_[i]});
    }
  }

  void add_gaps() {
    if (t_.gaps.empty()) return;
    const auto track = static_cast<std::uint32_t>(picture_.tracks.size());
    picture_.tracks.push_back({"iterations not drawn", {}});
    std::vector<const timing::Gap*> gaps;
    for (const timing::Gap& gap : t_.gaps) gaps.push_back(&gap);
    std::stable_sort(gaps.begin(), gaps.end(), [](auto* a, auto* b) { return a->begin < b->begin; });
    for (const timing::Gap* gap : gaps) {
      const isa::Program& program = *run_.cores[gap->core];
      const isa::Loop& loop = program.loops[gap->loop];
      const SourceLoc& loc = program.locs[loop.loc];
      picture_.labels.push_back({fmt::format("{} more of loop {}", gap->iterations, loop.variable),
                                 fmt::format("{} more iterations like the one before", gap->iterations),
                                 loc.file, loc.line});
      Slice slice;
      slice.start = gap->begin;
      slice.duration = gap->end - gap->begin;
      slice.label = static_cast<std::uint32_t>(picture_.labels.size() - 1);
      picture_.add(track, slice);
    }
  }

  void add_memory() {
    for (int core = 0; core < static_cast<int>(run_.cores.size()); ++core) {
      const std::string prefix = core ? fmt::format("core {} ", core) : "";
      Curve sbuf{prefix + "SBUF",
                 "bytes per partition",
                 static_cast<double>(run_.arch.sbuf_partition_bytes - run_.arch.sbuf_reserved_bytes),
                 {}};
      Curve psum{
          prefix + "PSUM", "bytes per partition", static_cast<double>(run_.arch.psum_partition_bytes), {}};
      for (const timing::MemorySample& sample : t_.memory) {
        if (sample.core != core) continue;
        sbuf.points.push_back({sample.at, static_cast<double>(sample.sbuf_bytes)});
        psum.points.push_back({sample.at, static_cast<double>(sample.psum_bytes)});
      }
      picture_.curves.push_back(std::move(sbuf));
      picture_.curves.push_back(std::move(psum));
    }
  }

  // The sum of the rates of the transfers under way, each at its mean rate.
  void add_bandwidth() {
    std::vector<std::pair<timing::Time, double>> changes;
    for (const timing::Event& event : t_.events) {
      const timing::Time end = event.start + event.occupied;
      if (event.hbm_bytes <= 0 || end <= event.start) continue;
      const double rate = event.hbm_bytes / to_ns(end - event.start);
      changes.emplace_back(event.start, rate);
      changes.emplace_back(end, -rate);
    }
    std::stable_sort(changes.begin(), changes.end(), [](auto& a, auto& b) { return a.first < b.first; });
    Curve curve{"HBM", "GB/s", t_.hbm_bytes_per_ns, {{0, 0}}};
    double rate = 0;
    std::size_t under_way = 0;
    for (std::size_t i = 0; i < changes.size(); ++i) {
      rate += changes[i].second;
      under_way += changes[i].second > 0 ? 1 : -1;
      if (under_way == 0) rate = 0;  // what rounding left over
      if (i + 1 == changes.size() || changes[i + 1].first != changes[i].first)
        curve.points.push_back({changes[i].first, std::max(rate, 0.0)});
    }
    picture_.curves.push_back(std::move(curve));
  }

  const TimedRun& run_;
  const timing::Timeline& t_;
  const PictureOptions& options_;
  Picture picture_;
  std::vector<std::uint32_t> first_label_;  // by core
  std::vector<std::uint32_t> track_of_;     // by lane
  std::vector<SliceRef> place_;             // by event
};

}  // namespace

Picture picture_of(const TimedRun& run, const PictureOptions& options) {
  return Painter(run, options).paint();
}

}  // namespace kiln::views
