// What a core shares with the other core of its pair: accesses to the same bytes are ordered by meetings, or it
// does not matter which comes first.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "kiln/isa/program.h"
#include "kiln/sim/common.h"
#include "kiln/sim/operand.h"
#include "kiln/sim/race.h"

namespace kiln::sim {

class RaceCheck {
 public:
  // `core`: its number in the pair, 0 or 1.
  RaceCheck(const isa::Program& program, int core, const isa::PassSource& loops, Common& common)
      : program_(program), core_(core), loops_(loops), common_(common) {}

  // Accesses that the other core does not expect are errors; writes, which are fine when the values agree, are
  // kept for check_agreement. Comes before the instruction is issued.
  void check(const isa::Instruction& inst, const Operands& operands);
  // Comes after it. What it filled with zeros and the other core scattered over is put back: the zeros come first.
  void after() {
    if (!scattered_.empty()) restore_scattered();
  }
  // Bytes that both cores wrote since the last meeting hold the same values.
  void check_agreement();

 private:
  // Of two writes that nothing orders: which one fills with zeros what the other one may scatter over.
  enum class Fill { none, ours, theirs, both };
  // A write to bytes that the other core touched since the last meeting, and what those bytes held.
  struct Rewrite {
    const isa::Instruction* inst;
    Operand operand;
    Races::Clash clash;
    std::vector<std::byte> before;
    bool both_fill;  // with zeros
  };
  // What the other core scattered and the instruction being executed fills with zeros.
  struct Scattered {
    Storage* storage;
    ByteRanges ranges;
    std::vector<std::byte> bytes;
    std::vector<isa::Shadow> shadow;
  };

  bool is_raced_for(const isa::Tensor& t) const;
  void check_read(const isa::Instruction& inst, const Operand& operand);
  void check_write(const isa::Instruction& inst, const Operand& operand, const Operands& operands);
  Fill fill_of(const isa::Instruction& inst, const Operand& written, const Operands& operands,
               const Races::Clash& clash) const;
  bool is_row_update(const isa::Instruction& inst, const Operand& operand, const Races::Clash& clash) const;
  void keep_scattered(const Operand& operand, const Races::Clash& clash);
  void restore_scattered();
  void warn_of_update(const isa::Instruction& inst, const Operand& operand, const Races::Clash& clash);
  void warn_of_fill(const isa::Instruction& inst, const Operand& operand, const Races::Clash& clash, Fill fill);
  [[noreturn]] void report(const isa::Instruction& inst, const Operand& operand, const Races::Clash& clash) const;
  Diagnostic race_diagnostic(const isa::Instruction& inst, const Races::Clash& clash, std::string found) const;

  const isa::Program& program_;
  const int core_;
  const isa::PassSource& loops_;
  Common& common_;
  std::vector<Rewrite> rewrites_;
  std::vector<Scattered> scattered_;
};

}  // namespace kiln::sim
