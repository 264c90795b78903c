#include "kernels/backend/call.h"

#include <numeric>
#include <utility>

#include "kernels/backend/backend_rules.h"
#include "kernels/backend/neuron.h"
#include "kernels/backend/program_cache.h"
#include "kiln/base/thread_count.h"
#include "kiln/sim/machine.h"
#include "kiln/timing/trips.h"
#include "kiln/views/timed_kernel.h"

namespace kiln::backend {
namespace {

// Of all arrays of a call: those with fewer bytes are not worth a second thread, and those with at most so many are
// over before a processor that others use now is free.
constexpr std::size_t kBytesForThreads = 1 << 20, kBytesOfShortCall = 32 << 20;

thread_local LastCall noted;
thread_local std::function<Call()> pending;  // what is to be noted, where it is

void note(const Call& call, Backend backend, Target target) {
  pending = nullptr;
  noted = {call.operation, backend, target, call.key, call.program, call.passes, call.second};
}

using Programs = std::vector<std::shared_ptr<const isa::Program>>;

Programs programs_of(const std::string& operation, const std::string& key, Target target,
                     const std::function<isa::Program(Target)>& first,
                     const std::function<isa::Program(Target)>& second) {
  if (!second) return {cached_program(operation, key, target, first)};
  return {cached_program(operation, key + " core 0", target, first),
          cached_program(operation, key + " core 1", target, second)};
}

isa::Launch launch_of(const Programs& programs) {
  std::vector<const isa::Program*> cores;
  for (const auto& program : programs) cores.push_back(program.get());
  return isa::Launch(std::move(cores));
}

// 0: one for each processor. Threads would wait for each other longer than they compute where there is little to do,
// and where one of them waits for others' work.
int threads_for(std::size_t bytes, bool is_fine_grained) {
  if (is_fine_grained || bytes < kBytesForThreads) return 1;
  const int idle = idle_processors();
  return bytes <= kBytesOfShortCall && idle < thread_count(0) ? idle : 0;
}

void run_on_simulator(const Programs& programs, const std::vector<Array>& arrays, bool is_fine_grained) {
  sim::Buffers buffers;
  std::size_t bytes = 0;
  for (const Array& a : arrays) buffers[a.name] = {a.data, a.bytes()}, bytes += a.bytes();
  // NaN of the caller travels; it is no fault of the kernel.
  sim::run(launch_of(programs), arch(programs[0]->target), buffers,
           {.threads = threads_for(bytes, is_fine_grained), .nan = sim::NanMode::off});
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
  const Programs programs = programs_of(call.operation, call.key.text(), target, call.program, call.second);
  if (backend == Backend::neuron) {
    run_on_neuron(programs, call.arrays);
  } else {
    run_on_simulator(programs, call.arrays, call.is_fine_grained);
  }
  note(call, backend, target);
}

void note_native(const Call& call) { note(call, Backend::native, current_target()); }

void note_native(std::function<Call()> call) {
  pending = std::move(call);
  noted.target = current_target();
}

const LastCall& last_call() {
  if (pending) note(std::exchange(pending, {})(), Backend::native, noted.target);
  return noted;
}

void remember(LastCall call) {
  pending = nullptr;
  noted = std::move(call);
}

Programs programs_of(const LastCall& call) {
  if (!call.make) return {};
  return programs_of(call.operation, call.key.text(), call.target, call.make, call.make_second);
}

double predicted_ns(const LastCall& call) {
  const Programs programs = programs_of(call);
  if (programs.empty()) return 0;
  views::TimeRequest request{.advice = false};
  std::vector<isa::Program> cores;
  for (const auto& program : programs) {
    for (const isa::Loop& loop : program->loops) {
      if (call.passes && loop.kind == isa::Loop::Kind::dynamic_while)
        request.trip_counts[timing::name_of(*program, loop)] = *call.passes;
    }
    cores.push_back(*program);
  }
  return views::time_kernel(cores, request)->report.total_ns;
}

}  // namespace kiln::backend
