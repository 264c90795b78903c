#include "kernels/blas/batched_gemm.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/blas/config_rules.h"
#include "kernels/blas/gemm_loops.h"
#include "kernels/blas/small_batch.h"

namespace kiln::kernels {
using namespace isa;

Program batched_gemm(const BatchedGemmConfig& config, Target target) {
  const GemmConfig& c = config.each;
  require_gemm("batched_gemm", c);
  require_sizes("batched_gemm", {config.batch});
  Kernel k("batched_gemm", target);
  const Epilogue epilogue(k, c.alpha, c.beta);
  const std::int64_t of_a = config.shares_a ? 1 : config.batch, of_b = config.shares_b ? 1 : config.batch;
  const View a = k.input("a", c.trans_a ? Shape{of_a, c.k, c.m} : Shape{of_a, c.m, c.k}, c.dtype);
  const View b = k.input("b", c.trans_b ? Shape{of_b, c.n, c.k} : Shape{of_b, c.k, c.n}, c.dtype);
  View from;
  if (epilogue.reads_c()) from = k.input("c_in", {config.batch, c.m, c.n}, c.c_dtype());
  const View to = k.output("c", {config.batch, c.m, c.n}, c.c_dtype());
  if (is_small_batch(config)) {
    multiply_small(k, config, epilogue, a, b, from, to);
    return k.finish();
  }
  k.loop(config.batch, [&](Index i) {
    const GemmOperands x{.a = {config.shares_a ? a(0) : a(i), c.trans_a},
                         .b = {config.shares_b ? b(0) : b(i), !c.trans_b},
                         .from = epilogue.reads_c() ? from(i) : View(),
                         .to = to(i)};
    GemmLoops(k, c, epilogue, x).run();
  });
  return k.finish();
}

Program gemm_list(std::span<const GemmConfig> products, Target target) {
  const auto is_like_first = [&](const GemmConfig& c) {
    return c.alpha == products[0].alpha && c.beta == products[0].beta;
  };
  if (products.empty() || !std::all_of(products.begin(), products.end(), is_like_first))
    raise(config_rules::kTable, config_rules::kOneKind, {.found = fmt::format("a list of {}", products.size())});
  for (const GemmConfig& c : products) require_gemm("gemm_list", c);
  Kernel k("gemm_list", target);
  const Epilogue epilogue(k, products[0].alpha, products[0].beta);
  for (std::size_t i = 0; i < products.size(); ++i) {
    const GemmConfig& c = products[i];
    const auto named = [&](const char* what) { return fmt::format("{}_{}", what, i); };
    GemmOperands x;
    x.a = {k.input(named("a"), c.trans_a ? Shape{c.k, c.m} : Shape{c.m, c.k}, c.dtype), c.trans_a};
    x.b = {k.input(named("b"), c.trans_b ? Shape{c.n, c.k} : Shape{c.k, c.n}, c.dtype), !c.trans_b};
    if (epilogue.reads_c()) x.from = k.input(named("c_in"), {c.m, c.n}, c.c_dtype());
    x.to = k.output(named("c"), {c.m, c.n}, c.c_dtype());
    GemmLoops(k, c, epilogue, x).run();
  }
  return k.finish();
}

}  // namespace kiln::kernels
