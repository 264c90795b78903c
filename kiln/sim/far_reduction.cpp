#include "kiln/sim/far_reduction.h"

#include <set>

namespace kiln::sim {
using namespace isa;

const Parcel* FarReduction::target_of(int process) const {
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (to_homes[i] == process) return &to[i];
  }
  return nullptr;
}

std::vector<int> FarReduction::receivers() const {
  std::set<int> homes(to_homes.begin(), to_homes.end());
  homes.erase(process);
  return {homes.begin(), homes.end()};
}

Parcel from_on(const Parcel& p, std::int64_t first, std::int64_t count) {
  return {p.data ? p.data + first * size_bytes(p.dtype) : nullptr, count, p.dtype,
          p.shadow ? p.shadow + first : nullptr};
}

std::span<std::byte> bytes_of(const Parcel& p) {
  return {p.data, static_cast<std::size_t>(p.count * size_bytes(p.dtype))};
}

void compute_slice(const FarReduction& r, int self, std::span<const Parcel> sources, std::int64_t first,
                   const Kernels& kernels) {
  const std::int64_t count = sources[0].count;
  std::vector<const std::byte*> from;
  std::vector<const Shadow*> from_shadows;
  for (const Parcel& p : sources) {
    from.push_back(p.data);
    from_shadows.push_back(p.shadow);
  }
  std::vector<std::byte*> to;
  std::vector<Shadow*> to_shadows;
  for (std::size_t i = 0; i < r.to.size(); ++i) {
    if (r.to_homes[i] != self) continue;
    const Parcel here = from_on(r.to[i], first, count);
    to.push_back(here.data);
    if (here.shadow) to_shadows.push_back(here.shadow);
  }
  reduce_elements(r.op, r.dtype, from, to, count, kernels);
  if (!to_shadows.empty()) reduce_shadows(from_shadows, to_shadows, count);
}

void spread_result(const FarReduction& r, int self) {
  const Parcel* const first = r.target_of(self);
  for (std::size_t i = 0; i < r.to.size(); ++i) {
    if (r.to_homes[i] == self && &r.to[i] != first) copy_elements(*first, 0, r.to[i], 0, r.count);
  }
}

}  // namespace kiln::sim
