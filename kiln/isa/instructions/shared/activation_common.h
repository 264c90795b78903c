// What activation, activation_reduce and activate2 share.
#pragma once

#include "kiln/isa/instructions/shared/accumulator.h"
#include "kiln/isa/instructions/shared/rule_words.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/run.h"

namespace kiln::isa {

// The rules that activation and activation_reduce have under the same numbers.
namespace activation_rules {
inline constexpr Rule kSameShape{1, words::kDataAndDstShape};
inline constexpr Rule kBiasColumn{2, "a bias tile has one value per partition", "slice bias to (P, 1)"};
inline constexpr Rule kBiasDtype{3, "bias is not tfloat32", "view or copy bias as float32"};
inline constexpr Rule kBiasTile{4, "bias is a tile on gen2", "put the number into a (P, 1) tile with memset"};
inline constexpr Rule kScaleColumn{5, "a scale tile has one value per partition", "slice scale to (P, 1)"};
inline constexpr Rule kNotPrelu{6, "op is not prelu, which needs relu_param", "use activate2, which has relu_param"};
inline constexpr Rule kReciprocalBias{7, "reciprocal takes no bias on gen2", "add the bias with tensor_scalar first"};
inline constexpr Rule kReduceResColumn{9, words::kReduceResColumn};
inline constexpr Rule kScatterIntoSbuf{10, words::kScatterIntoSbuf};
inline constexpr Rule kInputRange{11, words::kInputRange};
inline constexpr Rule kCopyBias{12, "copy takes no bias on gen2, where it was seen to be left out",
                                "add the bias with tensor_scalar", Mark::external};
}  // namespace activation_rules

// Parameter positions of activation and activation_reduce.
struct ActivationParams {
  int dst, op, data, bias, scale, reduce_op, reduce_res;

  Reduction reduction(ReduceCmd cmd) const {
    return {.bit = kActRegisters, .cmd = cmd, .op = AluOp::add, .dst = dst, .reduce_res = reduce_res};
  }
};
// `reduce_op_rule`: the only operator of reduce_op is add.
void check_activation(Check& c, const ActivationParams& p, const Rule& reduce_op_rule);
void run_activation(Run& r, const ActivationParams& p, ReduceCmd cmd);
Cost cost_activation(const CostQuery& q, const ActivationParams& p);

// The set of functions that holds `fn`, -1 when every one does.
int table_of(ActFn fn);

// out[i] = fn(out[i]) of a piece; warns (`rule`) of an input outside the range where the hardware's result is valid.
void apply_activation(const Run& r, const Rule& rule, ActFn fn, float param, const RowChunk& c);

}  // namespace kiln::isa
