#include "kiln/views/timed_kernel.h"

#include "kiln/views/what_if_engine.h"

namespace kiln::views {
namespace {

// What the model is asked. A what-if about engines changes the programs instead.
timing::TimingOptions options_of(const TimeRequest& request, std::vector<isa::Program>& programs) {
  timing::TimingOptions options;
  options.trip_counts = request.trip_counts;
  options.reorder = request.reorder;
  options.limit = request.limit;
  options.max_memory = request.max_memory;
  options.done = request.done;
  const std::string engine = std::string(kEngineWhatIf) + "=";
  for (const std::string& text : request.what_if) {
    if (text.starts_with(engine))
      apply_engine_what_if(text.substr(engine.size()), programs);
    else
      options.what_if.push_back(timing::parse_what_if(text));
  }
  return options;
}

void begin(const TimeRequest& request, const char* work) {
  if (request.begin) request.begin(work);
}

}  // namespace

Picture TimedKernel::picture(const PictureOptions& options) const {
  return timing::is_in_full(run) ? picture_of(run, options)
                                 : picture_of(timing::time_in_full(run.launch, run.options), options);
}

std::unique_ptr<TimedKernel> time_kernel(std::vector<isa::Program> programs, const TimeRequest& request) {
  auto timed = std::make_unique<TimedKernel>();
  timed->programs = std::move(programs);
  const timing::TimingOptions options = options_of(request, timed->programs);
  const auto launch = isa::Launch::of(timed->programs);
  begin(request, "timing");
  timed->run = timing::time_program(launch, options);
  begin(request, request.advice ? "looking for advice" : "counting");
  timed->report = report_of(timed->run, request.advice);
  timed->run.options.done = nullptr;
  return timed;
}

}  // namespace kiln::views
