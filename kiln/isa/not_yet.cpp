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
#if !__has_include("kiln/isa/dma_copy.cpp")
extern const Semantics semantics_dma_copy = kNotYet;
#endif
#if !__has_include("kiln/isa/dma_transpose.cpp")
extern const Semantics semantics_dma_transpose = kNotYet;
#endif
#if !__has_include("kiln/isa/dma_compute.cpp")
extern const Semantics semantics_dma_compute = kNotYet;
#endif
#if !__has_include("kiln/isa/nc_matmul.cpp")
extern const Semantics semantics_nc_matmul = kNotYet;
#endif
#if !__has_include("kiln/isa/nc_matmul_mx.cpp")
extern const Semantics semantics_nc_matmul_mx = kNotYet;
#endif
#if !__has_include("kiln/isa/nc_transpose.cpp")
extern const Semantics semantics_nc_transpose = kNotYet;
#endif
#if !__has_include("kiln/isa/tensor_copy.cpp")
extern const Semantics semantics_tensor_copy = kNotYet;
#endif
#if !__has_include("kiln/isa/tensor_copy_predicated.cpp")
extern const Semantics semantics_tensor_copy_predicated = kNotYet;
#endif
#if !__has_include("kiln/isa/memset.cpp")
extern const Semantics semantics_memset = kNotYet;
#endif
#if !__has_include("kiln/isa/iota.cpp")
extern const Semantics semantics_iota = kNotYet;
#endif
#if !__has_include("kiln/isa/tensor_tensor.cpp")
extern const Semantics semantics_tensor_tensor = kNotYet;
#endif
#if !__has_include("kiln/isa/tensor_scalar.cpp")
extern const Semantics semantics_tensor_scalar = kNotYet;
#endif
#if !__has_include("kiln/isa/scalar_tensor_tensor.cpp")
extern const Semantics semantics_scalar_tensor_tensor = kNotYet;
#endif
#if !__has_include("kiln/isa/reciprocal.cpp")
extern const Semantics semantics_reciprocal = kNotYet;
#endif
#if !__has_include("kiln/isa/exponential.cpp")
extern const Semantics semantics_exponential = kNotYet;
#endif
#if !__has_include("kiln/isa/activation.cpp")
extern const Semantics semantics_activation = kNotYet;
#endif
#if !__has_include("kiln/isa/activation_reduce.cpp")
extern const Semantics semantics_activation_reduce = kNotYet;
#endif
#if !__has_include("kiln/isa/activate2.cpp")
extern const Semantics semantics_activate2 = kNotYet;
#endif
#if !__has_include("kiln/isa/quantize_mx.cpp")
extern const Semantics semantics_quantize_mx = kNotYet;
#endif
#if !__has_include("kiln/isa/dropout.cpp")
extern const Semantics semantics_dropout = kNotYet;
#endif
#if !__has_include("kiln/isa/tensor_reduce.cpp")
extern const Semantics semantics_tensor_reduce = kNotYet;
#endif
#if !__has_include("kiln/isa/tensor_partition_reduce.cpp")
extern const Semantics semantics_tensor_partition_reduce = kNotYet;
#endif
#if !__has_include("kiln/isa/tensor_scalar_reduce.cpp")
extern const Semantics semantics_tensor_scalar_reduce = kNotYet;
#endif
#if !__has_include("kiln/isa/tensor_scalar_cumulative.cpp")
extern const Semantics semantics_tensor_scalar_cumulative = kNotYet;
#endif
#if !__has_include("kiln/isa/tensor_tensor_scan.cpp")
extern const Semantics semantics_tensor_tensor_scan = kNotYet;
#endif
#if !__has_include("kiln/isa/bn_stats.cpp")
extern const Semantics semantics_bn_stats = kNotYet;
#endif
#if !__has_include("kiln/isa/bn_aggr.cpp")
extern const Semantics semantics_bn_aggr = kNotYet;
#endif
#if !__has_include("kiln/isa/affine_select.cpp")
extern const Semantics semantics_affine_select = kNotYet;
#endif
#if !__has_include("kiln/isa/range_select.cpp")
extern const Semantics semantics_range_select = kNotYet;
#endif
#if !__has_include("kiln/isa/select_reduce.cpp")
extern const Semantics semantics_select_reduce = kNotYet;
#endif
#if !__has_include("kiln/isa/sequence_bounds.cpp")
extern const Semantics semantics_sequence_bounds = kNotYet;
#endif
#if !__has_include("kiln/isa/max8.cpp")
extern const Semantics semantics_max8 = kNotYet;
#endif
#if !__has_include("kiln/isa/nc_find_index8.cpp")
extern const Semantics semantics_nc_find_index8 = kNotYet;
#endif
#if !__has_include("kiln/isa/nc_match_replace8.cpp")
extern const Semantics semantics_nc_match_replace8 = kNotYet;
#endif
#if !__has_include("kiln/isa/topk.cpp")
extern const Semantics semantics_topk = kNotYet;
#endif
#if !__has_include("kiln/isa/nonzero_with_count.cpp")
extern const Semantics semantics_nonzero_with_count = kNotYet;
#endif
#if !__has_include("kiln/isa/local_gather.cpp")
extern const Semantics semantics_local_gather = kNotYet;
#endif
#if !__has_include("kiln/isa/nc_n_gather.cpp")
extern const Semantics semantics_nc_n_gather = kNotYet;
#endif
#if !__has_include("kiln/isa/nc_stream_shuffle.cpp")
extern const Semantics semantics_nc_stream_shuffle = kNotYet;
#endif
#if !__has_include("kiln/isa/rng.cpp")
extern const Semantics semantics_rng = kNotYet;
#endif
#if !__has_include("kiln/isa/rand2.cpp")
extern const Semantics semantics_rand2 = kNotYet;
#endif
#if !__has_include("kiln/isa/set_rng_seed.cpp")
extern const Semantics semantics_set_rng_seed = kNotYet;
#endif
#if !__has_include("kiln/isa/rand_set_state.cpp")
extern const Semantics semantics_rand_set_state = kNotYet;
#endif
#if !__has_include("kiln/isa/rand_get_state.cpp")
extern const Semantics semantics_rand_get_state = kNotYet;
#endif
#if !__has_include("kiln/isa/register_alloc.cpp")
extern const Semantics semantics_register_alloc = kNotYet;
#endif
#if !__has_include("kiln/isa/register_move.cpp")
extern const Semantics semantics_register_move = kNotYet;
#endif
#if !__has_include("kiln/isa/register_load.cpp")
extern const Semantics semantics_register_load = kNotYet;
#endif
#if !__has_include("kiln/isa/register_store.cpp")
extern const Semantics semantics_register_store = kNotYet;
#endif
#if !__has_include("kiln/isa/core_barrier.cpp")
extern const Semantics semantics_core_barrier = kNotYet;
#endif
#if !__has_include("kiln/isa/sendrecv.cpp")
extern const Semantics semantics_sendrecv = kNotYet;
#endif
}  // namespace kiln::isa
