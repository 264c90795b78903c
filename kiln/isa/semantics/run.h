// Run: what an instruction's `run` sees: its operands as tiles, its attributes, the row kernels and the
// engine's hidden state. `run` defines the values; it reads all inputs of an element before it writes that
// element.
#pragma once

#include <array>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "kiln/base/function_ref.h"
#include "kiln/isa/inst_view.h"
#include "kiln/isa/semantics/engine_state.h"
#include "kiln/isa/semantics/pass.h"
#include "kiln/isa/semantics/tile.h"
#include "kiln/isa/semantics/track.h"
#include "kiln/num/kernels.h"

namespace kiln::isa {

// Integers that float32 cannot hold all of.
constexpr bool is_wide_integer(DType t) { return is_integer(t) && size_bytes(t) == 4; }

// An instruction that is executed: `sequence` counts them.
struct Execution {
  std::int64_t sequence;
  const Instruction* inst;
  const PassSource* loops;
};

// Warnings of instructions that run on any thread, one per rule and instruction: the one that program order
// meets first, in program order.
class WarningSink {
 public:
  struct Warning {
    Diagnostic diagnostic;
    const Instruction* inst;
    Pass pass;
  };
  // Adds what make() returns, unless the instruction has this warning from an earlier execution.
  void add(const Execution& execution, int number, FunctionRef<Diagnostic()> make);
  std::vector<Warning> take();

 private:
  struct Entry {
    std::int64_t sequence;
    int number;
    Warning warning;
  };
  std::mutex mutex_;
  std::map<std::pair<const Instruction*, int>, Entry> found_;
};

inline constexpr int kMaxTiles = 18;  // dma_compute: a destination and 16 sources

// The largest magnitude among the elements that were written to a tile, taken while they are in the first cache. It
// says something when `elements` is the count of the tile: each was written once, by a walk that fills it in.
struct Seen {
  const std::byte* data = nullptr;  // of the tile
  std::uint32_t largest = 0;        // as Kernels::largest has it
  std::int64_t elements = 0;

  // The same of what lay in the tile until it was written over, when someone asks. In a piece with a magnitude from
  // `extreme` on, all elements are kept: `bits` has those of the tile in row-major order, or none, and 0 elsewhere.
  struct Before {
    bool asked = false;
    std::uint32_t extreme = 0;
    std::uint32_t largest = 0;
    std::int64_t elements = 0;
    std::vector<std::uint32_t> bits;
  } before = {};
};

class Run : public InstView {
 public:
  Run(const Program& program, const Instruction& inst, const Arch& arch, Engine engine, const Kernels& kernels,
      EngineState& state)
      : InstView(program, inst), k(kernels), arch_(&arch), engine_(engine), state_(&state) {}

  const Kernels& k;
  const Arch& arch() const { return *arch_; }
  Engine engine() const { return engine_; }
  EngineState& state() const { return *state_; }

  // Operands. A scalar-or-tile parameter has a tile only when is_tile(param).
  const Tile& tile(int param) const { return tiles_[slot_[param]]; }
  std::span<const Tile> tiles(int param) const { return {tiles_ + slot_[param], arg(param).count}; }

  // One value per partition: element 0 of row p of a (P, 1) tile, or the number, or `otherwise` when not
  // given.
  float column(int param, std::int64_t row, float otherwise = 0.0f) const;
  // An IntOrReg attribute: the integer, or what the register held when the instruction was issued.
  std::int64_t integer_or_register(int param) const { return is_register(param) ? register_value : integer(param); }

  Execution execution() const { return {sequence, &inst_, loops}; }

  // A rule that only values can break.
  [[noreturn]] void fail(const Rule& rule, std::string found) const;
  // The same where the manual leaves the result open: reported once per instruction, never in the way.
  void warn(const Rule& rule, const std::string& found) const;

  // Set by the issuer.
  std::int64_t sequence = 0;  // position among the executed instructions
  const PassSource* loops = nullptr;
  std::int64_t register_value = 0;
  std::int64_t rank_number = 0;  // of the rank that runs, in its launch
  WarningSink* warnings = nullptr;
  bool inputs_written = true;  // false: some inputs hold garbage, so rules about values say nothing
  PsumMode psum_mode = PsumMode::overwrite;
  const std::uint8_t* psum_add = nullptr;  // per_element: row-major (rows x free), 1 = add
  std::uint32_t* registers = nullptr;      // register file; register_* instructions only
  Seen* seen = nullptr;                    // null: nobody asks
  Soon soon;                               // what instructions that follow read from HBM, for products
  unsigned kept_state = ~0u;               // StateBits of the engines that an instruction may go on from
  Tile& add_tile(int param);               // in parameter order; the caller fills it

 private:
  const Arch* arch_;
  Engine engine_;
  EngineState* state_;
  std::array<std::uint8_t, 16> slot_;
  Tile tiles_[kMaxTiles];
  int tile_count_ = 0, last_param_ = -1;
};

// A piece of a row as float32: `in[i]` from the i-th input tile, `out` where results go.
struct RowChunk {
  std::int64_t row, first;
  std::size_t n;
  const float* in[3];
  float* out;
  std::int64_t width = 0;  // tiles of short rows: the elements of whole rows, so many in each, from `row` on
  std::uint32_t* largest = nullptr;

  // For a body whose last kernel writes to `out` and says of what magnitude it was: it need not be read again.
  void tell(std::uint32_t magnitude) const {
    if (largest) *largest = magnitude;
  }
};

// Walks dst and inputs of the same shape in pieces: converts inputs to float32 (or points straight at them),
// calls body, converts `out` to dst's dtype. With `by_row` a piece never spans rows; without, dense tiles are
// walked as one long row and `row`/`first` of the chunk mean nothing. `by_rows`: like by_row, but short rows come many
// at a time, and the body uses apply_operand for what differs by row.
enum class Walk : std::uint8_t { anyhow, by_row, by_rows };
void map_rows(const Run& r, const Tile& dst, std::initializer_list<const Tile*> inputs, Walk walk,
              FunctionRef<void(const RowChunk&)> body);

// op(x, operand) of a piece, or op(operand, x) with `swapped`, where the parameter `operand` is a number or a column.
// Returns the largest magnitude of what it wrote.
std::uint32_t apply_operand(const Run& r, AluOp op, bool swapped, const RowChunk& c, const float* x, int operand,
                            float* out, float otherwise = 0.0f);

// Like map_rows by row, or by rows where the body can, and folds each row's float32 results into acc[row] in ascending
// order.
void map_and_fold(const Run& r, const Tile& dst, std::initializer_list<const Tile*> inputs, AluOp op, float* acc,
                  FunctionRef<void(const RowChunk&)> body, Walk walk = Walk::by_row);

// Free elements [first, first + n) of row r as float32: a pointer into the tile when it is contiguous
// float32, else `scratch` filled.
const float* load_row(const Run& r, const Tile& tile, std::int64_t row, std::int64_t first, std::size_t n,
                      float* scratch);
void store_row(const Run& r, const Tile& tile, std::int64_t row, std::int64_t first, std::size_t n,
               const float* values);
// The same of a row with raw bits, zero-extended.
void load_row_bits(const Run& r, const Tile& tile, std::int64_t row, std::int64_t first, std::size_t n,
                   std::uint32_t* out);
void store_row_bits(const Run& r, const Tile& tile, std::int64_t row, std::int64_t first, std::size_t n,
                    const std::uint32_t* bits);
// The same as they are in memory: a pointer into the tile when they lie one after the other, else `scratch` filled.
const void* load_row_words(const Run& r, const Tile& tile, std::int64_t row, std::int64_t first, std::size_t n,
                           void* scratch);
void store_row_words(const Run& r, const Tile& tile, std::int64_t row, std::int64_t first, std::size_t n,
                     const void* words);

// Copies every element bit for bit (equal dtypes) or through float32, walking both tiles in row-major order;
// shapes may differ, element counts may not. Skipped rows of either side are left alone.
void copy_elements(const Run& r, const Tile& dst, const Tile& src);

// Of a function of two elements, all that dst depends on: inputs whose rows are matrices read by columns, both alike,
// are read as they lie, and dst is written by columns. One transposition instead of two.
void follow_memory(Tile& dst, Tile& a, Tile& b);

// dst[f, p] = src[p, f], bit for bit; all reads come before the writes.
void transpose_elements(const Run& r, const Tile& dst, const Tile& src);

inline constexpr std::size_t kChunk = 2048;  // floats of a piece: two inputs and an output stay in the first cache

}  // namespace kiln::isa
