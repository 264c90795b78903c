// The rules of a Program's structure.
#pragma once

#include "kiln/base/rule.h"

namespace kiln::isa::program_rules {

inline constexpr Rule kIndices{1, "Every index in a program refers to something that exists.",
                               "this is a fault of the code that built the program"};
inline constexpr Rule kOnce{
    2, "Every instruction and every loop stands in exactly one block, and every tensor is declared in exactly one.",
    "this is a fault of the code that built the program"};
inline constexpr Rule kNames{3, "Every tensor and every register has a name that no other one has.",
                             "rename one of the two"};
inline constexpr Rule kScope{
    4, "A tensor is used after its declaration, in the block that declares it or inside that block's loops.",
    "declare the tensor before the loop"};
inline constexpr Rule kShape{5, "A tensor has 1 to 8 positive dimensions, on chip 2 to 5, and at most 2^48 elements.",
                             "reshape the tensor; on chip the first dimension is the partition dimension"};
inline constexpr Rule kPattern{6,
                               "A pattern has 1 to 8 dimensions with positive counts, on chip 2 to 5 with a partition "
                               "stride of 1; only on chip does it choose partitions.",
                               "give every dimension of the pattern a positive count"};
inline constexpr Rule kBounds{7, "An access stays inside its tensor in every iteration of its loops.",
                              "shrink the pattern, its offset or the loop"};
inline constexpr Rule kPartitions{
    8, "The partitions of an access are partitions of its tensor in every iteration of its loops.",
    "shrink the partition range or the loop"};
inline constexpr Rule kVariable{9, "An offset depends on enclosing static loops only, in at most 64 terms.",
                                "use the variable inside its loop, or a register with scalar_offset"};
inline constexpr Rule kLoop{10,
                            "A loop has a positive step and bounds of 32 bits; a static loop's bounds are integers.",
                            "correct the range of the loop"};
inline constexpr Rule kDepth{11, "Loops nest at most 64 deep.", "merge or unroll loops"};
inline constexpr Rule kLoopRegister{12, "A dynamic loop has a register.", "declare a register for the loop"};
inline constexpr Rule kFrozen{13, "An instruction does not write a frozen register.",
                              "copy the induction register with register_move and change the copy"};
inline constexpr Rule kEarlier{14, "An instruction waits only for earlier instructions.",
                               "move the producer before the consumer"};
inline constexpr Rule kInward{15,
                              "An instruction does not wait for one inside a dynamic loop that it is not in itself.",
                              "wait for an instruction outside the dynamic loop"};
inline constexpr Rule kIoMemory{16, "Inputs and outputs lie in HBM, unless the program is a fragment.",
                                "copy between HBM and the chip with dma_copy, or mark the program as a fragment"};
inline constexpr Rule kIoScope{17, "Inputs and outputs are declared outside all loops.",
                               "declare the tensor before the loop"};
inline constexpr Rule kRequired{18, "A required parameter has a value.", "give the argument"};
inline constexpr Rule kKind{19, "A value is of the kind that its parameter takes.",
                            "see the instruction's manual page"};
inline constexpr Rule kQuery{20, "A query of the target is answered while the kernel is built and is no instruction.",
                             "use the answer instead"};
inline constexpr Rule kInput{21, "An input is never written.", "write an output, or declare the tensor inout"};
inline constexpr Rule kOutput{22, "An output is written by some instruction.",
                              "write it, with dma_copy or nl.store, or do not return it"};
inline constexpr Rule kDynamic{23,
                               "A run-time offset comes from a register or from a tile with an address known before; "
                               "vector offsets are for HBM, indirect ones for the chip.",
                               "load the index into an SBUF tile first"};
inline constexpr Rule kLnc{24, "A logical core has 1 or 2 cores, and 1 where the generation has no pairs (gen2).",
                           "set lnc to 1 (kernel[1] in Python), or choose a target with pairs: trn2 or trn3"};

inline constexpr Rule kRules[] = {kIndices,  kOnce,     kNames, kScope,        kShape,  kPattern, kBounds,  kPartitions,
                                  kVariable, kLoop,     kDepth, kLoopRegister, kFrozen, kEarlier, kInward,  kIoMemory,
                                  kIoScope,  kRequired, kKind,  kQuery,        kInput,  kOutput,  kDynamic, kLnc};
inline constexpr RuleTable kTable{"program", "the structure of a program", kRules};

}  // namespace kiln::isa::program_rules
