// Facts: what models and machines ask of an instruction besides its check, run, track and cost. The instruction's file
// answers, so whoever asks knows neither the instruction's name nor the names of its parameters. Whatever a file leaves
// out says "nothing special".
#pragma once

#include <cstdint>
#include <optional>

#include "kiln/arch/arch.h"
#include "kiln/num/op.h"

namespace kiln::isa {

class InstView;
class Gathering;

// What an instruction of the tensor engine multiplies.
struct Product {
  double macs = 0;  // multiply-adds that the sums in its destination are made of
  // Floating-point operations at their cost in bfloat16 operations: a float32 one counts matmul_fp32_passes times, as
  // in the vendor's profiler. A transpose is a product with an identity.
  double flops = 0;
  bool is_matmul = false;  // the vendor's profiler counts it as one
  bool transposes = false;
};

// The part of the tensor engine's array that an instruction asks for.
struct ArrayTile {
  std::int64_t row, column, rows, columns;
};

// What a product does with the sum that lies in its destination. `infers`: adds to what a product has left there, and
// begins anew on anything else.
enum class SumMode : std::uint8_t { overwrites, adds, infers };

// The tiles that travel when two cores meet in an instruction, and the number that tells apart meetings under way at
// once. Parameter positions.
struct Exchange {
  int sent = -1, received = -1, to = -1, channel = -1;
};

// An instruction in which ranks meet. Parameter positions.
struct Collective {
  int sent = -1, received = -1;       // lists of tiles
  int groups = -1;                    // which ranks meet
  bool by_pairs = false;              // `groups` are pairs of source and target, and all ranks that they name meet
  bool by_channel = false;            // Python has a list of one tile for each channel
  bool own_sizes = false;             // the tiles of the ranks may differ in size
  void (*exchange)(Gathering&) = {};  // makes what is received of what is sent
  // Steps one after the other, and bytes over the busiest link, among `ranks` with `bytes` in what each sends.
  struct Traffic {
    Route route;
    double steps, bytes;
  };
  Traffic (*traffic)(int ranks, double bytes) = {};
};

// A set of parameters, one bit per position.
using ParamSet = std::uint64_t;
constexpr ParamSet param_bit(int param) { return ParamSet{1} << param; }

struct Facts {
  // Parameter positions; -1: none.
  int stationary = -1;     // loaded by the tensor engine before the instruction begins
  int moving = -1;         // streamed through what was loaded
  int argument = -1;       // what the scalar engine's function is applied to
  int copies = -1;         // carried to the result byte by byte, without being looked at
  int sets_register = -1;  // a register that it sets
  Exchange exchange = {};
  const Collective* collective = nullptr;  // ranks meet in it
  // Sources that may be the very elements of the result (InstructionInfo::result): it reads an element of theirs for
  // the last time before it writes that element.
  ParamSet in_place = 0;

  bool declares_register = false;  // the one that it sets begins here
  bool meets = false;              // the two cores of a pair wait for each other in it, or ranks do
  bool writes_some = false;        // elements of its results may stay as they are
  bool walks = false;              // map_rows or map_and_fold alone write its result, when that has floats (run.h)
  bool takes_index_tiles = false;  // a vector offset may have several indices in a row

  // The set of functions that the scalar engine must have loaded, -1 when any will do. Null: any.
  int (*table)(const InstView&) = nullptr;
  // The parameter whose values the result has, as `copies`, but through arithmetic; -1: none.
  int (*repeats)(const InstView&) = nullptr;
  // The result is one row in every partition.
  bool (*spreads_row)(const InstView&) = nullptr;
  // The function with which the scalar engine computes the same of parameter `of_function`. Null: none.
  std::optional<ActFn> (*function)(const InstView&) = nullptr;
  int of_function = -1;
  // It is x * a + b with a and b numbers or columns, which the scalar engine's functions compute of their argument on
  // every generation. Null: no.
  bool (*multiply_add)(const InstView&) = nullptr;
  // The result is all zeros.
  bool (*zeroes)(const InstView&) = nullptr;
  // The register that it sets has a value then. Null: yes.
  bool (*gives_value)(const InstView&) = nullptr;
  // It reads all elements before it writes one. Null: no.
  bool (*reads_first)(const InstView&) = nullptr;
  Product (*product)(const InstView&, const Arch&) = nullptr;
  // Of an instruction that leaves sums in PSUM. Null: it leaves none.
  SumMode (*sum_mode)(const InstView&) = nullptr;
  std::optional<ArrayTile> (*array_tile)(const InstView&) = nullptr;  // null or nothing: the whole array
  // Throws the Error of a rule that only two cores together can break, when `ours`, on core `core`, meets `theirs`.
  void (*check_meeting)(const InstView& ours, int core, const InstView& theirs, const Arch&) = nullptr;
};

}  // namespace kiln::isa
