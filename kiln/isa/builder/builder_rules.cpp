#include "kiln/isa/builder/builder_rules.h"

namespace kiln::isa {
namespace {

constexpr RuleText kRules[] = {
    {"builder.R1", "a tensor has 1 to 8 positive dimensions, on chip 2 to 5", "reshape it"},
    {"builder.R2", "a view stays inside its tensor and keeps the partition dimension in place",
     "slice free dimensions, and reach other partitions with a slice of dimension 0"},
    {"builder.R3", "tiles() takes a positive size of tile and a total that is not negative",
     "pass the size of the dimension and the size of a tile"},
    {"builder.R4", "a view has one run-time address: an offset, or rows or elements that indices choose",
     "compute the sum of the offsets first, or copy in two steps"},
};

}  // namespace

std::span<const RuleText> builder_rules() { return kRules; }

void throw_builder_error(int number, std::string found, std::string help, SourceLoc loc) {
  const RuleText& rule = kRules[number - 1];
  throw Error(Diagnostic{.category = Category::invalid,
                         .code = std::string(rule.code),
                         .rule = std::string(rule.text),
                         .loc = std::move(loc),
                         .found = std::move(found),
                         .help = help.empty() ? std::string(rule.help) : std::move(help)});
}

}  // namespace kiln::isa
