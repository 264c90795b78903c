// Writes the views of a made-up run into a folder, and what they must show as plain JSON, for the Python
// tests.
//   write_views EVENTS SEED FOLDER
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "kiln/base/file.h"
#include "kiln/views/html.h"
#include "kiln/views/perfetto.h"
#include "kiln/views/picture_of.h"
#include "made_run.h"

using namespace kiln;

namespace {

nlohmann::json expected(const timing::TimedRun& run) {
  nlohmann::json events = nlohmann::json::array();
  for (const timing::Event& e : run.timeline.events) {
    const isa::InstView inst = run.instruction_of(e);
    events.push_back({{"lane", run.timeline.lanes[e.lane].name},
                      {"name", inst.row().name},
                      {"line", inst.loc().line},
                      {"start_ps", e.start},
                      {"occupied_ps", e.occupied},
                      {"because", e.because == isa::kNone ? -1 : static_cast<std::int64_t>(e.because)},
                      {"hbm_bytes", e.hbm_bytes},
                      {"wait", timing::name(e.wait)}});
  }
  nlohmann::json memory = nlohmann::json::array();
  for (const timing::MemorySample& m : run.timeline.memory)
    memory.push_back({{"at_ps", m.at}, {"sbuf", m.sbuf_bytes}, {"psum", m.psum_bytes}});
  return {{"events", std::move(events)}, {"memory", std::move(memory)}, {"total_ps", run.timeline.total}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const std::string folder = argv[3];
  const views::MadeRun made =
      views::make_run(std::strtoull(argv[1], nullptr, 10), static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10)));
  const views::Picture picture = views::picture_of(made.run);
  const views::TimeReport report = views::report_of(made.run, false);
  write_atomically(folder + "/made.perfetto-trace", views::to_perfetto(picture));
  write_atomically(folder + "/made.html", views::to_html(report, picture, {{"made.kiln", made.text}}));
  write_atomically(folder + "/expected.json", expected(made.run).dump());
  return 0;
}
