#include "tests/isa/mutate.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "kiln/base/file.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/text/parse.h"
#include "tests/isa/case_folders.h"

namespace kiln {
namespace {

using isa::Arg;
using isa::Instruction;
using isa::ParamInfo;
using isa::Program;
using nlohmann::json;

// The codes of the diagnostics after the first tile of argument `arg` became the whole of `tensor`. A tensor
// of its own, so that no other operand changes.
json codes_with(Program program, const Instruction& inst, const Arg& arg, isa::Tensor tensor) {
  program.tensors.push_back(std::move(tensor));
  program.accesses[arg.index] = whole(program, static_cast<isa::TensorId>(program.tensors.size() - 1));
  std::vector<Diagnostic> found;
  isa::check_instruction(program, inst, arch(program.target), found);
  std::set<std::string> codes;
  for (const Diagnostic& d : found) codes.insert(d.code);
  return codes;
}

json mutants_of(const Program& program, const Instruction& inst, const ParamInfo& param, const Arg& arg) {
  const isa::Tensor original = program.tensors[program.accesses[arg.index].tensor];
  json mutants = json::array();
  const auto add = [&](std::string_view to, const char* wanted, const isa::Tensor& tensor) {
    mutants.push_back({{"to", to}, {"wanted", wanted}, {"codes", codes_with(program, inst, arg, tensor)}});
  };
  for (int m = 0; m < kMemoryCount; ++m) {
    isa::Tensor moved = original;
    moved.memory = static_cast<Memory>(m);
    if (!param.allows(moved.memory)) add(name(moved.memory), "operand.R1", moved);
  }
  for (int t = 0; t < kDTypeCount; ++t) {
    isa::Tensor changed = original;
    changed.dtype = static_cast<DType>(t);
    if (!param.allows(changed.dtype)) add(name(changed.dtype), "operand.R2", changed);
  }
  return mutants;
}

}  // namespace

std::string mutate_cases(const std::string& directory) {
  json operands = json::array();
  std::set<std::pair<isa::Opcode, std::size_t>> seen;
  for (const auto& folder : case_folders(directory)) {
    const Program program = isa::parse(read_file(folder / "program.kiln"), "program.kiln");
    for (const Instruction& inst : program.instructions) {
      const isa::InstructionInfo& row = info(inst.opcode);
      for (std::size_t p = 0; p < row.params.size(); ++p) {
        const Arg& arg = program.arg(inst, static_cast<int>(p));
        const bool has_tile = arg.kind == Arg::Kind::access || (arg.kind == Arg::Kind::accesses && arg.count > 0);
        if (!has_tile || !seen.emplace(inst.opcode, p).second) continue;
        operands.push_back({{"instruction", row.name},
                            {"param", row.params[p].name},
                            {"mutants", mutants_of(program, inst, row.params[p], arg)}});
      }
    }
  }
  return operands.dump();
}

}  // namespace kiln
