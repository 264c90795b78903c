#include "kiln/check/rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kiln::check {
namespace {

constexpr RuleText kMemoryRules[] = {
    {"memory.R1", "an on-chip tensor has at most 128 partitions; its first dimension is the partition dimension",
     "split the first dimension into tiles of at most 128, or move the surplus into a free dimension"},
    {"memory.R2", "an on-chip tensor is not larger than the memory it lives in",
     "work on tiles of the data, and keep the whole of it in HBM"},
    {"memory.R3", "a tensor placed by hand lies inside its memory, partitions and bytes",
     "address=(first partition, byte offset inside each partition); make room or lower the address"},
    {"memory.R4",
     "a tensor of more than 64 partitions starts at partition 0, of 33 to 64 at 0 or 64, of up to 32 at 0, "
     "32, 64 or 96",
     "choose an allowed first partition"},
    {"memory.R5", "a tensor placed by hand in PSUM starts at a bank boundary, a multiple of 2048 bytes",
     "use bank * 2048 as the byte offset; the offset counts bytes, not elements"},
    {"memory.R6", "the byte offset of a tensor placed by hand is a multiple of its element size",
     "round the offset up to the next multiple of the element size"},
    {"memory.R7",
     "bytes that two tensors placed by hand share are not read through the one after they were written "
     "through the "
     "other, when both have written them",
     "give the tensors separate addresses, or read the first one before the second one is written"},
    {"memory.R8", "the tensors that are alive at the same time fit into their memory",
     "use smaller tiles, declare tensors inside the loop that uses them, shorten the time between first and "
     "last use, or "
     "spill to HBM"},
    {"memory.R9", "the tensors that are alive at the same time find room next to each other",
     "use tiles of equal size, put several small tensors into one, or place tensors by hand with address="},
    {"memory.R10", "the tensors of a program fit into the HBM of its device",
     "use smaller tensors, or split the work over devices"},
};

constexpr RuleText kIoRules[] = {
    {"io.R1", "inputs and outputs of a kernel are not private to one core: they live in hbm or shared_hbm",
     "declare the output with buffer=nl.shared_hbm and copy the result into it with dma_copy"},
    {"io.R2", "no more registers are alive at the same time than a sequencer has",
     "reuse registers, or keep values in SBUF and load them where they are needed"},
    {"io.R3", "an output of a kernel lives in shared_hbm; hbm is private to one core",
     "declare the output with buffer=nl.shared_hbm"},
};

}  // namespace

std::span<const RuleText> memory_rules() { return kMemoryRules; }
std::span<const RuleText> io_rules() { return kIoRules; }

Diagnostic broken_rule(std::span<const RuleText> rules, int number, const SourceLoc& loc) {
  const RuleText& rule = rules[static_cast<std::size_t>(number - 1)];
  Diagnostic d;
  d.code = rule.code;
  d.rule = rule.text;
  d.help = rule.help;
  d.loc = loc;
  return d;
}

std::string title(const isa::Tensor& tensor) { return fmt::format("{} tensor `{}`", name(tensor.memory), tensor.name); }

std::string type_text(const isa::Tensor& tensor) {
  return fmt::format("{} ({})", name(tensor.dtype), fmt::join(tensor.shape, ", "));
}

}  // namespace kiln::check
