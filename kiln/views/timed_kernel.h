// TimedKernel: programs timed as somebody asked, with all that is shown of it. The one road to a time: `kiln time` on
// text and on Python, and `kiln.time`, go it.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kiln/timing/timed_run.h"
#include "kiln/views/picture_of.h"
#include "kiln/views/time_report.h"

namespace kiln::views {

struct TimeRequest {
  std::map<std::string, std::int64_t> trip_counts;  // by the register that counts or is tested, or the loop's variable
  std::vector<std::string> what_if;                 // NAME=VALUE, as `kiln time --what-if list` shows
  int ranks = 1;                                    // the programs are those of each
  std::vector<int> of_rank;                         // or: by rank, the first of its programs; empty: the former
  std::string topology;                             // as `kiln time --topology list` shows; empty: the chip's first
  std::optional<bool> reorder;                      // none: as in timing::TimingOptions
  std::vector<std::string> without;                 // passes of the vendor's compiler (vendor/passes.h) to leave out
  bool as_written = false;                          // without any of them
  bool disable_dge = false;                         // as the vendor's option --disable-dge
  bool spill = false;                               // tiles that do not fit wait in HBM
  bool advice = true;
  std::int64_t limit = timing::kTimingLimit, max_memory = 0;  // as in timing::TimingOptions
  // For whoever shows progress: called when a stretch of work begins, with its name, and told which part of it is done.
  std::function<void(const char*)> begin = {};
  std::atomic<double>* done = nullptr;
};

struct TimedKernel {
  std::vector<isa::Program> programs;  // copies, because a what-if may move instructions to other engines
  timing::TimedRun run;
  TimeReport report;

  // Every iteration of loops is in it where that is affordable. The report is the same with and without pictures.
  Picture picture(const PictureOptions& options = {}) const;
};

// The programs, of one core or of a pair, or of several kinds of ranks, have passed check. Throws Error when a trip
// count is missing or no loop's, when a what-if is unknown, or when the programs do not stand together.
std::unique_ptr<TimedKernel> time_kernel(std::vector<isa::Program> programs, const TimeRequest& request = {});

}  // namespace kiln::views
