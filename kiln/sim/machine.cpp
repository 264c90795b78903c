#include "kiln/sim/machine.h"

#include <fmt/format.h>

#include <thread>

#include "kiln/isa/print.h"
#include "kiln/sim/core.h"
#include "kiln/sim/pair.h"
#include "kiln/sim/rules.h"

namespace kiln::sim {
namespace {

[[noreturn]] void bad_buffer(const isa::Program& program, const isa::Tensor& t, std::string found) {
  Diagnostic d = run_diagnostic("run.R6", std::move(found));
  d.category = Category::config;
  d.loc = program.locs[t.loc];
  throw Error(std::move(d));
}

// Storages over the caller's memory for every tensor that crosses the border.
void bind_buffers(const isa::Program& program, const Buffers& buffers, SharedTensors& shared) {
  for (const isa::Tensor& t : program.tensors) {
    if (t.role == isa::Role::internal) continue;
    const auto it = buffers.find(t.name);
    if (it == buffers.end())
      bad_buffer(program, t, fmt::format("no buffer for the {} `{}`", name(t.role), t.name));
    const std::int64_t bytes = t.partitions() * t.bytes_per_partition();
    if (static_cast<std::int64_t>(it->second.bytes) != bytes)
      bad_buffer(program, t,
                 fmt::format("`{}` needs {} bytes, its buffer has {}", t.name, bytes, it->second.bytes));
    Binding& b = shared[t.name];
    if (!b.storage)
      b.storage = std::make_shared<Storage>(t.partitions(), t.bytes_per_partition(),
                                            static_cast<std::byte*>(it->second.data));
  }
}

}  // namespace

RunReport run(std::span<const isa::Program* const> programs, const Arch& arch, const Buffers& buffers,
              const RunOptions& options) {
  RunReport report;
  isa::WarningSink warnings;
  const int processors = static_cast<int>(std::thread::hardware_concurrency());
  TaskQueue queue(options.threads > 0 ? options.threads : std::max(processors, 1));
  SharedTensors shared;
  Origins origins;
  for (const isa::Program* p : programs) bind_buffers(*p, buffers, shared);
  std::vector<std::unique_ptr<Core>> cores;
  for (const isa::Program* p : programs)
    cores.push_back(std::make_unique<Core>(*p, arch, options, shared, origins, queue, report, warnings));
  run_together(cores, arch);
  queue.wait();
  for (Diagnostic& d : warnings.take()) report.warnings.push_back(std::move(d));
  return report;
}

RunReport run(const isa::Program& program, const Arch& arch, const Buffers& buffers,
              const RunOptions& options) {
  const isa::Program* one[] = {&program};
  return run(one, arch, buffers, options);
}

}  // namespace kiln::sim
