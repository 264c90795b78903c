#include "bench/timing_kernels.h"

#include <algorithm>
#include <stdexcept>

#include "bench/timing_common.h"

namespace kiln::bench {

isa::Program timing_kernel(const std::string& name, const Params& params) {
  Target target = Target::trn2;
  if (!parse_target(params.text("target", "trn2"), target)) throw std::invalid_argument("no such target");
  isa::Kernel k(name, target);
  for (const auto* table :
       {&instruction_kernels(), &matmul_kernels(), &attention_kernels(), &other_kernels()}) {
    const auto found = table->find(name);
    if (found == table->end()) continue;
    found->second(k, params);
    return k.finish();
  }
  throw std::invalid_argument("no kernel " + name);
}

isa::View spread_row(isa::Kernel& k, const isa::View& ones, const isa::View& row) {
  using isa::all, isa::ds;
  constexpr std::int64_t kBank = 512;
  const std::int64_t n = row.dim(1);
  const isa::View out = k.psum({ones.dim(1), n}, DType::float32);
  for (std::int64_t i = 0; i < n; i += kBank) {
    const std::int64_t part = std::min(kBank, n - i);
    k.nc_matmul({.dst = out(all, ds(i, part)), .stationary = ones, .moving = row(all, ds(i, part))});
  }
  return out;
}

}  // namespace kiln::bench
