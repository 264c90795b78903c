#include "kiln/sim/declared_storage.h"

namespace kiln::sim {
using namespace isa;

namespace {

constexpr std::int64_t kKeepAllBytes = 1 << 20;  // these stay in the cache: nothing is gained by giving them back

}  // namespace

bool is_declared_storage(const Tensor& t) {
  return t.role == Role::internal && t.memory != Memory::shared_hbm && !(t.address && is_on_chip(t.memory));
}

bool gives_storages_back(const Program& program) {
  std::int64_t bytes = 0;
  for (const Tensor& t : program.tensors) {
    if (is_declared_storage(t)) bytes += t.partitions() * t.bytes_per_partition();
  }
  return bytes > kKeepAllBytes;
}

}  // namespace kiln::sim
