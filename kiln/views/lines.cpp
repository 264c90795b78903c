#include "kiln/views/lines.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "kiln/base/place_index.h"

namespace kiln::views {
namespace {

// Lines by place, in order of appearance.
class Lines {
 public:
  explicit Lines(const TimedRun& run) : run_(run) {
    for (const isa::Program* program : run.cores()) by_loc_.emplace_back(program->locs.size(), kUnknown);
  }

  void add(const timing::Event& event) {
    const std::size_t at = index_of(event);
    LineTime& line = lines_[at];
    const double times = static_cast<double>(event.repeats);
    if (event.kind != timing::Kind::trigger) line.executions += event.repeats;
    line.busy_ns += times * timing::to_ns(event.occupied);
    const double waited = times * timing::to_ns(event.start - event.issue);
    line.waiting_ns += waited;
    waits_[at][static_cast<int>(event.wait)] += waited;
    add_name(line, event);
  }

  void add_critical(const timing::CriticalStep& step) {
    lines_[index_of(run_.timeline.events[step.event])].critical_ns += timing::to_ns(step.time);
  }

  std::vector<LineTime> finish() && {
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const auto most = std::max_element(waits_[i].begin(), waits_[i].end());
      lines_[i].waits_for = static_cast<timing::Wait>(most - waits_[i].begin());
    }
    return std::move(lines_);
  }

 private:
  static constexpr std::uint32_t kUnknown = ~std::uint32_t{0};

  // Many locs may be one line (calls from elsewhere), so the loc's index is only a short cut.
  std::size_t index_of(const timing::Event& event) {
    const int core = run_.timeline.lanes[event.lane].core;
    std::uint32_t& at = by_loc_[core][run_.instruction_of(event).inst().loc];
    if (at != kUnknown) return at;
    const SourceLoc& loc = run_.instruction_of(event).loc();
    at = static_cast<std::uint32_t>(by_place_(loc.file, loc.line));
    if (at == lines_.size()) {
      lines_.push_back(
          {.place = {loc.file, loc.line}, .foreign = loc.foreign, .engine = run_.timeline.lanes[event.lane].engine});
      waits_.emplace_back();
    }
    return at;
  }

  void add_name(LineTime& line, const timing::Event& event) const {
    const std::string_view name = run_.instruction_of(event).row().name;
    if (line.instructions.find(name) != std::string::npos) return;
    if (!line.instructions.empty()) line.instructions += ", ";
    line.instructions += name;
  }

  const TimedRun& run_;
  std::vector<LineTime> lines_;
  std::vector<std::array<double, timing::kWaitCount>> waits_;
  std::vector<std::vector<std::uint32_t>> by_loc_;  // by core
  PlaceIndex by_place_;
};

}  // namespace

std::vector<LineTime> time_by_line(const TimedRun& run) {
  Lines lines(run);
  for (const timing::Event& event : run.timeline.events) lines.add(event);
  for (const timing::CriticalStep& step : run.timeline.critical_path) lines.add_critical(step);
  return std::move(lines).finish();
}

}  // namespace kiln::views
