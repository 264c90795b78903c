// Run-time rules of the machine.
#pragma once

#include <cstdint>
#include <string>

#include "kiln/base/rule.h"

namespace kiln::sim {

namespace run_rules {
inline constexpr Rule kWrittenResults{
    1, "a value that reaches an output depends only on bytes that were written",
    "write the whole tile before using it (memset, or a full load), or store only the valid part"};
inline constexpr Rule kWrittenChoices{
    2, "an index, a predicate, a bound or a register depends only on bytes that were written",
    "initialise the tile completely, also the elements you do not need"};
inline constexpr Rule kIndexInside{3, "a run-time index stays inside its tensor (oob_mode error)",
                                   "check the index values, or pass oob_mode=oob_mode.skip to leave such rows alone"};
inline constexpr Rule kRegisterWritten{4, "a register is written before it is read",
                                       "give register_alloc a value, or register_load it first"};
inline constexpr Rule kLoopEnds{
    5, "a loop ends, and all loops of a core together go round at most so many times",
    "check the condition register or the bounds, or raise the limit: --max-passes, KILN_MAX_ITERATIONS, in C++ "
    "max_passes"};
inline constexpr Rule kBuffers{6, "every input, output and inout tensor has a buffer of its exact size",
                               "pass one array per tensor, with the shape and dtype that the program declares"};
inline constexpr Rule kCoresMeet{
    7, "the cores of a pair meet: every sendrecv and core_barrier has its counterpart",
    "make both cores issue the same sequence of sendrecv (per pipe_id) and core_barrier calls"};
inline constexpr Rule kOverlap{
    8, "a source and a destination do not overlap in part, at run-time addresses and on placed tensors",
    "copy through another tile"};
inline constexpr Rule kWholeOutput{
    9, "an output is written completely",
    "write every element, make it smaller, or declare it inout when values of the caller are to stay"};
inline constexpr Rule kSharedTensor{
    10, "a tensor that the cores of a pair share by name has the same partitions and bytes on each",
    "declare it alike in both programs, or give it another name in one of them"};
inline constexpr Rule kOrderedAccess{
    11, "accesses of the two cores of a pair to the same bytes are ordered when one of them writes",
    "put a core_barrier on the tensor between them, or let each core write its own part"};
inline constexpr Rule kScaleRows{
    12,
    "of a scale tile only the rows that hold scales reach an output: the rows between them are whatever the memory "
    "held, 0 in this run",
    "memset the scale tile before quantize_mx, or copy the 4 rows of scales of each quadrant"};
inline constexpr Rule kExactIntegers{
    13, "a 32-bit integer that is computed with in float32 is one that float32 holds",
    "use bit operators and shifts, which keep all bits, or add, subtract and multiply on gpsimd with every tile a "
    "32-bit integer; or split the value into halves of 16 bits, and of 12 bits for products"};
inline constexpr Rule kStartPartition{
    14, "an operand that a run-time offset moves starts at a partition that operand.R7 allows",
    "make the offset a multiple of 32 (64) partitions, or move the rows with a DMA"};

inline constexpr Rule kFiniteResult{
    15, "the result of numbers is a number: no NaN of operands that are not NaN, no infinity of finite ones",
    "look at the operands: a division by 0, the exp of a large number (subtract the maximum first), inf - inf, or 0 * "
    "inf; --nan off, in Python KILN_NAN=off, when it is meant"};
inline constexpr Rule kFitsRange{
    16, "a number fits the range of the float16 or fp8 tile that it is written to",
    "scale it before it is converted, clamp it with minimum and maximum, or keep it in bfloat16 or float32"};

inline constexpr Rule kRanksMeet{
    17,
    "the ranks of a replica group enter the same collectives in the same order, with the same attributes and shapes",
    "make every rank of the group issue the same sequence of collectives"};
inline constexpr Rule kOwnDestination{
    18,
    "a collective does not write a destination of an earlier one while a rank may still use it: entering a collective "
    "does not wait for the ranks that receive",
    "give each collective a destination of its own, or use two in turn with another collective between them"};

inline constexpr Rule kRules[] = {kWrittenResults, kWrittenChoices, kIndexInside,   kRegisterWritten, kLoopEnds,
                                  kBuffers,        kCoresMeet,      kOverlap,       kWholeOutput,     kSharedTensor,
                                  kOrderedAccess,  kScaleRows,      kExactIntegers, kStartPartition,  kFiniteResult,
                                  kFitsRange,      kRanksMeet,      kOwnDestination};
inline constexpr RuleTable kTable{"run", "a program while it runs", kRules};
}  // namespace run_rules

}  // namespace kiln::sim
