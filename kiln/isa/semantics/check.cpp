#include "kiln/isa/semantics/check.h"

#include <fmt/format.h>

#include "kiln/isa/semantics/operand_rules.h"
#include "kiln/isa/text/print.h"

namespace kiln::isa {

Engine resolve_engine(const InstView& inst, const Arch& arch) {
  const InstructionInfo& row = inst.row();
  const int param = row.engine_param;
  if (param >= 0 && inst.get<Engine>(param) != Engine::unknown && row.engines[0] != Engine::dma)
    return inst.get<Engine>(param);
  if (row.semantics->engine) return row.semantics->engine(inst, arch);
  return row.engines[0];
}

Diagnostic broken(const InstView& inst, const Arch& arch, const RuleTable& table, const Rule& rule, Finding finding) {
  finding.loc = inst.loc();
  finding.context = print(inst.program(), inst.inst());
  finding.facts.push_back({"target", fmt::format("{} ({})", arch.name, arch.core_name)});
  return broken(table, rule, std::move(finding));
}

Diagnostic broken(const InstView& inst, const Arch& arch, const Rule& rule, Finding finding) {
  return broken(inst, arch, inst.row().rules(), rule, std::move(finding));
}

void Check::report(const Rule& rule, Finding finding) {
  out_.push_back(broken(*this, arch_, rule, std::move(finding)));
}

std::string shape_text(const Access& access) {
  std::string text = "[";
  for (int i = 0; i < access.rank; ++i) text += fmt::format("{}{}", i ? ", " : "", access.dims[i].count);
  return text + "]";
}

std::string Check::describe(int param) const {
  return fmt::format("`{}` is {} {} in {}", row().params[param].name, name(dtype(param)), shape_text(access(param)),
                     name(memory(param)));
}

namespace {

void check_one(const Program& program, const Instruction& inst, const Arch& arch, SoundFor* sound,
               std::vector<Diagnostic>& out) {
  const std::size_t before = out.size();
  Check c(program, inst, arch, out);
  check_operands(c, sound, out);
  // An instruction's own rules may rely on operands of the right kind; those about their size say more than
  // that there are too many partitions.
  for (std::size_t i = before; i < out.size(); ++i) {
    if (out[i].severity == Severity::error && !is_partition_count(out[i])) return;
  }
  c.row().semantics->check(c);
}

}  // namespace

void check_instruction(const Program& program, const Instruction& inst, const Arch& arch,
                       std::vector<Diagnostic>& out) {
  check_one(program, inst, arch, nullptr, out);
}

void check_instruction(const Program& program, const Instruction& inst, const Arch& arch, SoundFor& sound,
                       std::vector<Diagnostic>& out) {
  sound.resize(program.accesses.size());
  check_one(program, inst, arch, &sound, out);
}

void check_instructions(const Program& program, const Arch& arch, std::vector<Diagnostic>& out) {
  SoundFor sound(program.accesses.size());
  for (const Instruction& inst : program.instructions) check_one(program, inst, arch, &sound, out);
}

}  // namespace kiln::isa
