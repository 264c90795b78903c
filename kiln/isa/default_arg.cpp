#include "kiln/isa/default_arg.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <string>
#include <vector>

namespace kiln::isa {
namespace {

Arg scalar(Arg::Kind kind, std::int64_t value) {
  Arg a;
  a.kind = kind;
  a.integer = value;
  return a;
}

// "Engine::unknown": the member's position in its enumeration.
Arg enumerator(const ParamInfo& param) {
  const auto member = param.default_text.substr(param.default_text.find("::") + 2);
  const auto members = enum_members(param.type);
  const auto it = std::find(members.begin(), members.end(), member);
  KILN_ASSERT(it != members.end());
  return scalar(Arg::Kind::enumerator, it - members.begin());
}

}  // namespace

Arg default_arg(const ParamInfo& param) {
  const std::string text(param.default_text);
  if (param.is_tile() || param.required || text == "{}") return {};
  if (text == "true" || text == "false") return scalar(Arg::Kind::boolean, text == "true");
  if (text.find("::") != std::string::npos) return enumerator(param);
  if (param.type != AttrType::Float) return scalar(Arg::Kind::integer, std::strtoll(text.c_str(), nullptr, 10));
  Arg a;
  a.kind = Arg::Kind::real;
  a.real = std::strtod(text.c_str(), nullptr);  // takes hexadecimal floats, as C++ does
  return a;
}

std::span<const Arg> default_args(Opcode opcode) {
  static const auto table = [] {
    std::vector<std::vector<Arg>> all;
    for (const auto& instruction : all_instructions()) {
      auto& args = all.emplace_back();
      for (const auto& param : instruction.params) args.push_back(default_arg(param));
    }
    return all;
  }();
  return table[static_cast<int>(opcode)];
}

bool same_scalar(const Arg& a, const Arg& b) {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case Arg::Kind::none:
      return true;
    case Arg::Kind::integer:
    case Arg::Kind::boolean:
    case Arg::Kind::enumerator:
      return a.integer == b.integer;
    case Arg::Kind::real:
      return std::bit_cast<std::uint64_t>(a.real) == std::bit_cast<std::uint64_t>(b.real);
    default:
      return false;
  }
}

}  // namespace kiln::isa
