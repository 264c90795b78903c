// Rules that several instructions have, in words. Each instruction gives them a number of its own.
#pragma once

#include "kiln/base/rule.h"

namespace kiln::isa::words {

inline constexpr RuleWords kDataAndDstShape{"data and dst have the same number of partitions and of free elements",
                                            "slice them to one shape"};
inline constexpr RuleWords kScalarReduceCmd{"reduce_cmd is idle, reset, reduce or reset_reduce",
                                            "load_reduce belongs to the vector engine"};
inline constexpr RuleWords kReduceResColumn{"reduce_res has one value per partition", "allocate reduce_res as (P, 1)"};
inline constexpr RuleWords kScatterIntoSbuf{"an indirect dst is not in PSUM", "scatter into SBUF"};
inline constexpr RuleWords kInputRange{
    "the input of the function lies in the range where the hardware's result is valid",
    "scale or clamp the input into the range"};
inline constexpr RuleWords kScalarStarted{
    "reduce, and reading out without a command, need a reduction that was started",
    "start with reduce_cmd=reset_reduce", Mark::undocumented};
inline constexpr RuleWords kOneOperator{"a reduction goes on with the operator that it was started with",
                                        "start with reduce_cmd=reset_reduce", Mark::undocumented};
inline constexpr RuleWords kOnTrueTileAndDstShape{
    "on_true_tile and dst have the same number of partitions and of free elements", "slice them to one shape"};
inline constexpr RuleWords kPatternPairs{"pattern has one to four pairs [step, count] with positive counts",
                                         "merge dimensions whose steps chain"};
inline constexpr RuleWords kPatternCount{"the product of the pattern's counts is the number of free elements of dst",
                                         "match the counts to dst's free dimensions"};
inline constexpr RuleWords kPatternInt32{"offset, channel_multiplier and the steps of pattern are int32",
                                         "use numbers from -2^31 to 2^31 - 1"};
inline constexpr RuleWords kPackedCopied{"packed dtypes are copied, never converted",
                                         "give dst the dtype of src, or reinterpret with .view()"};
inline constexpr RuleWords kVectorOffsetDge{"a vector offset needs software DGE",
                                            "leave dge_mode out, or use dge_mode.swdge"};
inline constexpr RuleWords kPriorityRange{"priority is 0 to 3", "0 is the highest priority, 3 the lowest"};
inline constexpr RuleWords kPriorityGeneration{"priority exists from gen4 on", "leave priority out below trn3"};
inline constexpr RuleWords kSrcAndDstShape{"src and dst have the same number of partitions and of free elements",
                                           "slice them to one shape"};
inline constexpr RuleWords kReduceResUsed{
    "reduce_res is given with a reduce_cmd other than idle, which leaves the accumulators undefined",
    "use reduce_cmd=reset_reduce"};
inline constexpr RuleWords kStarted{
    "reduce goes on from a reduction that was started and that no idle instruction undid",
    "start with reduce_cmd=reset_reduce or load_reduce", Mark::undocumented};
inline constexpr RuleWords kReduceInitColumn{"a reduce_init tile has one value per partition",
                                             "slice reduce_init to (P, 1)"};
inline constexpr RuleWords kSearchRank{"data and vals have at most 3 dimensions", "merge contiguous free dimensions"};
inline constexpr RuleWords kValsShape{"vals has the partitions of data and 8 elements in each",
                                      "pass the (P, 8) result of max8"};
inline constexpr RuleWords kProductShape{"dst has M partitions and N free elements",
                                         "allocate dst as (stationary free size, moving free size)"};
inline constexpr RuleWords kTileTogether{"tile_position and tile_size are given together", "give both or neither"};
inline constexpr RuleWords kAccumulateWritten{"accumulate=True needs PSUM that a matmul has written",
                                              "overwrite with the first matmul: accumulate=(k > 0)"};
inline constexpr RuleWords kReduceMaximum{"reduce_op is maximum", "reduce the result with tensor_reduce"};
inline constexpr RuleWords kSelectReduceCmd{"reduce_cmd is idle, reduce or reset_reduce",
                                            "reset belongs to the scalar engine, load_reduce to tensor_scalar_reduce"};
inline constexpr RuleWords kSelectStarted{
    "reduce goes on from a reduction that was started and that no idle instruction undid",
    "start with reduce_cmd=reset_reduce", Mark::undocumented};
inline constexpr RuleWords kOneOperatorMaximum{
    "a reduction goes on with the operator that it was started with, here maximum",
    "start with reduce_cmd=reset_reduce", Mark::undocumented};
inline constexpr RuleWords kOperatorsGeneration{"the operators exist on the target's generation",
                                                "abs_max and abs_min need trn3"};
inline constexpr RuleWords kScalarEngineScatter{"a scattered dst of the scalar engine is not in PSUM",
                                                "scatter into SBUF, or leave engine out"};
inline constexpr RuleWords kBitWidths{"a bit operator takes integers of one width in data and dst",
                                      "view the tiles as integers of one width"};
inline constexpr RuleWords kBitEngine{"bit operators run on the vector engine", "leave engine out"};

}  // namespace kiln::isa::words
