#include "kernels/blas/double_gemm.h"

#include "kernels/blas/config_rules.h"
#include "kernels/blas/double_loops.h"
#include "kernels/blas/dtypes.h"

namespace kiln::kernels {
using namespace isa;

namespace {

// Two arrays under the names x0 and x1.
DoubleView inputs(Kernel& k, const std::string& name, const Shape& shape) {
  const View high = k.input(name + "0", shape, f32);
  return {high, k.input(name + "1", shape, f32)};
}
DoubleView outputs(Kernel& k, const std::string& name, const Shape& shape) {
  const View high = k.output(name + "0", shape, f32);
  return {high, k.output(name + "1", shape, f32)};
}

}  // namespace

Program double_gemm(const DoubleGemmConfig& c, Target target) {
  require_sizes("double_gemm", {c.m, c.n, c.k});
  Kernel k("double_gemm", target);
  const DoubleView a = inputs(k, "a", c.trans_a ? Shape{c.k, c.m} : Shape{c.m, c.k});
  const DoubleView b = inputs(k, "b", c.trans_b ? Shape{c.n, c.k} : Shape{c.k, c.n});
  DoubleLoops(k, c, a, b).run(outputs(k, "c", {c.m, c.n}));
  return k.finish();
}

Program double_batched_gemm(const DoubleBatchConfig& config, Target target) {
  const DoubleGemmConfig& c = config.each;
  require_sizes("double_batched_gemm", {c.m, c.n, c.k, config.batch});
  Kernel k("double_batched_gemm", target);
  const std::int64_t of_a = config.shares_a ? 1 : config.batch, of_b = config.shares_b ? 1 : config.batch;
  const DoubleView a = inputs(k, "a", c.trans_a ? Shape{of_a, c.k, c.m} : Shape{of_a, c.m, c.k});
  const DoubleView b = inputs(k, "b", c.trans_b ? Shape{of_b, c.n, c.k} : Shape{of_b, c.k, c.n});
  const DoubleView to = outputs(k, "c", {config.batch, c.m, c.n});
  k.loop(config.batch, [&](Index i) {
    const auto of = [&](const DoubleView& v, bool shares) {
      return shares ? DoubleView{v.high(0), v.low(0)} : DoubleView{v.high(i), v.low(i)};
    };
    DoubleLoops(k, c, of(a, config.shares_a), of(b, config.shares_b)).run(of(to, false));
  });
  return k.finish();
}

}  // namespace kiln::kernels
