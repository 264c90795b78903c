// Program: the waist of the hourglass. Tensors, instructions, loops. Whatever checks, runs, times, prints or
// emits a kernel does it from here; nothing here knows values, cycles, Python or the tensor compiler.
//
// A Program is flat: instructions, arguments, accesses and affine terms live in pools and refer to each other
// by index, so building a million of them allocates next to nothing. Static loops stay rolled: an access that
// moves with a loop has an offset that is affine in the loop's variable.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kiln/arch/arch.h"
#include "kiln/base/dtype.h"
#include "kiln/base/error.h"
#include "kiln/isa/opcode.h"

namespace kiln::isa {

using TensorId = std::uint32_t;
using LoopId = std::uint32_t;
using RegisterId = std::uint32_t;
using InstructionId = std::uint32_t;
using LocId = std::uint32_t;  // 0 is "unknown"
inline constexpr std::uint32_t kNone = 0xffffffffu;
inline constexpr int kMaxRank = 8;         // of tensors and views in HBM
inline constexpr int kMaxOperandRank = 5;  // on chip, and of what an instruction takes: partition + 4 free dims
constexpr int max_rank(bool on_chip) { return on_chip ? kMaxOperandRank : kMaxRank; }

enum class Role : std::uint8_t { internal, input, output, inout };
const char* name(Role role);

// Where a kernel placed a tensor by hand: first partition and byte offset inside each partition.
struct Address {
  std::int64_t partition, byte_offset;
  bool operator==(const Address&) const = default;
};

struct Tensor {
  std::string name;
  Memory memory;
  DType dtype;
  Role role = Role::internal;
  std::vector<std::int64_t> shape;
  std::optional<Address> address;
  LocId loc = 0;
  bool operator==(const Tensor&) const = default;

  std::int64_t size() const;        // elements
  std::int64_t partitions() const;  // shape[0] on chip, 1 in HBM
  std::int64_t free_size() const;   // elements of one partition; all of them in HBM
  std::int64_t bytes_per_partition() const { return free_size() * size_bytes(dtype); }
};

// constant + sum of coefficient * loop variable.
struct Term {
  LoopId loop;
  std::int64_t coefficient;
  bool operator==(const Term&) const = default;
};
struct Affine {
  std::int64_t constant = 0;
  std::uint32_t first_term = 0, term_count = 0;
};

struct Dim {
  std::int64_t stride, count;
  bool operator==(const Dim&) const = default;
};

// The part of an address that is known only at run time.
//   scalar:   adds value * scale elements; the value is a register or a one-element SBUF tile.
//   vector:   row w of the access starts at value[w] * scale elements; HBM only. Dim 0's stride is not used.
//   indirect: free element i of partition p is free element value[...] of the tensor; on chip only.
struct Dynamic {
  enum class Kind : std::uint8_t { scalar_register, scalar_tile, vector, indirect };
  Kind kind;
  std::uint32_t source;  // RegisterId, or index of the Access that holds the values
  std::int64_t scale = 1;
};

// A tensor seen through a pattern. Dim 0 is the partition dimension on chip (stride 1, in partitions); all
// other strides and the offset count elements of `dtype` (which may reinterpret the tensor's bytes).
struct Access {
  TensorId tensor = kNone;
  DType dtype = DType::float32;
  std::uint8_t rank = 0;
  std::uint32_t dynamic = kNone;  // index into Program::dynamics
  Affine partition;               // on chip only
  Affine offset;
  Dim dims[kMaxRank] = {};

  std::int64_t count() const;                                     // elements
  std::int64_t rows() const { return rank ? dims[0].count : 1; }  // partitions on chip
  std::int64_t row_size() const;                                  // elements per row
};

// One argument of an instruction, in the order of the table's parameters.
struct Arg {
  enum class Kind : std::uint8_t { none, access, accesses, integer, real, boolean, enumerator, integers, reals, reg };
  Kind kind = Kind::none;
  std::uint32_t count = 0;  // of accesses, integers, reals
  union {
    std::int64_t integer = 0;  // also boolean and enumerator
    double real;
    std::uint32_t index;  // first access, integer or real in its pool; register
  };
};

struct Instruction {
  Opcode opcode;
  LocId loc = 0;
  std::uint32_t first_arg = 0;                 // as many args as the table has parameters
  std::uint32_t name = kNone;                  // index into Program::strings
  std::uint32_t first_dep = 0, dep_count = 0;  // InstructionIds in Program::deps that must run before
  // nl.load and nl.store made it, which leave queue and descriptors to the compiler. For timing only: text forgets it.
  bool left_open = false;
  std::uint16_t together = 1;  // so many like it run as one; for timing only, too
};

// A statement of a block.
struct Node {
  enum class Kind : std::uint8_t { instruction, loop, declare };
  Kind kind;
  std::uint32_t index;  // InstructionId, LoopId, TensorId
  bool operator==(const Node&) const = default;
};
using Block = std::vector<Node>;

// static_for: variable takes lower, lower+step, … below upper, known now. dynamic_for: the same on a
// register, bounds are integers or registers. dynamic_while: repeats while the register is nonzero.
struct Bound {
  bool is_register = false;
  std::int64_t value = 0;  // the integer or the RegisterId
};
struct Loop {
  enum class Kind : std::uint8_t { static_for, dynamic_for, dynamic_while };
  static constexpr std::int64_t kUnsaid = std::numeric_limits<std::int64_t>::min();
  Kind kind = Kind::static_for;
  std::string variable;
  RegisterId reg = kNone;  // dynamic loops: the induction or condition register
  Bound lower, upper;
  std::int64_t step = 1;
  std::int64_t usual = kUnsaid;  // dynamic loops: passes that timing counts with unless it is told how many there are
  Block body;
  LocId loc = 0;
  std::int64_t trip_count() const;  // static loops
};

// A loop of nl.affine_range as it was traced: its passes stand one after the other. For timing only: text forgets it.
struct TracedLoop {
  InstructionId first, end;
  std::int64_t passes;
};

struct Register {
  std::string name;
  bool frozen = false;  // induction registers may not be written
};

// NKI 0.n.0 whose values a program means.
inline constexpr int kOldestNki = 3, kNewestNki = 6;

struct Program {
  std::string name = "kernel";
  Target target = Target::trn2;
  int nki = kNewestNki;
  int lnc = 1;            // 2: one of the two programs of a logical core pair
  bool fragment = false;  // inputs and outputs may live on chip: pieces of kernels, for tests and experiments
  std::vector<Tensor> tensors;
  std::vector<Instruction> instructions;
  std::vector<Loop> loops;
  std::vector<Register> registers;
  std::vector<TracedLoop> traced_loops;  // inner ones before those around them
  Block body;

  std::vector<Arg> args;
  std::vector<Access> accesses;
  std::vector<Dynamic> dynamics;
  std::vector<Term> terms;
  std::vector<std::int64_t> integers;
  std::vector<double> reals;
  std::vector<InstructionId> deps;
  std::vector<std::string> strings;
  std::vector<SourceLoc> locs{SourceLoc{}};

  const Arg& arg(const Instruction& inst, int param) const { return args[inst.first_arg + param]; }
  std::span<const Term> terms_of(const Affine& a) const { return {terms.data() + a.first_term, a.term_count}; }
  LocId add_loc(const SourceLoc& loc);  // reuses the last one when equal
};

// The access that covers the whole of a tensor.
Access whole(const Program& program, TensorId tensor);

// Smallest and largest value of an affine expression over the loops it depends on.
struct Range {
  std::int64_t min, max;
};
Range range_of(const Program& program, const Affine& affine);

// The largest and smallest element offset (row-relative on chip) that an access touches, without its dynamic
// part.
Range element_range(const Program& program, const Access& access);

}  // namespace kiln::isa
