// Helpers of the passes: the straight line of instructions that a traced kernel is, and accesses that get another
// tensor.
#pragma once

#include <unordered_map>
#include <vector>

#include "kiln/isa/program.h"
#include "kiln/isa/uses.h"

namespace kiln::vendor {

// How often each tensor is written, by instructions anywhere in the program.
std::vector<std::uint32_t> writers_of(const isa::Program& program);

// Whether an access is the whole of its tensor, at a place that no loop and no register moves.
bool is_whole(const isa::Program& program, const isa::Access& access);
bool is_fixed(const isa::Program& program, const isa::Access& access);

// A tile that a kernel declares without saying where.
bool is_free_tile(const isa::Tensor& tensor, Memory memory);

// An argument as it was, by its index in Program::args.
struct ArgBefore {
  std::size_t index;
  isa::Arg arg;
};

// Lets an instruction use other tensors in place of its own: to[tensor], or the tensor itself where that is kNone.
// Returns the arguments that it changed.
std::vector<ArgBefore> use_instead(isa::Program& program, isa::InstructionId id, const std::vector<isa::TensorId>& to);

// First and last statement of the body that touches each tensor; first > last: none.
struct Span {
  std::uint32_t first = isa::kNone, last = 0;
};
std::vector<Span> spans_of(const isa::Program& program);

// The most bytes per partition that tensors in SBUF take at the same time, by their spans, those left out apart.
std::int64_t sbuf_peak(const isa::Program& program, const std::vector<Span>& spans, const std::vector<bool>& left_out);

}  // namespace kiln::vendor
