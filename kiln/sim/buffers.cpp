#include "kiln/sim/buffers.h"

#include <fmt/format.h>

#include "kiln/sim/rules.h"

namespace kiln::sim {
namespace {

[[noreturn]] void bad_buffer(const isa::Program& program, const isa::Tensor& t, std::string found) {
  raise(run_rules::kTable, run_rules::kBuffers,
        {.found = std::move(found), .loc = program.locs[t.loc], .category = Category::config});
}

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

}  // namespace

void bind_buffers(const isa::Launch& launch, const Buffers& buffers, SharedTensors& shared) {
  for (const isa::Program* p : launch.programs) bind_buffers(*p, buffers, shared);
}

bool inputs_stay(const isa::Launch& launch, const Buffers& buffers) {
  std::vector<const Buffer*> read, written;
  for (const isa::Program* p : launch.programs) {
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

std::set<std::string, std::less<>> written_buffers(const isa::Launch& launch) {
  std::set<std::string, std::less<>> names;
  for (const isa::Program* p : launch.programs) {
    for (const isa::Tensor& t : p->tensors) {
      if (t.role == isa::Role::output || t.role == isa::Role::inout) names.insert(t.name);
    }
  }
  return names;
}

}  // namespace kiln::sim
