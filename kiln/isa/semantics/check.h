// Check: what an instruction's `check` sees and how it reports. Every rule is a constant of the instruction's file; its
// label <name>.R<n> stands in the manual, in the message and in the test that proves it.
#pragma once

#include <concepts>
#include <string>
#include <vector>

#include "kiln/arch/arch.h"
#include "kiln/base/rule.h"
#include "kiln/isa/inst_view.h"

namespace kiln::isa {

class Check : public InstView {
 public:
  Check(const Program& program, const Instruction& inst, const Arch& arch, std::vector<Diagnostic>& out)
      : InstView(program, inst), arch_(arch), engine_(resolve_engine(*this, arch)), out_(out) {}

  const Arch& arch() const { return arch_; }
  Engine engine() const { return engine_; }

  // The rule holds when ok; otherwise found() tells what was found, and `allowed` (optional) what is allowed here.
  template <std::invocable Found>
  void require(const Rule& rule, bool ok, Found&& found, const std::string& allowed = {}) {
    if (!ok) [[unlikely]]
      report(rule, {.found = found(), .allowed = allowed});
  }
  // The same about one parameter.
  template <std::invocable Found>
  void require(const Rule& rule, bool ok, int param, Found&& found, const std::string& allowed = {}) {
    if (!ok) [[unlikely]]
      report(rule, {.found = found(), .allowed = allowed, .operand = param_name(param)});
  }
  // The same about an operand that describes itself.
  void require(const Rule& rule, bool ok, int param) {
    if (!ok) [[unlikely]]
      report(rule, {.found = describe(param), .operand = param_name(param)});
  }
  // The same, but the manual leaves it open: a warning, never in the way.
  template <std::invocable Found>
  void advise(const Rule& rule, bool ok, Found&& found) {
    if (!ok) [[unlikely]]
      report(rule, {.found = found(), .severity = Severity::warning});
  }
  template <std::invocable Found>
  void advise(const Rule& rule, bool ok, int param, Found&& found) {
    if (!ok) [[unlikely]]
      report(rule, {.found = found(), .operand = param_name(param), .severity = Severity::warning});
  }
  void advise(const Rule& rule, bool ok, int param) {
    if (!ok) [[unlikely]]
      report(rule, {.found = describe(param), .operand = param_name(param), .severity = Severity::warning});
  }

  // Frequent conditions. `same_shape`: equal partitions and equal free size. `is_column`: one value per
  // partition.
  bool same_shape(int a, int b) const { return partitions(a) == partitions(b) && free_size(a) == free_size(b); }
  bool is_column(int param, std::int64_t rows) const { return partitions(param) == rows && free_size(param) == 1; }

  // Words for messages: "`data1` is float32 [128, 512] in SBUF".
  std::string describe(int param) const;

 private:
  std::string param_name(int param) const { return std::string(row().params[param].name); }
  void report(const Rule& rule, Finding finding);

  const Arch& arch_;
  Engine engine_;
  std::vector<Diagnostic>& out_;
};

std::string shape_text(const Access& access);

// The diagnostic of a broken rule about an instruction: at its line, with its text and the target. Without a table the
// rule is one of the instruction's own.
Diagnostic broken(const InstView& inst, const Arch& arch, const RuleTable& table, const Rule& rule, Finding finding);
Diagnostic broken(const InstView& inst, const Arch& arch, const Rule& rule, Finding finding);

// Checks every instruction of a program that passed `verify`: the common operand rules (operand_rules.h),
// then the instruction's own. Appends to `out` in program order.
void check_instructions(const Program& program, const Arch& arch, std::vector<Diagnostic>& out);
// One instruction.
void check_instruction(const Program& program, const Instruction& inst, const Arch& arch, std::vector<Diagnostic>& out);

}  // namespace kiln::isa
