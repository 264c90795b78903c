#include "kiln/sim/bindings.h"

#include <fmt/format.h>

#include "kiln/sim/rules.h"

namespace kiln::sim {
using namespace isa;

namespace {
constexpr std::int64_t kRowSkew = 192;  // keeps rows of a whole memory off the same cache sets
}  // namespace

Bindings::Bindings(const Program& program, const Arch& arch, SharedTensors& shared, Origins& origins)
    : program_(program), origins_(origins), bindings_(program.tensors.size()), origin_(program.tensors.size()) {
  for (TensorId id = 0; id < program.tensors.size(); ++id) {
    const Tensor& t = program.tensors[id];
    if (is_shared(t)) {
      bind_shared(id, shared);
    } else if (t.address && is_on_chip(t.memory)) {
      bind_placed(id, arch);
    }
  }
}

// A tensor that other cores or the caller see.
void Bindings::bind_shared(TensorId id, SharedTensors& shared) {
  const Tensor& t = program_.tensors[id];
  Binding& b = shared[t.name];
  if (!b.storage) b.storage = std::make_shared<Storage>(t.partitions(), t.bytes_per_partition());
  Storage& s = *b.storage;
  if (s.rows != t.partitions() || s.row_bytes != t.bytes_per_partition()) {
    raise(run_rules::kTable, run_rules::kSharedTensor,
          {.found = fmt::format("`{}` has {} x {} bytes on one core, {} x {} on the other", t.name, s.rows, s.row_bytes,
                                t.partitions(), t.bytes_per_partition()),
           .loc = program_.locs[t.loc]});
  }
  if (t.role == Role::output || t.role == Role::internal) {
    origin_[id] = origins_.add(program_, id);
    s.shadow.reset(s.rows * s.row_bytes, origin_[id]);
  }
  if (t.memory == Memory::psum) s.psum.reset(s.rows * s.row_bytes, 0);
  bindings_[id] = b;
}

// A tensor with an address is a window into the whole memory; windows may lie over each other.
void Bindings::bind_placed(TensorId id, const Arch& arch) {
  const Tensor& t = program_.tensors[id];
  auto& memory = placed_[t.memory == Memory::psum];
  if (!memory) {
    const std::int64_t bytes = t.memory == Memory::psum ? arch.psum_partition_bytes : arch.sbuf_partition_bytes;
    memory = std::make_shared<Storage>(arch.partitions, bytes + kRowSkew);
    memory->psum.reset(memory->rows * memory->row_bytes, 0);
    if (t.memory == Memory::psum) memory->owners = std::make_unique<Owners>(memory->rows * memory->row_bytes);
  }
  bindings_[id] = {memory, t.address->partition, t.address->byte_offset};
  for (std::int64_t row = 0; row < t.partitions(); ++row) {
    const std::int64_t begin = (t.address->partition + row) * memory->row_bytes + t.address->byte_offset;
    memory->shadow.fill(begin, begin + t.bytes_per_partition(), Origins::unread());
  }
}

void Bindings::declare(TensorId id, std::shared_ptr<Storage> storage) {
  const Tensor& t = program_.tensors[id];
  if (!origin_[id]) origin_[id] = origins_.add(program_, id);
  storage->shadow.reset(storage->rows * storage->row_bytes, origin_[id]);
  storage->received = false;
  if (t.memory == Memory::psum) storage->psum.reset(storage->rows * storage->row_bytes, 0);
  bindings_[id] = {std::move(storage), 0, 0};
}

}  // namespace kiln::sim
