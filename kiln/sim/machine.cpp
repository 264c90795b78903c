#include "kiln/sim/machine.h"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <set>
#include <thread>

#include "kiln/isa/text/print.h"
#include "kiln/sim/core.h"
#include "kiln/sim/pair.h"
#include "kiln/sim/rules.h"

namespace kiln::sim {
namespace {

[[noreturn]] void bad_buffer(const isa::Program& program, const isa::Tensor& t, std::string found) {
  Diagnostic d = run_diagnostic(run_rules::kBuffers, std::move(found));
  d.category = Category::config;
  d.loc = program.locs[t.loc];
  throw Error(std::move(d));
}

// Storages over the caller's memory for every tensor that crosses the border.
void bind_buffers(const isa::Program& program, const Buffers& buffers, SharedTensors& shared) {
  for (const isa::Tensor& t : program.tensors) {
    if (t.role == isa::Role::internal) continue;
    const auto it = buffers.find(t.name);
    if (it == buffers.end()) bad_buffer(program, t, fmt::format("no buffer for the {} `{}`", name(t.role), t.name));
    const std::int64_t bytes = t.partitions() * t.bytes_per_partition();
    if (static_cast<std::int64_t>(it->second.bytes) != bytes)
      bad_buffer(program, t, fmt::format("`{}` needs {} bytes, its buffer has {}", t.name, bytes, it->second.bytes));
    Binding& b = shared[t.name];
    if (!b.storage)
      b.storage =
          std::make_shared<Storage>(t.partitions(), t.bytes_per_partition(), static_cast<std::byte*>(it->second.data));
  }
}

// Whether everything that is written lies apart from the inputs, in memory too.
bool inputs_stay(std::span<const isa::Program* const> programs, const Buffers& buffers) {
  std::vector<const Buffer*> read, written;
  for (const isa::Program* p : programs) {
    for (const isa::Tensor& t : p->tensors) {
      if (t.role == isa::Role::internal) continue;
      (t.role == isa::Role::input ? read : written).push_back(&buffers.find(t.name)->second);
    }
  }
  const auto begin = [](const Buffer* b) { return reinterpret_cast<std::uintptr_t>(b->data); };
  for (const Buffer* r : read) {
    for (const Buffer* w : written) {
      if (begin(r) < begin(w) + w->bytes && begin(w) < begin(r) + r->bytes) return false;
    }
  }
  return true;
}

// The index of an element of a tensor that lies in C order, as text.
std::string index_text(const isa::Tensor& t, std::int64_t element) {
  std::string text;
  for (std::size_t d = t.shape.size(); d-- > 0;) {
    text = fmt::format("{}{}{}", element % t.shape[d], text.empty() ? "" : ", ", text);
    element /= t.shape[d];
  }
  return fmt::format("[{}]", text);
}

// What cannot be mistaken for a result, in the elements with unwritten bytes.
void fill_unwritten(const isa::Tensor& t, const Storage& s) {
  const int size = size_bytes(t.dtype);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const bool is_number = is_float(t.dtype);
  const std::uint32_t bits = is_number ? from_float(t.dtype, nan) : t.dtype == DType::bool_ ? 1 : 4;
  for (std::int64_t at = 0; at < s.rows * s.row_bytes; at += size) {
    if (s.shadow.first_nonzero(at, at + size)) std::memcpy(s.data + at, &bits, size);
  }
}

// A tensor that the caller gets back, once.
template <class Fn>
void for_results(std::span<const isa::Program* const> programs, Fn&& fn) {
  std::set<std::string, std::less<>> seen;
  for (const isa::Program* p : programs) {
    for (const isa::Tensor& t : p->tensors) {
      const bool is_result = t.role == isa::Role::output || t.role == isa::Role::inout;
      if (is_result && seen.insert(t.name).second) fn(*p, t);
    }
  }
}

// Outputs that the program did not write whole.
void warn_unwritten(std::span<const isa::Program* const> programs, const SharedTensors& shared, bool fill,
                    RunReport& report) {
  for_results(programs, [&](const isa::Program& p, const isa::Tensor& t) {
    const Storage& s = *shared.at(t.name).storage;
    if (t.role != isa::Role::output || s.shadow.is_uniform(0)) return;
    Diagnostic d = run_diagnostic(
        run_rules::kWholeOutput,
        fmt::format("{} of the {} bytes of `{}` are never written, first those of element {}", s.shadow.count_nonzero(),
                    s.rows * s.row_bytes, t.name, index_text(t, s.shadow.find_nonzero() / size_bytes(t.dtype))));
    d.severity = Severity::warning;
    d.category = Category::undefined;
    d.loc = p.locs[t.loc];
    report.warnings.push_back(std::move(d));
    if (fill) fill_unwritten(t, s);
  });
}

// Padding of scale tiles that was copied out: 0, and a warning, for the chip leaves there what it finds.
void settle_padding(const isa::Tensor& t, Storage& s, const Origins& origins, std::int64_t first, RunReport& report) {
  const auto* arrival = origins.arrival(&s, s.shadow.at(first));
  Diagnostic d = run_diagnostic(run_rules::kScaleRows, fmt::format("element {} of `{}` is no scale",
                                                                   index_text(t, first / size_bytes(t.dtype)), t.name));
  d.severity = Severity::warning;
  d.category = Category::undefined;
  if (arrival) d.loc = arrival->program->locs[arrival->inst->loc];
  report.warnings.push_back(std::move(d));
  for (std::int64_t at = first; at < s.rows * s.row_bytes; ++at) {
    if (!origins.is_padding(s.shadow.at(at))) continue;
    s.data[at] = std::byte{0};
    s.shadow.fill(at, at + 1, 0);
  }
}

// What depends on bytes that were never written and still lies in an output.
void check_arrivals(std::span<const isa::Program* const> programs, const SharedTensors& shared, const Origins& origins,
                    RunReport& report) {
  if (!origins.any_arrivals()) return;
  for_results(programs, [&](const isa::Program&, const isa::Tensor& t) {
    Storage& s = *shared.at(t.name).storage;
    for (std::int64_t at = s.shadow.find_nonzero(); at < s.rows * s.row_bytes; ++at) {
      const isa::Shadow shadow = s.shadow.at(at);
      if (shadow == 0) continue;
      const auto* arrival = origins.arrival(&s, shadow);
      if (!arrival) continue;  // nothing wrote there
      if (origins.is_padding(shadow)) {
        settle_padding(t, s, origins, at, report);
        continue;
      }
      throw Error(unwritten_diagnostic(origins, shadow, run_rules::kWrittenResults,
                                       index_text(t, at / size_bytes(t.dtype)), t,
                                       isa::InstView(*arrival->program, *arrival->inst), "output"));
    }
  });
}

}  // namespace

RunReport run(std::span<const isa::Program* const> programs, const Arch& arch, const Buffers& buffers,
              const RunOptions& options) {
  KILN_ASSERT(arch.partitions <= kMaxPartitions);
  RunReport report;
  const int processors = static_cast<int>(std::thread::hardware_concurrency());
  TaskQueue queue(options.threads > 0 ? options.threads : std::max(processors, 1), options.poll);
  Common common{queue, report};
  for (const isa::Program* p : programs) {
    bind_buffers(*p, buffers, common.tensors);
    for (const isa::Tensor& t : p->tensors) {
      if (t.role == isa::Role::output || t.role == isa::Role::inout) common.written.insert(t.name);
    }
  }
  common.may_borrow = inputs_stay(programs, buffers);
  std::vector<std::unique_ptr<Core>> cores;
  common.cores = static_cast<int>(programs.size());
  for (const isa::Program* p : programs)
    cores.push_back(std::make_unique<Core>(*p, arch, options, common, static_cast<int>(cores.size())));
  try {
    run_together(cores, arch);
  } catch (...) {
    if (!queue.stopped()) queue.wait();  // what was issued before may fail too: that is the first failure
    throw;
  }
  queue.wait();
  report.warnings = common.warnings.take();
  check_arrivals(programs, common.tensors, common.origins, report);
  warn_unwritten(programs, common.tensors, options.fill_unwritten, report);
  return report;
}

RunReport run(const isa::Program& program, const Arch& arch, const Buffers& buffers, const RunOptions& options) {
  const isa::Program* one[] = {&program};
  return run(one, arch, buffers, options);
}

}  // namespace kiln::sim
