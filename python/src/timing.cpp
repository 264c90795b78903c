// Timing of Python: programs in, a report out, as text, JSON, page and trace.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "kiln/views/compare.h"
#include "kiln/views/html.h"
#include "kiln/views/json.h"
#include "kiln/views/perfetto.h"
#include "kiln/views/text.h"
#include "kiln/views/timed_kernel.h"
#include "python/src/convert.h"

namespace kiln::python {
namespace {

using ProgramRef = std::shared_ptr<isa::Program>;
using Timing = views::TimedKernel;
using TimingRef = std::shared_ptr<Timing>;

// `take`: nobody needs the programs any more, which may be large.
TimingRef time_programs(const std::vector<ProgramRef>& programs, std::map<std::string, std::int64_t> trip_counts,
                        const std::vector<TextArg>& what_if, std::optional<bool> reorder, bool advice,
                        std::int64_t limit, std::int64_t max_memory, const std::vector<TextArg>& without,
                        bool as_written, bool disable_dge, bool spill, std::vector<int> of_rank,
                        const TextArg& topology, bool take) {
  std::vector<isa::Program> own;
  for (const ProgramRef& p : programs) own.push_back(take && std::ranges::count(programs, p) == 1 ? std::move(*p) : *p);
  std::vector<std::string> changes;
  for (const TextArg& change : what_if) changes.push_back(change.value);
  std::vector<std::string> left_out;
  for (const TextArg& pass : without) left_out.push_back(pass.value);
  nb::gil_scoped_release released;
  return views::time_kernel(std::move(own), {.trip_counts = std::move(trip_counts),
                                             .what_if = std::move(changes),
                                             .of_rank = std::move(of_rank),
                                             .topology = topology.value,
                                             .reorder = reorder,
                                             .without = std::move(left_out),
                                             .as_written = as_written,
                                             .disable_dge = disable_dge,
                                             .spill = spill,
                                             .advice = advice,
                                             .limit = std::clamp<std::int64_t>(limit, 1, timing::kMostTimingLimit),
                                             .max_memory = max_memory});
}

std::string compare(const std::vector<std::pair<TextArg, TimingRef>>& timings) {
  std::vector<views::Column> columns;
  for (const auto& [title, timing] : timings) columns.push_back({title.value, &timing->report});
  return views::compare_text(columns);
}

}  // namespace

void bind_timing(nb::module_& m) {
  nb::class_<Timing>(m, "Timing")
      .def_prop_ro("total_ns", [](const Timing& t) { return t.report.total_ns; })
      .def_prop_ro("low_ns", [](const Timing& t) { return t.report.low_ns; })
      .def_prop_ro("high_ns", [](const Timing& t) { return t.report.high_ns; })
      .def_prop_ro("benchmark_latency_ns", [](const Timing& t) { return t.report.benchmark_latency_ns; })
      .def_prop_ro("bottleneck", [](const Timing& t) { return t.report.lanes[t.report.bottleneck].name; })
      .def_prop_ro("target", [](const Timing& t) { return std::string(t.report.target); })
      .def("text", [](const Timing& t, std::size_t lines) { return views::to_text(t.report, {.lines = lines}); })
      .def("json", [](const Timing& t) { return views::to_json(t.report).dump(2); })
      .def("html",
           [](const Timing& t, const std::map<std::string, std::string>& sources) {
             views::Sources texts(sources.begin(), sources.end());
             return views::to_html(t.report, t.picture(), texts);
           })
      .def("perfetto",
           [](const Timing& t) {
             const std::string bytes = views::to_perfetto(t.picture());
             return nb::bytes(bytes.data(), bytes.size());
           })
      .def_prop_ro("files", [](const Timing& t) {
        std::vector<std::string> files;
        for (const views::LineTime& line : t.report.lines) {
          if (!line.foreign) files.push_back(line.place.file);
        }
        return files;
      });
  m.def("time_programs", &time_programs, nb::arg("programs"), nb::arg("trip_counts"), nb::arg("what_if"),
        nb::arg("reorder").none(), nb::arg("advice"), nb::arg("limit") = timing::kTimingLimit,
        nb::arg("max_memory") = 0, nb::arg("without") = nb::list(), nb::arg("as_written") = false,
        nb::arg("disable_dge") = false, nb::arg("spill") = false, nb::arg("of_rank") = nb::list(),
        nb::arg("topology") = "", nb::arg("take") = false);
  m.def("compare_timings", &compare);
}

}  // namespace kiln::python
