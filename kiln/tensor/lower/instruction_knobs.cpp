#include "kiln/tensor/lower/instruction_knobs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>

#include "kiln/isa/enums.h"
#include "kiln/isa/inst_view.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/uses.h"
#include "kiln/rewrite/edit.h"
#include "kiln/rewrite/split.h"

namespace kiln::tensor {
namespace {

using What = InstructionKnob::What;
using isa::DgeMode;

struct Place {
  const char* name;
  Engine engine;
  std::optional<DgeMode> dge = {};  // of DMAs
};
// By value - 1. DMAs take the first four, what computes the others.
constexpr std::array<Place, 7> kPlaces{{{"started by the scalar engine", Engine::scalar, DgeMode::hwdge},
                                        {"started by software", Engine::unknown, DgeMode::swdge},
                                        {"started with descriptors made before", Engine::unknown, DgeMode::none},
                                        {"started as the vendor's compiler likes", Engine::unknown, DgeMode::unknown},
                                        {"on the vector engine", Engine::vector},
                                        {"on the scalar engine", Engine::scalar},
                                        {"on gpsimd", Engine::gpsimd}}};
constexpr std::array<int, 3> kPieces{2, 4, 8};

bool is_dma_place(const Place& place) { return place.dge.has_value(); }

// False when the instruction has no such choice. The program is changed.
bool put(isa::Program& program, isa::InstructionId id, const Place& place) {
  const isa::Instruction& inst = program.instructions[id];
  const isa::InstructionInfo& row = isa::info(inst.opcode);
  const int dge = row.find_param(isa::AttrType::DgeMode);
  if (is_dma_place(place) != (dge >= 0)) return false;
  const bool names_engine = place.engine != Engine::unknown;
  if (names_engine && row.engine_param < 0) return false;
  if (dge < 0 && std::find(row.engines.begin(), row.engines.end(), place.engine) == row.engines.end()) return false;
  if (dge >= 0) rewrite::arg_of(program, inst, dge) = rewrite::enumerator(static_cast<std::int64_t>(*place.dge));
  if (names_engine)
    rewrite::arg_of(program, inst, row.engine_param) = rewrite::enumerator(static_cast<std::int64_t>(place.engine));
  return true;
}

bool is_legal(const isa::Program& program, isa::InstructionId id, const Arch& chip) {
  std::vector<Diagnostic> wrong;
  isa::check_instruction(program, program.instructions[id], chip, wrong);
  return std::none_of(wrong.begin(), wrong.end(), [](const Diagnostic& d) { return d.severity == Severity::error; });
}

// Engines differ in how they compute with integers: some are exact in 32 bits, others go through float32.
bool has_floats_only(const isa::Program& program, const isa::Instruction& inst) {
  bool floats = true;
  isa::for_each_use(program, inst, [&](const isa::Access& a, isa::Use) { floats &= is_float(a.dtype); });
  return floats;
}

std::vector<int> places_of(isa::Program& program, isa::InstructionId id, const Arch& chip) {
  std::vector<int> out;
  const isa::Instruction inst = program.instructions[id];
  const auto first = program.args.begin() + inst.first_arg;
  const std::vector<isa::Arg> before(first, first + static_cast<std::ptrdiff_t>(isa::info(inst.opcode).params.size()));
  const Engine now = isa::resolve_engine({program, inst}, chip);
  const auto mode = isa::InstView(program, inst).get_or(isa::AttrType::DgeMode, DgeMode::unknown);
  const bool floats = has_floats_only(program, inst);
  for (std::size_t i = 0; i < kPlaces.size(); ++i) {
    const Place& place = kPlaces[i];
    const bool other = is_dma_place(place) ? *place.dge != mode : place.engine != now && floats;
    if (other && put(program, id, place) && is_legal(program, id, chip)) out.push_back(static_cast<int>(i) + 1);
    std::copy(before.begin(), before.end(), program.args.begin() + inst.first_arg);
  }
  return out;
}

std::vector<int> pieces_of(const isa::Program& program, isa::InstructionId id) {
  std::vector<int> out;
  for (std::size_t i = 0; i < kPieces.size(); ++i) {
    if (rewrite::split_dim(program, program.instructions[id], kPieces[i])) out.push_back(static_cast<int>(i) + 1);
  }
  return out;
}

int kind_of(const isa::Program& program, isa::InstructionId id) {
  const isa::InstView v(program, program.instructions[id]);
  const int result = v.row().result;
  const bool stores = result >= 0 && v.is_tile(result) && v.in_hbm(result);
  return static_cast<int>(v.inst().opcode) * 2 + (stores ? 1 : 0);
}

// Of both programs of a pair. False: a knob that is not there.
std::optional<isa::Program> with_changes(isa::Program program, Changes changes, std::vector<isa::InstructionId>& now) {
  std::map<isa::InstructionId, int> pieces;
  for (std::size_t i = 0; i + 1 < changes.size(); i += 2) {
    const auto id = static_cast<isa::InstructionId>(changes[i] / 2);
    const auto value = static_cast<std::size_t>(changes[i + 1] - 1);
    if (changes[i] < 0 || id >= program.instructions.size()) return {};
    if (changes[i] % 2 == static_cast<int>(What::place)) {
      if (value >= kPlaces.size() || !put(program, id, kPlaces[value])) return {};
    } else {
      if (value >= kPieces.size()) return {};
      if (!rewrite::split_dim(program, program.instructions[id], kPieces[value])) return {};
      pieces[id] = kPieces[value];
    }
  }
  if (pieces.empty()) return program;
  rewrite::Split split = rewrite::split(program, pieces);
  now = std::move(split.now);
  return std::move(split.program);
}

}  // namespace

std::vector<InstructionKnob> instruction_knobs(const isa::Program& program, const Arch& chip) {
  std::vector<InstructionKnob> out;
  isa::Program tried = program;
  for (isa::InstructionId id = 0; id < program.instructions.size(); ++id) {
    const int kind = kind_of(program, id);
    for (InstructionKnob knob : {InstructionKnob{id, What::place, kind, places_of(tried, id, chip)},
                                 InstructionKnob{id, What::pieces, kind, pieces_of(program, id)}}) {
      if (!knob.values.empty()) out.push_back(std::move(knob));
    }
  }
  return out;
}

std::optional<Compiled> changed(const Compiled& made, Changes changes) {
  std::vector<isa::InstructionId> now;
  std::optional<isa::Program> program = with_changes(made.program, changes, now);
  if (!program) return {};
  Compiled out = made;
  out.program = std::move(*program);
  for (RegionReport& r : out.regions) {
    if (now.empty()) break;
    const std::size_t end = r.first_instruction + static_cast<std::size_t>(r.instructions);
    r.first_instruction = now[r.first_instruction];
    r.instructions = static_cast<std::int64_t>(now[end]) - r.first_instruction;
  }
  if (!made.peer) return out;
  out.peer = with_changes(*made.peer, changes, now);
  if (!out.peer) return {};
  return out;
}

std::string describe(const isa::Program& program, Changes changes) {
  std::map<std::string, int> counts;
  for (std::size_t i = 0; i + 1 < changes.size(); i += 2) {
    const isa::Instruction& inst = program.instructions[static_cast<std::size_t>(changes[i] / 2)];
    const auto value = static_cast<std::size_t>(changes[i + 1] - 1);
    const bool moved = changes[i] % 2 == static_cast<int>(What::place);
    ++counts[fmt::format("{} {}", isa::info(inst.opcode).name,
                         moved ? kPlaces[value].name : fmt::format("in {} pieces", kPieces[value]))];
  }
  std::vector<std::string> said;
  for (const auto& [what, n] : counts) said.push_back(n == 1 ? what : fmt::format("{} {}", n, what));
  return fmt::format("{}", fmt::join(said, ", "));
}

}  // namespace kiln::tensor
