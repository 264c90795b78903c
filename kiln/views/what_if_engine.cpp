#include "kiln/views/what_if_engine.h"

#include <fmt/format.h>

#include "kiln/base/suggest.h"
#include "kiln/isa/table.h"
#include "kiln/rewrite/move_engine.h"
#include "kiln/views/rules.h"

namespace kiln::views {
namespace {

[[noreturn]] void fail(std::string found, std::string help = {}) {
  raise(view_rules::kTable, view_rules::kEngineWhatIf, {.found = std::move(found), .help = std::move(help)});
}

isa::Opcode parse_instruction(std::string_view name) {
  isa::Opcode opcode;
  if (parse_opcode(name, opcode)) return opcode;
  Suggest suggest(name);
  for (const isa::InstructionInfo& row : isa::all_instructions()) suggest.consider(row.name);
  fail(fmt::format("there is no instruction `{}`", name),
       suggest.best().empty() ? "" : fmt::format("did you mean `{}`?", suggest.best()));
}

}  // namespace

void apply_engine_what_if(std::string_view text, std::vector<isa::Program>& programs) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) fail(fmt::format("`{}` has no `:`", text), "write engine=tensor_copy:gpsimd");
  const isa::Opcode opcode = parse_instruction(text.substr(0, colon));
  Engine engine;
  if (!parse_engine(text.substr(colon + 1), engine))
    fail(fmt::format("there is no engine `{}`", text.substr(colon + 1)));
  std::size_t moved_count = 0;
  for (isa::Program& program : programs) {
    std::vector<isa::InstructionId> chosen;
    for (std::size_t i = 0; i < program.instructions.size(); ++i) {
      if (program.instructions[i].opcode == opcode) chosen.push_back(static_cast<isa::InstructionId>(i));
    }
    chosen = rewrite::movable(program, chosen, engine, arch(program.target));
    rewrite::move_to_engine(program, chosen, engine);
    moved_count += chosen.size();
  }
  if (moved_count == 0) {
    fail(fmt::format("no {} of the program can run on the {} engine of {}", info(opcode).name, name(engine),
                     arch(programs.at(0).target).name));
  }
}

}  // namespace kiln::views
