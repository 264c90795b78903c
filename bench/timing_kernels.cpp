#include "bench/timing_kernels.h"

#include <algorithm>
#include <stdexcept>

#include "bench/timing_common.h"

namespace kiln::bench {

isa::Program timing_kernel(const std::string& name, const Params& params) {
  Target target = Target::trn2;
  if (!parse_target(params.text("target", "trn2"), target)) throw std::invalid_argument("no such target");
  isa::Kernel k(name, target);
  for (const auto* table : {&instruction_kernels(), &matmul_kernels(), &attention_kernels(), &attention_trace_kernels(),
                            &other_kernels(), &suite_kernels(), &spill_kernels(), &small_head_kernels(),
                            &convolution_kernels(), &spilled_attention_kernels(), &scan_kernels()}) {
    const auto found = table->find(name);
    if (found == table->end()) continue;
    found->second(k, params);
    return k.finish();
  }
  throw std::invalid_argument("no kernel " + name);
}

isa::View spread_row(isa::Kernel& k, const isa::View& ones, const isa::View& row) {
  using isa::all, isa::ds;
  const std::int64_t n = row.dim(1), rows = ones.dim(1);
  const auto spread = [&](std::int64_t at, std::int64_t part) {
    const isa::View bank = k.psum({rows, part}, DType::float32);
    k.nc_matmul({.dst = bank, .stationary = ones, .moving = row(all, ds(at, part))});
    return bank;
  };
  if (n <= kWide) return spread(0, n);
  const isa::View out = k.sbuf({rows, n}, DType::float32);
  for (std::int64_t at = 0; at < n; at += kWide) {
    const std::int64_t part = std::min(kWide, n - at);
    k.activation({.dst = out(all, ds(at, part)), .op = ActFn::copy, .data = spread(at, part)});
  }
  return out;
}

}  // namespace kiln::bench
