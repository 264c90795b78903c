#include <fmt/format.h>

#include "kiln/isa/accumulator.h"
#include "kiln/isa/activation_common.h"
#include "kiln/isa/check.h"
#include "kiln/isa/cost.h"
#include "kiln/isa/run.h"
#include "kiln/isa/track.h"

namespace kiln::isa {
namespace {
using namespace args::activation;

constexpr Rule kRules[] = {
    /* R1 */ {"data and dst have the same number of partitions and of free elements",
              "slice them to one shape"},
    /* R2 */ {"bias is a number, or a tile with one value per partition", "slice bias to (P, 1)"},
    /* R3 */ {"bias is not tfloat32", "view or copy bias as float32"},
    /* R4 */ {"bias is a tile on gen2", "put the number into a (P, 1) tile with memset"},
    /* R5 */ {"scale is a number, or a float32 tile with one value per partition", "slice scale to (P, 1)"},
    /* R6 */ {"op is not prelu, which needs relu_param", "use activate2, which has relu_param"},
    /* R7 */ {"reciprocal takes no bias on gen2", "add the bias with tensor_scalar first"},
    /* R8 */ {"reduce_op is add", "reduce with tensor_reduce, or with activate2 on trn3"},
    /* R9 */
    {"reduce_cmd is idle, reset, reduce or reset_reduce", "load_reduce belongs to the vector engine"},
    /* R10 */ {"reduce_res has one value per partition", "allocate reduce_res as (P, 1)"},
    /* R11 */
    {"reduce, and reading the registers out, need a reduction that was started",
     "start with reduce_cmd=reset_reduce", Mark::undocumented},
    /* R12 */ {"an indirect dst is not in PSUM", "scatter into SBUF"},
    /* R13 */
    {"the input of the function lies in the range where the hardware result is valid",
     "scale or clamp the input; kiln isa activation lists the ranges"},
    /* R14 */
    {"reduce_op is given with a reduce_cmd other than idle", "pass reduce_op=nl.add", Mark::undocumented},
};

void check(Check& c) {
  const std::int64_t rows = c.partitions(data);
  c.require(1, c.same_shape(dst, data), [&] {
    return fmt::format("dst is {}, data is {}", shape_text(c.access(dst)), shape_text(c.access(data)));
  });
  if (c.is_tile(bias)) {
    c.require(2, c.is_column(bias, rows), [&] { return c.describe(bias); });
    c.require(3, c.dtype(bias) != DType::tfloat32, [&] { return c.describe(bias); });
  } else if (c.has(bias)) {
    c.require(4, c.arch().features.scalar_immediate_bias,
              [&] { return fmt::format("bias is {}", c.real(bias)); });
  }
  if (c.is_tile(scale)) c.require(5, c.is_column(scale, rows), [&] { return c.describe(scale); });
  c.require(6, c.act(op) != ActFn::prelu, [&] { return "op is prelu"; });
  c.require(7, c.act(op) != ActFn::reciprocal || !c.has(bias) || c.arch().features.scalar_immediate_bias,
            [&] { return "op is reciprocal and bias is given"; });
  c.require(8, !c.has(reduce_op) || c.alu(reduce_op) == AluOp::add,
            [&] { return fmt::format("reduce_op is {}", name(c.alu(reduce_op))); });
  const ReduceCmd cmd = c.get<ReduceCmd>(reduce_cmd);
  c.require(9, cmd != ReduceCmd::load_reduce, [&] { return "reduce_cmd is load_reduce"; });
  if (c.has(reduce_res)) c.require(10, c.is_column(reduce_res, rows), [&] { return c.describe(reduce_res); });
  c.require(12, !(c.is_indirect(dst) && c.in_psum(dst)), [&] { return "dst is indirect and in PSUM"; });
  c.advise(14, cmd == ReduceCmd::idle || c.has(reduce_op),
           [&] { return "reduce_cmd is given, reduce_op is not; add is assumed"; });
}

unsigned state(const InstView& v) {
  return v.get<ReduceCmd>(reduce_cmd) != ReduceCmd::idle || v.has(reduce_res) ? unsigned{kActRegisters} : 0u;
}

void run(Run& r) {
  const ActFn fn = r.act(op);
  run_activation(r, {.dst = dst, .data = data, .reduce_res = r.has(reduce_res) ? int{reduce_res} : -1},
                 r.get<ReduceCmd>(reduce_cmd), AluOp::add, [&](const RowChunk& c) {
                   const float s = r.column(scale, c.row, 1.0f), b = r.column(bias, c.row, 0.0f);
                   warn_out_of_range(r, 13, fn, c, s, b);
                   r.k.scaled_activation(fn, c.in[0], s, b, 0.0f, c.out, c.n);
                 });
}

Cost cost(const CostQuery& q) {
  const double extra = q.has(reduce_res) ? q.spec().min_interval_cycles : 0;
  return {.cycles = q.stream(static_cast<double>(q.free_size(data))) + extra};
}

void track(Track& t) {
  track_accumulator(t, kActRegisters, t.get<ReduceCmd>(reduce_cmd), t.has(reduce_res), 11);
  track_elementwise(t);
}

}  // namespace

extern const Semantics semantics_activation = {
    .rules = kRules,
    .description =
        "o = op(data * scale + bias) in float32, product and sum rounded one after the other; dst = cvt(o). "
        "reduce_cmd: reset clears the 128 registers, reduce adds the row's o, reset_reduce clears and adds; "
        "reduce_res = cvt(registers). When reduce_res aliases dst the reduction wins.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track,
    .cost_text = "max(64, N), plus 64 to read the registers out",
    .state = state,
};

}  // namespace kiln::isa
