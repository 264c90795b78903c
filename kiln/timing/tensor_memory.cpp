#include "kiln/timing/tensor_memory.h"

#include <algorithm>

namespace kiln::timing {
using namespace isa;

namespace {

// What tensors with an address leave to the others.
std::array<std::int64_t, 2> free_bytes(const Program& program, const Arch& arch) {
  std::array<std::int64_t, 2> free = {arch.sbuf_partition_bytes - arch.sbuf_reserved_bytes, arch.psum_partition_bytes};
  for (const Tensor& t : program.tensors) {
    if (t.address && is_on_chip(t.memory)) free[t.memory == Memory::psum] -= t.bytes_per_partition();
  }
  for (std::int64_t& bytes : free) bytes = std::max<std::int64_t>(0, bytes);
  return free;
}

}  // namespace

TensorMemory::TensorMemory(const Program& program, const Plan& plan, const Arch& arch, bool reorder)
    : program_(program), plan_(plan), partitions_(arch.partitions), reorder_(reorder), places_(program.tensors.size()) {
  const auto [sbuf, psum] = free_bytes(program, arch);
  pools_[0] = Pool(sbuf);
  pools_[1] = Pool(psum);
  stays_ = Stays(sbuf, psum);
}

// A tensor of few partitions leaves the others to its neighbours.
std::int64_t TensorMemory::pool_bytes(TensorId id) const {
  constexpr std::int64_t kQuadrant = kQuadrantPartitions;
  const Tensor& t = program_.tensors[id];
  const std::int64_t quadrants = (t.partitions() + kQuadrant - 1) / kQuadrant;
  return std::max<std::int64_t>(1, t.bytes_per_partition() * quadrants * kQuadrant / partitions_);
}

bool TensorMemory::in_psum(TensorId id) const {
  return program_.tensors[id].memory == Memory::psum || (!plan_.spread.empty() && plan_.spread[id]);
}

void TensorMemory::declare(TensorId id) {
  Place& place = places_[id];
  if (reorder_) {
    place.stay = stays_.open(pool_bytes(id), in_psum(id));
  } else {
    place.before.clear();
    pools_[in_psum(id)].take(pool_bytes(id), place.before);
  }
}

void TensorMemory::release(TensorId id, const Users& users, bool for_good) {
  if (!reorder_) {
    pools_[in_psum(id)].give_back(pool_bytes(id), users);
    if (for_good) places_.erase(id);
  } else if (const StayId stay = places_.at(id).stay; stay != kNone) {
    stays_.close(stay);
  }
}

}  // namespace kiln::timing
