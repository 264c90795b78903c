#include "kiln/sim/buffers.h"

#include <fmt/format.h>

#include <map>

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

void require_buffers(const isa::Launch& launch, std::span<const Buffers> of_ranks) {
  if (static_cast<std::size_t>(launch.ranks) != of_ranks.size()) {
    raise(run_rules::kTable, run_rules::kBuffers,
          {.found = fmt::format("buffers of {} ranks for {}", of_ranks.size(), launch.ranks),
           .category = Category::config});
  }
  std::map<const void*, int> owners;  // of memory that is written
  for (int rank = 0; rank < launch.ranks; ++rank) {
    for (const std::string& name : written_buffers(launch.of_rank(rank))) {
      const auto it = of_ranks[rank].find(name);
      if (it == of_ranks[rank].end()) continue;
      const auto [owner, fresh] = owners.try_emplace(it->second.data, rank);
      if (fresh || owner->second == rank) continue;
      raise(run_rules::kTable, run_rules::kBuffers,
            {.found = fmt::format("ranks {} and {} write `{}` in the same memory", owner->second, rank, name),
             .category = Category::config});
    }
  }
}

bool inputs_stay(const isa::Launch& launch, std::span<const Buffers> of_ranks) {
  std::vector<const Buffer*> read, written;
  for (int rank = 0; rank < launch.ranks; ++rank) {
    for (const isa::Program* p : launch.cores(rank)) {
      for (const isa::Tensor& t : p->tensors) {
        const auto it = of_ranks[rank].find(t.name);
        if (t.role == isa::Role::internal || it == of_ranks[rank].end()) continue;
        (t.role == isa::Role::input ? read : written).push_back(&it->second);
      }
    }
  }
  const auto begin = [](const Buffer* b) { return reinterpret_cast<std::uintptr_t>(b->data); };
  read.insert(read.end(), written.begin(), written.end());  // what is written may be read as well
  for (const Buffer* r : read) {
    for (const Buffer* w : written) {
      if (r != w && begin(r) < begin(w) + w->bytes && begin(w) < begin(r) + r->bytes) return false;
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
