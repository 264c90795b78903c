// Another order of a program's instructions, in which less is alive at once.
#pragma once

#include <array>

#include "kiln/arch/arch.h"
#include "kiln/isa/program.h"

namespace kiln::check {

// Which instruction goes first of those that fill memory: the one that is written first, or the one whose value the
// program's results need first. Those that free memory never wait.
enum class FillOrder { written, needed };
inline constexpr std::array kFillOrders = {FillOrder::written, FillOrder::needed};

// The vendor's compiler keeps the order of what depends on each other and may change any other. Two statements of a
// block keep their order when one writes a tensor that the other uses, when both use a register, the same hidden state
// of an engine or tensors that were placed by hand, when the program states a dependency, and when the cores of a pair
// meet between them. Statements stay in their loop, and tensors in the block that declares them. `memories`: those in
// which room is short, as bits.
constexpr unsigned memory_bit(Memory memory) { return 1u << static_cast<int>(memory); }
isa::Program reordered(const isa::Program& program, unsigned memories, FillOrder fill);

}  // namespace kiln::check
