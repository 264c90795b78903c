#include "kiln/views/timed_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "kiln/rewrite/unroll.h"
#include "kiln/timing/rules.h"
#include "kiln/vendor/disable_dge.h"
#include "kiln/vendor/passes.h"
#include "kiln/vendor/spill.h"
#include "kiln/vendor/written_out.h"
#include "kiln/views/what_if_compiler.h"
#include "kiln/views/what_if_engine.h"

namespace kiln::views {
namespace {

// What the model is asked. A what-if about engines changes the programs instead, one about the compiler its passes.
timing::TimingOptions options_of(const TimeRequest& request, std::vector<isa::Program>& programs) {
  timing::TimingOptions options;
  options.trip_counts = request.trip_counts;
  options.topology = request.topology;
  options.reorder = request.reorder;
  options.limit = request.limit;
  options.max_memory = request.max_memory;
  options.done = request.done;
  const std::string engine = std::string(kEngineWhatIf) + "=";
  for (const std::string& text : request.what_if) {
    if (text.starts_with(engine))
      apply_engine_what_if(text.substr(engine.size()), programs);
    else if (!is_compiler_what_if(text))
      options.what_if.push_back(timing::parse_what_if(text));
  }
  return options;
}

std::string pass_names() {
  std::string names;
  for (const vendor::Pass& pass : vendor::passes()) names += fmt::format("{}{}", names.empty() ? "" : ", ", pass.name);
  return names;
}

std::string spilled_text(const vendor::Spilled& done) {
  if (done.stores + done.loads + done.from_psum == 0) return {};
  return fmt::format("{} spills and {} reloads of {} bytes in all, {} tiles moved out of PSUM", done.stores, done.loads,
                     done.bytes, done.from_psum);
}

// Both front ends of the vendor write static loops out, so its compiler never sees them; and a program is timed as the
// source that kiln emit makes of it. Programs with loops on registers, and longer ones than the model reorders, stay
// as they are.
void write_out_loops(isa::Program& program, const timing::TimingOptions& options) {
  const auto most = static_cast<double>(std::min(options.reorder_up_to, options.limit));
  if (vendor::can_be_written_out(program, most)) program = rewrite::unroll(program);
}

// What the vendor's compiler does to the programs, as text.
std::string compile(const TimeRequest& request, const timing::TimingOptions& options,
                    std::vector<isa::Program>& programs) {
  for (const std::string& name : request.without) {
    const auto passes = vendor::passes();
    if (std::none_of(passes.begin(), passes.end(), [&](const vendor::Pass& p) { return p.name == name; }))
      raise(timing::timing_rules::kTable, timing::timing_rules::kKnownPass,
            {.found = fmt::format("no pass `{}`; there are {}", name, pass_names())});
  }
  std::string text;
  const CompilerSpec compiler = compiler_of(request.what_if);
  for (isa::Program& program : programs) {
    if (!request.as_written) write_out_loops(program, options);
    if (request.disable_dge) vendor::disable_dge(program);
    if (request.spill) text += spilled_text(vendor::spill(program, arch(program.target)));
    if (request.as_written) continue;
    const auto done = vendor::as_compiled(program, arch(program.target), request.without, compiler);
    const std::string one = vendor::text_of(done);
    if (one != text && !one.empty()) text += (text.empty() ? "" : "; ") + one;
  }
  return text;
}

// The programs of one rank on so many, or each rank's own: as many as there are cores follow each other.
isa::Launch launch_of(const TimeRequest& request, const std::vector<isa::Program>& programs) {
  if (request.of_rank.empty()) return isa::Launch::of(programs).on_ranks(request.ranks);
  isa::Launch launch;
  launch.ranks = static_cast<int>(request.of_rank.size());
  launch.cores_per_rank = std::max(1, programs.at(0).lnc);
  for (const int first : request.of_rank) {
    for (int core = 0; core < launch.cores_per_rank; ++core)
      launch.programs.push_back(&programs.at(static_cast<std::size_t>(first + core)));
  }
  return launch;
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
  const std::string compiled = compile(request, options, timed->programs);
  const isa::Launch launch = launch_of(request, timed->programs);
  begin(request, "timing");
  timed->run = timing::time_program(launch, options);
  begin(request, request.advice ? "looking for advice" : "counting");
  timed->report = report_of(timed->run, request.advice);
  timed->report.compiled = compiled;
  std::ranges::copy_if(request.what_if, std::back_inserter(timed->report.what_if), is_compiler_what_if);
  timed->run.options.done = nullptr;
  return timed;
}

}  // namespace kiln::views
