#include "kernels/backend/call.h"

#include <numeric>

#include "kernels/backend/backend_rules.h"
#include "kernels/backend/neuron.h"
#include "kernels/backend/program_cache.h"
#include "kiln/sim/machine.h"
#include "kiln/timing/trips.h"
#include "kiln/views/timed_kernel.h"

namespace kiln::backend {
namespace {

thread_local LastCall noted;

void note(const Call& call, Backend backend, Target target) {
  noted = {call.operation, backend, target, call.key, call.program, call.passes};
}

void run_on_simulator(const isa::Program& program, const std::vector<Array>& arrays) {
  sim::Buffers buffers;
  for (const Array& a : arrays) buffers[a.name] = {a.data, a.bytes()};
  // NaN of the caller travels; it is no fault of the kernel.
  sim::run(program, arch(program.target), buffers, {.nan = sim::NanMode::off});
}

}  // namespace

std::size_t Array::bytes() const {
  const auto count = std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  return static_cast<std::size_t>(count) * size_bytes(dtype);
}

void run(const Call& call, Backend backend) {
  if (!call.program) {
    raise(backend_rules::kTable, backend_rules::kKernel,
          {.found = call.operation + " has no kernel so far",
           .allowed = "backend native",
           .category = Category::not_yet});
  }
  const Target target = current_target();
  const auto program = cached_program(call.operation, call.key.text(), target, call.program);
  if (backend == Backend::neuron) {
    run_on_neuron(*program, call.arrays);
  } else {
    run_on_simulator(*program, call.arrays);
  }
  note(call, backend, target);
}

void note_native(const Call& call) { note(call, Backend::native, current_target()); }

const LastCall& last_call() { return noted; }

std::shared_ptr<const isa::Program> program_of(const LastCall& call) {
  if (!call.make) return nullptr;
  return cached_program(call.operation, call.key.text(), call.target, call.make);
}

double predicted_ns(const LastCall& call) {
  const auto program = program_of(call);
  if (!program) return 0;
  views::TimeRequest request{.advice = false};
  for (const isa::Loop& loop : program->loops) {
    if (call.passes && loop.kind == isa::Loop::Kind::dynamic_while)
      request.trip_counts[timing::name_of(*program, loop)] = *call.passes;
  }
  return views::time_kernel({*program}, request)->report.total_ns;
}

}  // namespace kiln::backend
