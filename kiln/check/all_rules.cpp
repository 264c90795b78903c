#include "kiln/check/all_rules.h"

#include <fmt/format.h>

#include "kiln/base/file.h"
#include "kiln/base/npy.h"
#include "kiln/base/thread_pool.h"
#include "kiln/check/rules.h"
#include "kiln/isa/builder/builder_rules.h"
#include "kiln/isa/semantics/operand_rules.h"
#include "kiln/isa/text/text_rules.h"
#include "kiln/isa/verify/verify.h"

namespace kiln::check {
namespace {

constexpr RuleText kOwnRules[] = {
    {"internal", "what kiln takes for granted about itself holds, whatever the program does",
     "report it, with the program and the message"},
};

void append(std::vector<RuleInfo>& out, std::span<const isa::Rule> rules, std::string_view prefix,
            const std::string& origin) {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    out.push_back({fmt::format("{}.R{}", prefix, i + 1), rules[i].text, rules[i].help, rules[i].mark, origin});
  }
}

}  // namespace

void append_rules(std::vector<RuleInfo>& out, std::span<const RuleText> rules, std::string_view origin) {
  for (const RuleText& rule : rules) {
    out.push_back(
        {std::string(rule.code), std::string(rule.text), std::string(rule.help), std::nullopt, std::string(origin)});
  }
}

std::vector<RuleInfo> all_rules() {
  std::vector<RuleInfo> out;
  for (const isa::InstructionInfo& row : isa::all_instructions()) {
    append(out, row.semantics->rules, row.name, fmt::format("instruction {}", row.name));
  }
  append(out, isa::operand_rules(), "operand", "the operands of every instruction");
  append_rules(out, isa::verify_rules(), "the structure of a program");
  append_rules(out, memory_rules(), "on-chip memory");
  append_rules(out, io_rules(), "inputs, outputs and registers of a program");
  append_rules(out, isa::builder_rules(), "kernels in the C++ builder");
  append_rules(out, isa::text_rules(), "the text form of a program");
  append_rules(out, npy_rules(), ".npy files");
  append_rules(out, file_rules(), "files");
  append_rules(out, thread_pool_rules(), "threads");
  append_rules(out, kOwnRules, "kiln itself");
  return out;
}

}  // namespace kiln::check
