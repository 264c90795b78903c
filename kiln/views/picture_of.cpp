#include "kiln/views/picture_of.h"

#include <fmt/format.h>

#include <algorithm>

#include "kiln/base/quantity_text.h"
#include "kiln/isa/text/print.h"
#include "kiln/views/lane_words.h"
#include "kiln/views/wait_words.h"

namespace kiln::views {
namespace {

using timing::to_ns;

constexpr std::uint32_t kNoTrack = 0xffffffffu, kNoLabel = 0xffffffffu;
constexpr timing::Time kWindow = 1000 * timing::kPicoseconds;  // of the bandwidth curve, at least
constexpr timing::Time kMaxWindows = 5000;

class Painter {
 public:
  Painter(const TimedRun& run, const PictureOptions& options) : run_(run), t_(run.timeline), options_(options) {}

  Picture paint() {
    picture_.title = run_.launch.name();
    picture_.title += fmt::format(" on {}", run_.arch.name);
    picture_.total = t_.total;
    for (int w = 1; w < timing::kWaitCount; ++w) picture_.causes.push_back(words(static_cast<timing::Wait>(w)));
    for (const isa::Program* core : run_.cores()) label_of_.emplace_back(core->instructions.size(), kNoLabel);
    add_tracks();
    add_slices();
    add_reasons();
    add_flows();
    add_gaps();
    add_memory();
    add_bandwidth();
    return std::move(picture_);
  }

 private:
  // One label per instruction that is drawn.
  std::uint32_t label_of(int core, isa::InstructionId id) {
    std::uint32_t& label = label_of_[core][id];
    if (label != kNoLabel) return label;
    const isa::Program& program = *run_.cores()[core];
    const isa::Instruction& inst = program.instructions[id];
    const SourceLoc& loc = program.locs[inst.loc];
    label = static_cast<std::uint32_t>(picture_.labels.size());
    picture_.labels.push_back({std::string(info(inst.opcode).name), isa::print(program, inst), loc.file, loc.line});
    return label;
  }

  void add_tracks() {
    for (const timing::Lane& lane : t_.lanes) {
      track_of_.push_back(lane.executions ? static_cast<std::uint32_t>(picture_.tracks.size()) : kNoTrack);
      if (lane.executions)
        picture_.tracks.push_back({.name = lane.name, .rows = {}, .left_out = false, .about = words(lane)});
    }
  }

  Slice slice_of(const timing::Event& event) {
    Slice slice;
    slice.start = event.start;
    slice.duration = event.occupied;
    slice.label = label_of(t_.lanes[event.lane].core, event.inst);
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

  void add_reasons() {
    for (std::size_t i = 0; i < place_.size(); ++i) {
      const timing::EventId because = t_.events[i].because;
      if (because < place_.size()) at(place_[i]).because = place_[because];
    }
  }
  Slice& at(const SliceRef& s) { return picture_.tracks[s.track].rows[s.row][s.slice]; }

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
    picture_.tracks.push_back({.name = "iterations not drawn",
                               .rows = {},
                               .left_out = true,
                               .about = "passes of a loop that runs steadily: each like the one before the gap"});
    std::vector<const timing::Gap*> gaps;
    for (const timing::Gap& gap : t_.gaps) gaps.push_back(&gap);
    std::stable_sort(gaps.begin(), gaps.end(), [](auto* a, auto* b) { return a->begin < b->begin; });
    for (const timing::Gap* gap : gaps) {
      const isa::Program& program = *run_.cores()[gap->core];
      const isa::Loop& loop = program.loops[gap->loop];
      const SourceLoc& loc = program.locs[loop.loc];
      picture_.labels.push_back({fmt::format("{} more of loop {}", gap->iterations, loop.variable),
                                 fmt::format("{} more iterations like the one before", gap->iterations), loc.file,
                                 loc.line});
      Slice slice;
      slice.start = gap->begin;
      slice.duration = gap->end - gap->begin;
      slice.label = static_cast<std::uint32_t>(picture_.labels.size() - 1);
      picture_.add(track, slice);
    }
  }

  void add_memory() {
    for (int core = 0; core < static_cast<int>(run_.cores().size()); ++core) {
      const std::string& prefix = t_.core_names[static_cast<std::size_t>(core)];
      Curve sbuf{prefix + "SBUF", "bytes per partition", "bytes that live tensors hold in each partition of SBUF",
                 static_cast<double>(run_.arch.sbuf_partition_bytes - run_.arch.sbuf_reserved_bytes)};
      Curve psum{prefix + "PSUM", "bytes per partition", "bytes that live tensors hold in each partition of PSUM",
                 static_cast<double>(run_.arch.psum_partition_bytes)};
      for (const timing::MemorySample& sample : t_.memory) {
        if (sample.core != core) continue;
        sbuf.points.push_back({sample.at, static_cast<double>(sample.sbuf_bytes)});
        psum.points.push_back({sample.at, static_cast<double>(sample.psum_bytes)});
      }
      picture_.curves.push_back(std::move(sbuf));
      picture_.curves.push_back(std::move(psum));
    }
  }

  // Means over windows: transfers share the bandwidth in turns, and how they do within a window is not told.
  void add_bandwidth() {
    const timing::Time window = std::max(kWindow, t_.total / kMaxWindows + 1);
    std::vector<double> bytes(static_cast<std::size_t>(t_.total / window) + 1);
    for (const timing::Event& event : t_.events) spread(bytes, window, event.start, event.end, event.hbm_bytes);
    for (const timing::Gap& gap : t_.gaps) spread(bytes, window, gap.begin, gap.end, gap.hbm_bytes);
    Curve curve{"HBM", fmt::format("GB/s, mean over {}", time_text(to_ns(window))),
                "bytes per second between HBM and the chip, of all cores", t_.hbm_bytes_per_ns};
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const timing::Time begin = static_cast<timing::Time>(i) * window;
      const timing::Time length = std::min(window, t_.total - begin);
      const double rate = length > 0 ? bytes[i] / to_ns(length) : 0;
      if (curve.points.empty() || curve.points.back().value != rate) curve.points.push_back({begin, rate});
    }
    picture_.curves.push_back(std::move(curve));
  }

  // Adds `amount` evenly to the windows between `begin` and `end`.
  static void spread(std::vector<double>& windows, timing::Time window, timing::Time begin, timing::Time end,
                     double amount) {
    if (amount <= 0 || end <= begin) return;
    const double per_time = amount / static_cast<double>(end - begin);
    for (timing::Time at = begin; at < end;) {
      const auto i = static_cast<std::size_t>(at / window);
      const timing::Time next = std::min(end, static_cast<timing::Time>(i + 1) * window);
      if (i < windows.size()) windows[i] += per_time * static_cast<double>(next - at);
      at = next;
    }
  }

  const TimedRun& run_;
  const timing::Timeline& t_;
  const PictureOptions& options_;
  Picture picture_;
  std::vector<std::vector<std::uint32_t>> label_of_;  // by core and instruction
  std::vector<std::uint32_t> track_of_;               // by lane
  std::vector<SliceRef> place_;                       // by event
};

}  // namespace

Picture picture_of(const TimedRun& run, const PictureOptions& options) { return Painter(run, options).paint(); }

}  // namespace kiln::views
