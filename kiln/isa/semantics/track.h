// Track: follows bytes that were never written, and PSUM accumulation, through an instruction without knowing
// values. It runs in program order before the instruction's values are computed, and only when something in
// sight is not clean.
//
// Shadow: one byte per byte of memory, 0 = written, else the number of the place it came from. A shadow that
// reaches an output, an index, a predicate or a register is an error; in between it travels.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "kiln/arch/arch.h"
#include "kiln/isa/inst_view.h"

namespace kiln::isa {

using Shadow = std::uint8_t;

// One lane of an engine's accumulators (accumulator.h).
struct TrackedLane {
  bool defined = false;  // a reduction was started
  AluOp op{};            // with this operator
  Shadow shadow = 0;     // of what went into it
};

// How a matmul treats what PSUM holds: decided per element before values are computed.
enum class PsumMode : std::uint8_t { overwrite, accumulate, per_element };

class Track : public InstView {
 public:
  Track(const Program& program, const Instruction& inst, const Arch& arch) : InstView(program, inst), arch_(arch) {}
  virtual ~Track() = default;
  const Arch& arch() const { return arch_; }

  // True when every byte the tile reads has been written (numbers and absent operands are clean).
  virtual bool is_clean(int param) = 0;
  // The same of one row, for instructions that leave others unread.
  virtual bool is_row_clean(int param, std::int64_t row) = 0;
  // The shadow of each element of a tile (rows x free size, row-major): the first nonzero shadow of its
  // bytes.
  virtual std::vector<Shadow> read(int param) = 0;
  // Gives each element of an output tile its shadow; `write_clean` is the same with all zero, and cheap.
  virtual void write(int param, const std::vector<Shadow>& shadow) = 0;
  virtual void write_clean(int param) = 0;
  // The same for the elements where `where` is nonzero; the others stay as they are.
  virtual void write_where(int param, const std::vector<Shadow>& shadow, const std::vector<std::uint8_t>& where) = 0;
  // Elements of an output that mean nothing, where `where` is nonzero: what was never written of them may be
  // carried along by copies.
  virtual void mark_padding(int param, const std::vector<std::uint8_t>& where) = 0;
  // Per row of a tile (of a list: tile after tile): 1 where an address out of bounds makes the instruction
  // leave the row out (oob_mode skip). Empty when every row takes part.
  virtual std::vector<std::uint8_t> skipped_rows(int param) = 0;
  // An index tile of which only the first `count` offsets are used, laid out down each group of `group`
  // partitions and then column by column: those must have been written.
  virtual void check_offsets(int param, std::int64_t group, std::int64_t count) = 0;
  // The raw bits of each element, for flows that depend on values: waits for the instructions that make them.
  virtual std::vector<std::uint32_t> bits(int param) = 0;
  // An IntOrReg attribute: the integer, or what the register holds.
  std::int64_t integer_or_register(int param) const { return is_register(param) ? register_value : integer(param); }
  std::int64_t register_value = 0;  // set by the issuer

  // PSUM accumulation of matmuls, per element: 0 never written, 1 written by another instruction, 2 by a
  // matmul, 3 by a memset with 0, 4 by a matmul through another tensor that was placed there.
  virtual std::vector<std::uint8_t> psum_state(int param) = 0;
  virtual int uniform_psum_state(int param) = 0;  // the state when all elements agree, else -1
  virtual void mark_matmul(int param) = 0;        // the elements now come from a matmul
  virtual void set_psum_mode(PsumMode mode,
                             std::vector<std::uint8_t> add) = 0;  // hands the decision to `run`

  // The accumulators (a StateBit) of the lanes that a tile's rows lie on, row 0 first.
  virtual TrackedLane* lanes(unsigned state_bit, int param) = 0;

  [[noreturn]] virtual void fail(const Rule& rule, std::string found) = 0;
  virtual void warn(const Rule& rule, std::string found) = 0;

 private:
  const Arch& arch_;
};

// The shadows of inputs laid over the elements of a tile: same shape, or a (P, 1) column spread over its row.
// Empty when all of them are clean. Numbers and absent operands are clean.
std::vector<Shadow> overlay(Track& t, int tile, std::initializer_list<int> inputs);

// Ready-made flows. Inputs that are (P, 1) columns spread over their row.
void track_elementwise(Track& t);  // out[p, f] from in[p, f]; every output, every input of the same shape
void track_rows(Track& t);         // out[p, *] from in[p, *]
void track_prefix(Track& t);       // out[p, f] from in[p, 0 … f]
void track_flat(Track& t);         // out.flat[i] from in.flat[i], shapes may differ (copies)
void track_none(Track& t);         // outputs are clean whatever the inputs

}  // namespace kiln::isa
