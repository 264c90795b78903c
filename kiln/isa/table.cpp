#include "kiln/isa/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "kiln/base/error.h"
#include "kiln/num/op.h"

namespace kiln::isa {

// Each row's semantics stand in the namespace of its instruction, so that names of their files never meet.
#define KILN_INSTRUCTION(name, group, ...) \
  namespace instruction::name {            \
  extern const Semantics semantics;        \
  }
#define KILN_OUT(...)
#define KILN_INOUT(...)
#define KILN_OPT_OUT(...)
#define KILN_IN(...)
#define KILN_INS(...)
#define KILN_OUTS(...)
#define KILN_SCALAR_OR_IN(...)
#define KILN_OPT_SCALAR_OR_IN(...)
#define KILN_ARG(...)
#define KILN_DEFAULT(...)
#define KILN_END(...)
#include "kiln/isa/instructions.def"
#include "kiln/isa/undef_instruction_macros.h"

namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const auto end = text.find(separator);
    if (const auto part = text.substr(0, end); !part.empty()) parts.push_back(part);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return parts;
}

std::uint8_t memory_mask(std::string_view text) {
  std::uint8_t mask = 0;
  for (auto word : split(text, '|')) {
    Memory memory;
    KILN_ASSERT(parse_memory(word, memory));
    mask |= word == "hbm" ? 0b00111 : 1 << static_cast<int>(memory);
  }
  return mask;
}

std::uint32_t dtype_class_mask(std::string_view word) {
  std::uint32_t mask = 0;
  for (int i = 0; i < kDTypeCount; ++i) {
    const DType t = static_cast<DType>(i);
    const bool in = word == "all" || (word == "any" && !is_packed(t)) || (word == "float" && is_float(t)) ||
                    (word == "int" && is_integer(t)) || word == name(t);
    if (in) mask |= 1u << i;
  }
  return mask;
}

ParamInfo tile(std::string_view name, ParamKind kind, std::string_view memories, std::string_view dtypes,
               std::string_view default_text = "None") {
  ParamInfo p{.name = name, .kind = kind, .memories_text = memories, .default_text = default_text};
  p.required = kind != ParamKind::opt_out && kind != ParamKind::opt_scalar_or_in;
  p.memories = memory_mask(memories);
  const auto words = split(dtypes, ' ');
  p.dtypes_text = words.at(0);
  for (auto word : split(words[0], '|')) p.dtypes |= dtype_class_mask(word);
  for (auto word : words) {
    p.indirect |= word == "ti";
    p.sink |= word == "sink";
    p.own_start |= word == "start";
  }
  KILN_ASSERT(p.dtypes != 0);
  return p;
}

ParamInfo attribute(std::string_view name, AttrType type, std::string_view type_text, bool required,
                    std::string_view default_text) {
  ParamInfo p{.name = name, .kind = ParamKind::attribute, .type = type, .required = required};
  p.type_text = type_text;
  p.default_text = default_text;
  return p;
}

constexpr AttrType AttrType_bool = AttrType::Bool;
#define KILN_ATTR(type) KILN_ATTR_##type
#define KILN_ATTR_AluOp AttrType::AluOp
#define KILN_ATTR_ActFn AttrType::ActFn
#define KILN_ATTR_Engine AttrType::Engine
#define KILN_ATTR_ReduceCmd AttrType::ReduceCmd
#define KILN_ATTR_DgeMode AttrType::DgeMode
#define KILN_ATTR_OobMode AttrType::OobMode
#define KILN_ATTR_MatmulPerfMode AttrType::MatmulPerfMode
#define KILN_ATTR_DmaEngine AttrType::DmaEngine
#define KILN_ATTR_bool AttrType_bool
#define KILN_ATTR_Int AttrType::Int
#define KILN_ATTR_Float AttrType::Float
#define KILN_ATTR_Number AttrType::Number
#define KILN_ATTR_OptBool AttrType::OptBool
#define KILN_ATTR_OptAlu AttrType::OptAlu
#define KILN_ATTR_OptInt AttrType::OptInt
#define KILN_ATTR_Ints AttrType::Ints
#define KILN_ATTR_Floats AttrType::Floats
#define KILN_ATTR_Pattern AttrType::Pattern
#define KILN_ATTR_Groups AttrType::Groups
#define KILN_ATTR_Reg AttrType::Reg
#define KILN_ATTR_IntOrReg AttrType::IntOrReg

std::vector<Engine> engine_list(std::string_view text) {
  std::vector<Engine> engines;
  for (auto word : split(text, '|')) {
    Engine e;
    KILN_ASSERT(parse_engine(word, e));
    engines.push_back(e);
  }
  return engines;
}

std::vector<InstructionInfo> build_table() {
  std::vector<InstructionInfo> table;
  table.reserve(kOpcodeCount);
#define KILN_INSTRUCTION(name, group, engines, generation, summary) \
  table.push_back({#name,                                           \
                   "instruction " #name,                            \
                   #group,                                          \
                   engine_list(engines),                            \
                   generation,                                      \
                   summary,                                         \
                   {},                                              \
                   &instruction::name::semantics,                   \
                   -1});
#define KILN_PARAMS table.back().params
#define KILN_OUT(n, m, d) KILN_PARAMS.push_back(tile(#n, ParamKind::out, m, d));
#define KILN_INOUT(n, m, d) KILN_PARAMS.push_back(tile(#n, ParamKind::inout, m, d));
#define KILN_OPT_OUT(n, m, d) KILN_PARAMS.push_back(tile(#n, ParamKind::opt_out, m, d));
#define KILN_IN(n, m, d) KILN_PARAMS.push_back(tile(#n, ParamKind::in, m, d));
#define KILN_INS(n, m, d) KILN_PARAMS.push_back(tile(#n, ParamKind::ins, m, d));
#define KILN_OUTS(n, m, d) KILN_PARAMS.push_back(tile(#n, ParamKind::outs, m, d));
#define KILN_SCALAR_OR_IN(n, m, d) KILN_PARAMS.push_back(tile(#n, ParamKind::scalar_or_in, m, d));
#define KILN_OPT_SCALAR_OR_IN(n, m, d, v) KILN_PARAMS.push_back(tile(#n, ParamKind::opt_scalar_or_in, m, d, v));
#define KILN_ARG(n, t) KILN_PARAMS.push_back(attribute(#n, KILN_ATTR(t), #t, true, ""));
#define KILN_DEFAULT(n, t, v) KILN_PARAMS.push_back(attribute(#n, KILN_ATTR(t), #t, false, #v));
#define KILN_END(name)
#include "kiln/isa/instructions.def"
#include "kiln/isa/undef_instruction_macros.h"
  for (auto& row : table) {
    row.engine_param = row.find_param(AttrType::Engine);
    const Collective* collective = row.is_query() ? nullptr : row.semantics->facts.collective;
    if (!collective || !collective->by_pairs) row.group_param = row.find_param(AttrType::Groups);
    const auto result = std::ranges::find_if(row.params, &ParamInfo::is_output);
    if (result != row.params.end()) row.result = static_cast<int>(result - row.params.begin());
  }
  return table;
}

const std::vector<InstructionInfo>& table() {
  static const std::vector<InstructionInfo> t = build_table();
  return t;
}

// Members of an enumeration, cut from the text of enums.def.
std::vector<std::string_view> members_of(std::string_view text) {
  std::vector<std::string_view> members;
  for (auto word : split(text, ',')) {
    while (word.front() == ' ') word.remove_prefix(1);
    members.push_back(word);
  }
  return members;
}

template <class Info, std::size_t N>
std::vector<std::string_view> names_of(const Info (&infos)[N]) {
  std::vector<std::string_view> names;
  for (const auto& i : infos) names.push_back(i.name);
  return names;
}

// A default as the vendor writes it.
std::string vendor_default(const ParamInfo& p) {
  if (p.is_tile()) return std::string(p.default_text);
  std::string_view text = p.default_text;
  if (p.type == AttrType::Ints && text == "{}") return "None";
  if (text == "{}") return "None";
  if (text == "true") return "True";
  if (text == "false") return "False";
  const auto colon = text.find("::");
  if (colon == std::string_view::npos) return text == "-0x1.fffffep127" ? "FP32_MIN" : std::string(text);
  const auto member = text.substr(colon + 2);
  if (p.type == AttrType::AluOp) return fmt::format("nl.{}", member);
  if (p.type == AttrType::Engine) return fmt::format("engine.{}", member);
#define KILN_ENUM(type_, vendor_name, ...) \
  if (p.type == AttrType::type_) return fmt::format(#vendor_name ".{}", member);
#include "kiln/isa/enums.def"
#undef KILN_ENUM
  return std::string(member);
}

}  // namespace

std::span<const std::string_view> enum_members(AttrType type) {
  static const auto members = [] {
    std::array<std::vector<std::string_view>, static_cast<int>(AttrType::IntOrReg) + 1> all;
    all[static_cast<int>(AttrType::AluOp)] = names_of(kAluOps);
    all[static_cast<int>(AttrType::OptAlu)] = names_of(kAluOps);
    all[static_cast<int>(AttrType::ActFn)] = names_of(kActFns);
    for (int e = 0; e < kEngineCount; ++e)
      all[static_cast<int>(AttrType::Engine)].push_back(name(static_cast<Engine>(e)));
#define KILN_ENUM(type_, vendor_name, ...) all[static_cast<int>(AttrType::type_)] = members_of(#__VA_ARGS__);
#include "kiln/isa/enums.def"
#undef KILN_ENUM
    return all;
  }();
  return members[static_cast<int>(type)];
}

int InstructionInfo::find_param(std::string_view param) const {
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (params[i].name == param) return static_cast<int>(i);
  }
  return -1;
}

int InstructionInfo::find_param(AttrType type) const {
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (params[i].kind == ParamKind::attribute && params[i].type == type) return static_cast<int>(i);
  }
  return -1;
}

// A plain pointer: rows are looked up a dozen times for every instruction of a program.
const InstructionInfo* const kInstructionRows = table().data();
std::span<const InstructionInfo> all_instructions() { return table(); }

bool parse_opcode(std::string_view name, Opcode& out) {
  static const auto index = [] {
    std::unordered_map<std::string_view, Opcode> m;
    for (std::size_t i = 0; i < table().size(); ++i) m[table()[i].name] = static_cast<Opcode>(i);
    return m;
  }();
  const auto it = index.find(name);
  if (it == index.end()) return false;
  out = it->second;
  return true;
}

std::string signature(const InstructionInfo& instruction) {
  std::string text = fmt::format("{}(", instruction.name);
  for (std::size_t i = 0; i < instruction.params.size(); ++i) {
    const ParamInfo& p = instruction.params[i];
    text += fmt::format("{}{}", i ? ", " : "", p.name);
    if (!p.required) text += fmt::format("={}", vendor_default(p));
  }
  if (!instruction.is_query() && instruction.group != "register") text += ", name=None";
  return text + ")";
}

}  // namespace kiln::isa
