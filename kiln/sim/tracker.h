// The tracker: isa::Track over the storages of a core. Runs in program order on the issuing thread.
#pragma once

#include <array>
#include <vector>

#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"
#include "kiln/sim/operand.h"
#include "kiln/sim/origins.h"

namespace kiln::sim {

// What engines hold between instructions, as far as the tracker cares.
struct TrackedState {
  std::array<isa::TrackedLane, kMaxPartitions> act_registers, vector_accumulators;
};

// Of an index tile of an instruction: the first `count` offsets, laid out down each group of `group` partitions and
// then column by column, must have been written.
void check_offsets(const isa::InstView& inst, Origins& origins, const Operand& index, std::int64_t group,
                   std::int64_t count);

class Tracker final : public isa::Track {
 public:
  Tracker(const isa::Program& program, const isa::Instruction& inst, const Arch& arch, Origins& origins,
          TrackedState& state, std::vector<Operand>& operands, isa::WarningSink& warnings)
      : Track(program, inst, arch), origins_(origins), state_(state), operands_(operands), warnings_(warnings) {}

  bool is_clean(int param) override;
  bool is_row_clean(int param, std::int64_t row) override;
  std::vector<isa::Shadow> read(int param) override;
  void write(int param, const std::vector<isa::Shadow>& shadow) override;
  void write_clean(int param) override;
  void write_where(int param, const std::vector<isa::Shadow>& shadow, const std::vector<std::uint8_t>& where) override;
  void mark_padding(int param, const std::vector<std::uint8_t>& where) override;
  std::vector<std::uint8_t> skipped_rows(int param) override;
  void check_offsets(int param, std::int64_t group, std::int64_t count) override;
  std::vector<std::uint32_t> bits(int param) override;
  std::vector<std::uint8_t> psum_state(int param) override;
  int uniform_psum_state(int param) override;
  void mark_matmul(int param) override;
  void set_psum_mode(isa::PsumMode mode, std::vector<std::uint8_t> add) override;
  isa::TrackedLane* lanes(unsigned state_bit, int param) override;
  [[noreturn]] void fail(const Rule& rule, std::string found) override;
  void warn(const Rule& rule, std::string found) override;

  // An index, predicate or register source must not hold bytes that were never written.
  void check_sinks();

  std::int64_t sequence = 0;  // of the instruction
  const isa::PassSource* loops = nullptr;
  TaskQueue* queue = nullptr;  // whose tasks `bits` waits for
  bool saw_unwritten = false;  // an operand that was asked about has bytes that were never written
  isa::PsumMode psum_mode = isa::PsumMode::overwrite;
  std::shared_ptr<std::vector<std::uint8_t>> psum_add;

 private:
  Operand& operand(int param);
  void write_tile(Operand& operand, const isa::Shadow* shadow);
  std::uint8_t written_state() const;  // of PSUM that the instruction writes to

  Origins& origins_;
  TrackedState& state_;
  std::vector<Operand>& operands_;
  isa::WarningSink& warnings_;
};

}  // namespace kiln::sim
