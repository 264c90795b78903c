#include "kiln/sim/pass_teller.h"

#include <fmt/format.h>

#include <algorithm>

namespace kiln::sim {
NamedPass named(const isa::Program& program, const isa::Pass& pass) {
  NamedPass out;
  for (const auto& [id, value] : pass) {
    const isa::Loop& loop = program.loops[id];
    const bool is_counted = loop.kind != isa::Loop::Kind::dynamic_while;
    out.push_back({is_counted ? loop.variable : program.registers[loop.reg].name, value, is_counted});
  }
  return out;
}

std::string text_of(const NamedPass& pass) {
  std::string text;
  for (const auto& [name, value, is_counted] : pass) {
    text += text.empty() ? "" : ", ";
    text += is_counted ? fmt::format("{}={}", name, value) : fmt::format("pass {} of while {}", value + 1, name);
  }
  return text;
}

void PassTeller::tell(Diagnostic& diagnostic, const isa::Program& program, const isa::Instruction* inst,
                      const isa::Pass& pass) const {
  const NamedPass loops = named(program, pass);
  std::string text;
  if (inst && options_.describe_pass) {
    const auto core = std::ranges::find(launch_.programs, &program) - launch_.programs.begin();
    text = options_.describe_pass(static_cast<int>(core),
                                  static_cast<isa::InstructionId>(inst - program.instructions.data()), loops);
  }
  if (text.empty()) text = text_of(loops);
  if (!text.empty()) diagnostic.facts.push_back({"pass", std::move(text)});
}

void PassTeller::tell(Diagnostic& diagnostic, const isa::Instruction& inst, const isa::Pass& pass) const {
  for (const isa::Program* program : launch_.programs) {
    const std::vector<isa::Instruction>& all = program->instructions;
    if (!all.empty() && &inst >= all.data() && &inst <= &all.back()) return tell(diagnostic, *program, &inst, pass);
  }
}

}  // namespace kiln::sim
