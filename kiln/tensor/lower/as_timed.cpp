#include "kiln/tensor/lower/as_timed.h"

#include <algorithm>

#include "kiln/rewrite/unroll.h"
#include "kiln/tensor/lower/assumed_trips.h"
#include "kiln/vendor/passes.h"
#include "kiln/vendor/written_out.h"

namespace kiln::tensor {
namespace {

std::vector<bool> all_written_out(const isa::Launch& launch) {
  std::vector<bool> out;
  for (const isa::Program* program : launch.programs) out.push_back(is_written_out(*program));
  return out;
}

}  // namespace

bool is_written_out(const isa::Program& program, const timing::TimingOptions& options) {
  return vendor::can_be_written_out(program, static_cast<double>(std::min(options.reorder_up_to, options.limit)));
}

AsTimed::AsTimed(const isa::Launch& launch, const std::vector<bool>& out, bool keeps_origins) {
  programs_.reserve(launch.programs.size());
  for (std::size_t i = 0; i < launch.programs.size(); ++i) add(*launch.programs[i], out[i], keeps_origins);
}

AsTimed::AsTimed(const isa::Launch& launch, bool keeps_origins)
    : AsTimed(launch, all_written_out(launch), keeps_origins) {}

void AsTimed::add(const isa::Program& program, bool out, bool keeps_origins) {
  std::vector<isa::InstructionId>& origins = origins_.emplace_back();
  programs_.push_back(out ? rewrite::unroll(program, keeps_origins ? &origins : nullptr) : program);
  for (const vendor::Done& done : vendor::as_compiled(programs_.back(), arch(program.target)))
    is_balanced_ |= done.pass->name == "balance";
}

isa::InstructionId AsTimed::origin(int core, isa::InstructionId id) const {
  const auto& origins = origins_[static_cast<std::size_t>(core)];
  return origins.empty() ? id : origins[id];
}

timing::Timeline timeline_of(const AsTimed& timed, bool keeps_events) {
  const isa::Launch launch = timed.launch();
  const isa::Program& program = *launch.programs[0];
  timing::TimingOptions options{.trip_counts = assumed_trips(program)};
  if (!keeps_events) options.keep_events = 0, options.pictures_memory = false;
  return timing::simulate(launch, arch(program.target), options);
}

double time_as_seen_ns(const isa::Launch& launch) { return timing::to_ns(timeline_of(AsTimed(launch)).total); }

}  // namespace kiln::tensor
