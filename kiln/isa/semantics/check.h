// Check: what an instruction's `check` sees and how it reports. Every rule has a number; its label
// <name>.R<n> stands in the manual, here, in the message and in the test that proves it.
#pragma once

#include <string>
#include <vector>

#include "kiln/arch/arch.h"
#include "kiln/base/error.h"
#include "kiln/isa/inst_view.h"

namespace kiln::isa {

class Check : public InstView {
 public:
  Check(const Program& program, const Instruction& inst, const Arch& arch, std::vector<Diagnostic>& out)
      : InstView(program, inst), arch_(arch), engine_(resolve_engine(*this, arch)), out_(out) {}

  const Arch& arch() const { return arch_; }
  Engine engine() const { return engine_; }

  // Rule R<number> holds when ok; otherwise found() tells what was found, and allowed() (optional) what is
  // allowed here.
  template <class Found>
  void require(int number, bool ok, Found&& found) {
    if (!ok) [[unlikely]]
      report(number, Severity::error, found(), {});
  }
  template <class Found>
  void require(int number, bool ok, Found&& found, const std::string& allowed) {
    if (!ok) [[unlikely]]
      report(number, Severity::error, found(), allowed);
  }
  // The same, but the manual leaves it open: a warning, never in the way.
  template <class Found>
  void advise(int number, bool ok, Found&& found) {
    if (!ok) [[unlikely]]
      report(number, Severity::warning, found(), {});
  }

  // Frequent conditions. `same_shape`: equal partitions and equal free size. `is_column`: one value per
  // partition.
  bool same_shape(int a, int b) const { return partitions(a) == partitions(b) && free_size(a) == free_size(b); }
  bool is_column(int param, std::int64_t rows) const { return partitions(param) == rows && free_size(param) == 1; }

  // Words for messages: "`data1` is float32 [128, 512] in SBUF".
  std::string describe(int param) const;

 private:
  void report(int number, Severity severity, std::string found, std::string allowed);

  const Arch& arch_;
  Engine engine_;
  std::vector<Diagnostic>& out_;
};

std::string shape_text(const Access& access);

// The label of rule `number` of an instruction, e.g. "nc_matmul.R3".
std::string rule_label(const InstructionInfo& row, int number);

// A finished diagnostic for rule `number` of an instruction.
Diagnostic rule_diagnostic(const InstView& inst, const Arch& arch, int number, Severity severity, std::string found,
                           std::string allowed);

// Checks every instruction of a program that passed `verify`: the common operand rules (operand_rules.h),
// then the instruction's own. Appends to `out` in program order.
void check_instructions(const Program& program, const Arch& arch, std::vector<Diagnostic>& out);
// One instruction.
void check_instruction(const Program& program, const Instruction& inst, const Arch& arch, std::vector<Diagnostic>& out);

}  // namespace kiln::isa
