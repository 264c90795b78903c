#include "cli/manual_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace kiln::cli {

std::string direction_text(isa::ParamKind kind) {
  switch (kind) {
    case isa::ParamKind::out:
      return "written";
    case isa::ParamKind::inout:
      return "read and written";
    case isa::ParamKind::opt_out:
      return "written, optional";
    case isa::ParamKind::in:
      return "read";
    case isa::ParamKind::ins:
      return "list, read";
    case isa::ParamKind::outs:
      return "list, written";
    case isa::ParamKind::scalar_or_in:
      return "number or tile, read";
    case isa::ParamKind::opt_scalar_or_in:
      return "number or tile, read, optional";
    case isa::ParamKind::attribute:
      break;
  }
  return "attribute";
}

std::string type_text(isa::AttrType type) {
  switch (type) {
    case isa::AttrType::AluOp:
      return "ALU operator";
    case isa::AttrType::ActFn:
      return "activation function";
    case isa::AttrType::Engine:
      return "engine";
#define KILN_ENUM(member, vendor_name, ...) \
  case isa::AttrType::member:               \
    return #vendor_name;
#include "kiln/isa/enums.def"
#undef KILN_ENUM
    case isa::AttrType::Bool:
      return "bool";
    case isa::AttrType::Int:
      return "integer";
    case isa::AttrType::Float:
      return "real";
    case isa::AttrType::Number:
      return "number";
    case isa::AttrType::OptBool:
      return "bool or None";
    case isa::AttrType::OptAlu:
      return "ALU operator or None";
    case isa::AttrType::OptInt:
      return "integer or None";
    case isa::AttrType::Ints:
      return "list of integers";
    case isa::AttrType::Floats:
      return "list of reals";
    case isa::AttrType::Pattern:
      return "list of [stride, count]";
    case isa::AttrType::Groups:
      return "list of lists of ranks";
    case isa::AttrType::Reg:
      return "register";
    case isa::AttrType::IntOrReg:
      return "integer or register";
  }
  return {};
}

std::string default_text(const isa::ParamInfo& param) {
  if (param.required) return {};
  std::string_view text = param.default_text;
  if (text == "{}") return "None";
  if (text == "true") return "True";
  if (text == "false") return "False";
  if (const auto colons = text.find("::"); colons != std::string_view::npos) text.remove_prefix(colons + 2);
  return std::string(text);
}

std::string members_text(isa::AttrType type) { return fmt::format("{}", fmt::join(isa::enum_members(type), ", ")); }

std::string memories_text(const isa::ParamInfo& param) {
  std::string text;
  for (const char c : param.memories_text) text += c == '|' ? std::string(", ") : std::string(1, c);
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

std::string dtypes_text(const isa::ParamInfo& param) {
  std::vector<std::string_view> allowed, refused;
  for (const DTypeInfo& dtype : kDTypes) {
    const bool allows = param.allows(static_cast<DType>(&dtype - kDTypes));
    (allows ? allowed : refused).push_back(dtype.name);
  }
  if (refused.empty()) return "all";
  if (refused.size() < allowed.size()) return fmt::format("all but {}", fmt::join(refused, ", "));
  return fmt::format("{}", fmt::join(allowed, ", "));
}

std::string flags_text(const isa::ParamInfo& param) {
  std::vector<std::string> flags;
  if (!param.required) flags.push_back(fmt::format("default {}", default_text(param)));
  if (param.indirect) flags.push_back("may be indirect from gen4 on");
  if (param.sink) flags.push_back("its values decide which elements are touched");
  return fmt::format("{}", fmt::join(flags, "; "));
}

}  // namespace kiln::cli
