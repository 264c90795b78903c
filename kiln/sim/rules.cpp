#include "kiln/sim/rules.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "kiln/sim/machine.h"

namespace kiln::sim {
namespace {

constexpr RuleText kRules[] = {
    {"run.R1", "a value that reaches an output depends only on bytes that were written",
     "write the whole tile before using it (memset, or a full load), or store only the valid part"},
    {"run.R2", "an index, a predicate, a bound or a register depends only on bytes that were written",
     "initialise the tile completely, also the elements you do not need"},
    {"run.R3", "a run-time index stays inside its tensor (oob_mode error)",
     "check the index values, or pass oob_mode=oob_mode.skip to leave such rows alone"},
    {"run.R4", "a register is written before it is read", "give register_alloc a value, or register_load it first"},
    {"run.R5", "a dynamic loop ends",
     "check the condition register, or raise the limit: KILN_MAX_ITERATIONS, in C++ max_dynamic_iterations"},
    {"run.R6", "every input, output and inout tensor has a buffer of its exact size",
     "pass one array per tensor, with the shape and dtype that the program declares"},
    {"run.R7", "the cores of a pair meet: every sendrecv and core_barrier has its counterpart",
     "make both cores issue the same sequence of sendrecv (per pipe_id) and core_barrier calls"},
    {"run.R8", "a source and a destination do not overlap in part, at run-time addresses and on placed tensors",
     "copy through another tile"},
    {"run.R9", "an output is written completely",
     "write every element, make it smaller, or declare it inout when values of the caller are to stay"},
    {"run.R10", "a tensor that the cores of a pair share by name has the same partitions and bytes on each",
     "declare it alike in both programs, or give it another name in one of them"},
    {"run.R11", "accesses of the two cores of a pair to the same bytes are ordered when one of them writes",
     "put a core_barrier on the tensor between them, or let each core write its own part"},
    {"run.R12",
     "of a scale tile only the rows that hold scales reach an output: the rows between them are whatever the "
     "memory held, 0 in this run",
     "memset the scale tile before quantize_mx, or copy the 4 rows of scales of each quadrant"},
    {"run.R13", "a 32-bit integer that is computed with in float32 is one that float32 holds",
     "use bit operators and shifts, which keep all bits, or add, subtract and multiply on gpsimd with every "
     "tile a 32-bit integer; or split the value into halves of 16 bits, and of 12 bits for products"},
    {"run.R14", "an operand that a run-time offset moves starts at a partition that operand.R7 allows",
     "make the offset a multiple of 32 (64) partitions, or move the rows with a DMA"},
};

}  // namespace

std::span<const RuleText> run_rules() { return kRules; }

Diagnostic run_diagnostic(std::string_view code, std::string found) {
  for (const RuleText& r : kRules) {
    if (r.code != code) continue;
    Diagnostic d;
    d.code = r.code;
    d.rule = r.text;
    d.help = r.help;
    d.found = std::move(found);
    return d;
  }
  internal_error(__FILE__, __LINE__, "no rule " + std::string(code));
}

std::string float_bits_text(std::int64_t value) {
  constexpr std::int64_t kBitsOfOne = 0x3F800000, kBitsOfMillions = 0x4B800000;  // 2^24
  if (value < kBitsOfOne || value > kBitsOfMillions) return {};
  const auto number = std::bit_cast<float>(static_cast<std::int32_t>(value));
  if (number != std::trunc(number)) return {};
  return fmt::format(" (the bits of {:.1f} in float32: load it from an int32 tile)", number);
}

}  // namespace kiln::sim
