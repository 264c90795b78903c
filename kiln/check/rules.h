// The rules about a program as a whole.
#pragma once

#include "kiln/base/rule.h"

namespace kiln::check {

// Where on-chip tensors may lie, and whether all of them fit.
namespace memory_rules {
inline constexpr Rule kPartitions{
    1, "an on-chip tensor has at most 128 partitions; its first dimension is the partition dimension",
    "split the first dimension into tiles of at most 128, or move the surplus into a free dimension"};
inline constexpr Rule kSize{2, "an on-chip tensor is not larger than the memory it lives in",
                            "work on tiles of the data, and keep the whole of it in HBM"};
inline constexpr Rule kInside{
    3, "a tensor placed by hand lies inside its memory, partitions and bytes",
    "address=(first partition, byte offset inside each partition); make room or lower the address"};
inline constexpr Rule kStartPartition{
    4,
    "a tensor of more than 64 partitions starts at partition 0, of 33 to 64 at 0 or 64, of up to 32 at 0, 32, 64 or 96",
    "choose an allowed first partition"};
inline constexpr Rule kBank{5, "a tensor placed by hand in PSUM starts at a bank boundary, a multiple of 2048 bytes",
                            "use bank * 2048 as the byte offset; the offset counts bytes, not elements"};
inline constexpr Rule kAlignment{6, "the byte offset of a tensor placed by hand is a multiple of its element size",
                                 "round the offset up to the next multiple of the element size"};
inline constexpr Rule kClobbered{
    7,
    "bytes that two tensors placed by hand share are not read through the one after they were written through the "
    "other, when both have written them",
    "give the tensors separate addresses, or read the first one before the second one is written"};
inline constexpr Rule kCapacity{8, "the tensors that are alive at the same time fit into their memory",
                                "use smaller tiles, declare tensors inside the loop that uses them, shorten the time "
                                "between first and last use, or spill to HBM: kiln time --spill tells what that costs"};
inline constexpr Rule kPieces{
    9, "the tensors that are alive at the same time find room next to each other",
    "use tiles of equal size, put several small tensors into one, or place tensors by hand with address="};
inline constexpr Rule kHbm{10, "the tensors of a program fit into the HBM of its device",
                           "use smaller tensors, or split the work over devices"};

inline constexpr Rule kRules[] = {kPartitions, kSize,      kInside,   kStartPartition, kBank,
                                  kAlignment,  kClobbered, kCapacity, kPieces,         kHbm};
inline constexpr RuleTable kTable{"memory", "on-chip memory", kRules};
}  // namespace memory_rules

// The memories of inputs and outputs, registers.
namespace io_rules {
inline constexpr Rule kMemory{
    1, "inputs and outputs of a kernel are not private to one core: they live in hbm or shared_hbm",
    "declare the output with buffer=nl.shared_hbm and copy the result into it with dma_copy"};
inline constexpr Rule kRegisters{2, "no more registers are alive at the same time than a sequencer has",
                                 "reuse registers, or keep values in SBUF and load them where they are needed"};
inline constexpr Rule kOutput{3, "an output of a kernel lives in shared_hbm; hbm is private to one core",
                              "declare the output with buffer=nl.shared_hbm"};

inline constexpr Rule kRules[] = {kMemory, kRegisters, kOutput};
inline constexpr RuleTable kTable{"io", "inputs, outputs and registers of a program", kRules};
}  // namespace io_rules

// What becomes of values: legal, and hardly meant. All of them are warnings, but R5 where a run is sure to end in an
// error.
namespace flow_rules {
inline constexpr Rule kSumRead{1, "a sum in PSUM is read before it is overwritten",
                               "add to it: leave accumulate out, or pass accumulate=(k > 0); or read it first"};
inline constexpr Rule kSumEnds{
    2, "a sum that accumulate=None goes on adding to was not read in between",
    "allocate the PSUM tile inside the loop, or pass accumulate=False for the first product of each sum and True for "
    "the others"};
inline constexpr Rule kResultUsed{3, "a tile that is computed is read",
                                  "remove the instruction, or use its result: is another tile read in its place?"};
inline constexpr Rule kSharedWork{
    4, "the two cores of a pair share the work",
    "let nl.program_id(0) choose the part of the data that a core works on, or launch the "
    "kernel on one core"};

inline constexpr Rule kWrittenFirst{
    5, "a tile is written before it is read",
    "write it first (memset, or a load); is another tile meant, or accumulate=False for the first product of a sum?"};

inline constexpr Rule kRules[] = {kSumRead, kSumEnds, kResultUsed, kSharedWork, kWrittenFirst};
inline constexpr RuleTable kTable{"flow", "what becomes of values", kRules};
}  // namespace flow_rules

}  // namespace kiln::check
