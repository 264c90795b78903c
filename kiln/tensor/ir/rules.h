// What a tensor program has to keep to.
#pragma once

#include "kiln/base/rule.h"

namespace kiln::tensor::rules {

inline constexpr Rule kOperands{1, "an op has the operands and attributes of its row in the table of ops",
                                "see docs/compiler.md for the ops and their attributes"};
inline constexpr Rule kBroadcast{2,
                                 "shapes of elementwise operands broadcast: aligned at the right, extents equal or 1",
                                 "reshape an operand, or insert dimensions of extent 1"};
inline constexpr Rule kPromotion{3, "operands have a dtype in which they meet (NumPy 2, without 64-bit types)",
                                 "cast one of them"};
inline constexpr Rule kDtype{4, "the op takes operands of this dtype", "cast the operand"};
inline constexpr Rule kAxis{5, "an axis is a dimension of the operand, named once",
                            "count from 0, or from -1 at the end"};
inline constexpr Rule kReshape{6, "a reshape keeps the number of elements", "correct the shape"};
inline constexpr Rule kPermutation{7, "a permutation names every dimension once", "name each dimension once"};
inline constexpr Rule kSlice{8, "a slice stays inside its operand", "correct starts, sizes and steps"};
inline constexpr Rule kMatmul{9, "the last dimension of x is as long as the last but one of y, and batches broadcast",
                              "transpose or reshape an operand"};
inline constexpr Rule kEmpty{10, "max, min, argmax and argmin have at least one element", "leave the empty tensor out"};
inline constexpr Rule kConcat{11, "tensors that are joined differ along the axis only", "reshape or cast them first"};
inline constexpr Rule kIndex{12, "indices are integers of the shape that the op asks for",
                             "cast or reshape the indices"};
inline constexpr Rule kNames{13, "inputs and outputs have names of their own", "rename one"};
inline constexpr Rule kShape{14, "extents are not negative", "correct the shape"};
inline constexpr Rule kChip{15, "dtypes are those that the chip computes with", "use a 32-bit, 16-bit or 8-bit type"};
inline constexpr Rule kNumber{16, "a number fits the dtype of the tensor beside it", "cast the tensor first"};
inline constexpr Rule kNotYet{17, "the compiler has no instructions for this op yet",
                              "write this part with the kernel builder, or as an NKI kernel"};
inline constexpr Rule kText{18, "the text is a tensor program in the form of docs/compiler.md", "correct the line"};

inline constexpr Rule kBody{19, "a body takes what the op gives it, and gives back results of the op's types",
                            "correct the inputs and outputs of the body"};

inline constexpr Rule kWindow{20, "windows fit the dimensions that they slide over, and channels their groups",
                              "correct window, strides, borders and groups"};

inline constexpr Rule kRankGroups{21, "groups of ranks are of one length, and each rank stands in one of them",
                                  "list every rank once, from 0 on"};
inline constexpr Rule kRankPairs{22, "a permutation has a source and a target for each of its ranks, each once",
                                 "let every rank that sends receive, as around a ring"};
inline constexpr Rule kRankParts{23, "what is shared among ranks has an extent that their number divides",
                                 "pad the tensor, or share it along another axis"};

inline constexpr Rule kRanksTogether{24,
                                     "ranks that meet in a branch or a loop take the same branch and as many passes",
                                     "decide by what all of them have: an all_reduce of the condition"};

inline constexpr Rule kRankCounts{25, "what is sent lies in src, and what arrives fits its place in dst",
                                  "make dst ranks x largest part, and look at counts and displacements"};
inline constexpr Rule kRankChannels{26, "a step around a ring has 1 to 4 channels, and an element for each of them",
                                    "leave the channels out"};
inline constexpr Rule kRankStep{27, "steps around a ring count from 0", "count from 0, as a loop does"};

inline constexpr Rule kSize{28, "tensors have at most 2^40 elements, and what a program takes and gives fits HBM",
                            "work on parts of it"};

inline constexpr Rule kRules[] = {kOperands,    kBroadcast,    kPromotion,  kDtype,     kAxis,      kReshape,
                                  kPermutation, kSlice,        kMatmul,     kEmpty,     kConcat,    kIndex,
                                  kNames,       kShape,        kChip,       kNumber,    kNotYet,    kText,
                                  kBody,        kWindow,       kRankGroups, kRankPairs, kRankParts, kRanksTogether,
                                  kRankCounts,  kRankChannels, kRankStep,   kSize};
inline constexpr RuleTable kTable{"tensor", "tensor programs", kRules};

}  // namespace kiln::tensor::rules
