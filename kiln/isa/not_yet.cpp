// Instructions whose file does not exist yet.
#include "kiln/isa/check.h"
#include "kiln/isa/cost.h"
#include "kiln/isa/run.h"
#include "kiln/isa/track.h"

namespace kiln::isa {
namespace {
[[noreturn]] void refuse(const InstView& v) {
  Diagnostic d;
  d.category = Category::not_yet;
  d.code = "isa.not_yet";
  d.found = std::string(v.row().name) + " is not there yet";
  throw Error(std::move(d));
}
[[maybe_unused]] constexpr Semantics kNotYet = {.rules = {},
                                                .description = "",
                                                .engine = nullptr,
                                                .check = [](Check& c) { refuse(c); },
                                                .run = [](Run& r) { refuse(r); },
                                                .cost = [](const CostQuery& q) -> Cost { refuse(q); },
                                                .track = [](Track& t) { refuse(t); },
                                                .cost_text = ""};
}  // namespace
#ifndef KILN_HAS_dma_copy
extern const Semantics semantics_dma_copy = kNotYet;
#endif
#ifndef KILN_HAS_dma_transpose
extern const Semantics semantics_dma_transpose = kNotYet;
#endif
#ifndef KILN_HAS_dma_compute
extern const Semantics semantics_dma_compute = kNotYet;
#endif
#ifndef KILN_HAS_nc_matmul
extern const Semantics semantics_nc_matmul = kNotYet;
#endif
#ifndef KILN_HAS_nc_matmul_mx
extern const Semantics semantics_nc_matmul_mx = kNotYet;
#endif
#ifndef KILN_HAS_nc_transpose
extern const Semantics semantics_nc_transpose = kNotYet;
#endif
#ifndef KILN_HAS_tensor_copy
extern const Semantics semantics_tensor_copy = kNotYet;
#endif
#ifndef KILN_HAS_tensor_copy_predicated
extern const Semantics semantics_tensor_copy_predicated = kNotYet;
#endif
#ifndef KILN_HAS_memset
extern const Semantics semantics_memset = kNotYet;
#endif
#ifndef KILN_HAS_iota
extern const Semantics semantics_iota = kNotYet;
#endif
#ifndef KILN_HAS_tensor_tensor
extern const Semantics semantics_tensor_tensor = kNotYet;
#endif
#ifndef KILN_HAS_tensor_scalar
extern const Semantics semantics_tensor_scalar = kNotYet;
#endif
#ifndef KILN_HAS_scalar_tensor_tensor
extern const Semantics semantics_scalar_tensor_tensor = kNotYet;
#endif
#ifndef KILN_HAS_reciprocal
extern const Semantics semantics_reciprocal = kNotYet;
#endif
#ifndef KILN_HAS_exponential
extern const Semantics semantics_exponential = kNotYet;
#endif
#ifndef KILN_HAS_activation
extern const Semantics semantics_activation = kNotYet;
#endif
#ifndef KILN_HAS_activation_reduce
extern const Semantics semantics_activation_reduce = kNotYet;
#endif
#ifndef KILN_HAS_activate2
extern const Semantics semantics_activate2 = kNotYet;
#endif
#ifndef KILN_HAS_quantize_mx
extern const Semantics semantics_quantize_mx = kNotYet;
#endif
#ifndef KILN_HAS_dropout
extern const Semantics semantics_dropout = kNotYet;
#endif
#ifndef KILN_HAS_tensor_reduce
extern const Semantics semantics_tensor_reduce = kNotYet;
#endif
#ifndef KILN_HAS_tensor_partition_reduce
extern const Semantics semantics_tensor_partition_reduce = kNotYet;
#endif
#ifndef KILN_HAS_tensor_scalar_reduce
extern const Semantics semantics_tensor_scalar_reduce = kNotYet;
#endif
#ifndef KILN_HAS_tensor_scalar_cumulative
extern const Semantics semantics_tensor_scalar_cumulative = kNotYet;
#endif
#ifndef KILN_HAS_tensor_tensor_scan
extern const Semantics semantics_tensor_tensor_scan = kNotYet;
#endif
#ifndef KILN_HAS_bn_stats
extern const Semantics semantics_bn_stats = kNotYet;
#endif
#ifndef KILN_HAS_bn_aggr
extern const Semantics semantics_bn_aggr = kNotYet;
#endif
#ifndef KILN_HAS_affine_select
extern const Semantics semantics_affine_select = kNotYet;
#endif
#ifndef KILN_HAS_range_select
extern const Semantics semantics_range_select = kNotYet;
#endif
#ifndef KILN_HAS_select_reduce
extern const Semantics semantics_select_reduce = kNotYet;
#endif
#ifndef KILN_HAS_sequence_bounds
extern const Semantics semantics_sequence_bounds = kNotYet;
#endif
#ifndef KILN_HAS_max8
extern const Semantics semantics_max8 = kNotYet;
#endif
#ifndef KILN_HAS_nc_find_index8
extern const Semantics semantics_nc_find_index8 = kNotYet;
#endif
#ifndef KILN_HAS_nc_match_replace8
extern const Semantics semantics_nc_match_replace8 = kNotYet;
#endif
#ifndef KILN_HAS_topk
extern const Semantics semantics_topk = kNotYet;
#endif
#ifndef KILN_HAS_nonzero_with_count
extern const Semantics semantics_nonzero_with_count = kNotYet;
#endif
#ifndef KILN_HAS_local_gather
extern const Semantics semantics_local_gather = kNotYet;
#endif
#ifndef KILN_HAS_nc_n_gather
extern const Semantics semantics_nc_n_gather = kNotYet;
#endif
#ifndef KILN_HAS_nc_stream_shuffle
extern const Semantics semantics_nc_stream_shuffle = kNotYet;
#endif
#ifndef KILN_HAS_rng
extern const Semantics semantics_rng = kNotYet;
#endif
#ifndef KILN_HAS_rand2
extern const Semantics semantics_rand2 = kNotYet;
#endif
#ifndef KILN_HAS_set_rng_seed
extern const Semantics semantics_set_rng_seed = kNotYet;
#endif
#ifndef KILN_HAS_rand_set_state
extern const Semantics semantics_rand_set_state = kNotYet;
#endif
#ifndef KILN_HAS_rand_get_state
extern const Semantics semantics_rand_get_state = kNotYet;
#endif
#ifndef KILN_HAS_register_alloc
extern const Semantics semantics_register_alloc = kNotYet;
#endif
#ifndef KILN_HAS_register_move
extern const Semantics semantics_register_move = kNotYet;
#endif
#ifndef KILN_HAS_register_load
extern const Semantics semantics_register_load = kNotYet;
#endif
#ifndef KILN_HAS_register_store
extern const Semantics semantics_register_store = kNotYet;
#endif
#ifndef KILN_HAS_core_barrier
extern const Semantics semantics_core_barrier = kNotYet;
#endif
#ifndef KILN_HAS_sendrecv
extern const Semantics semantics_sendrecv = kNotYet;
#endif
}  // namespace kiln::isa
