#include "cli/rules.h"

#include <fmt/format.h>

namespace kiln::cli {
namespace {

constexpr RuleText kRules[] = {
    {"cli.R1", "a command line has the form that `kiln COMMAND --help` shows", "see kiln --help"},
    {"cli.R2", "a command exists in this version", "docs/status.md lists what exists"},
    {"cli.R3", "a program and its arrays fit in the memory of this machine", "use smaller tensors or a larger machine"},
    {"cli.R4", "--in and --out take NAME=FILE", "write --in x=x.npy, with the tensor's name in the program"},
    {"cli.R5", "--in and --out name a tensor once", "remove one of the two"},
    {"cli.R6", "--in names an input or inout tensor of the program",
     "use a name that the program declares as input or inout"},
    {"cli.R7", "every input and inout tensor gets its values with --in", "add --in NAME=FILE"},
    {"cli.R8", "an input file has the shape that the program declares",
     "save the array with the declared shape; nothing is reshaped or broadcast"},
    {"cli.R9", "--out names an output or inout tensor of the program",
     "use a name that the program declares as output or inout"},
    {"cli.R10", "every output and inout tensor has a file, or --print shows it", "add --out NAME=FILE, or --print"},
    {"cli.R11", "every output has a file of its own", "give the outputs different files"},
    {"cli.R12",
     "two files are the programs of a pair of cores: both say lnc 2, have one target, and declare the inputs "
     "and outputs they share alike",
     "run single programs one by one"},
    {"cli.R13", "standard input is read once", "write one of the programs to a file"},
    {"cli.R14", "a manual page exists for every instruction of the table", "kiln isa lists all instructions"},
    {"cli.R15", "a code is the label of a rule", "kiln explain lists all codes"},
    {"cli.R16", "--what-if takes NAME=VALUE with the name of a constant of the timing model",
     "write --what-if dma_bandwidth=2x; kiln time --what-if list shows all names"},
    {"cli.R17", "--trip-count takes REGISTER=N with the register of a loop and a whole number of iterations",
     "write --trip-count n=16"},
    {"cli.R18", "a trace or a page shows one run, and a comparison one target", "run kiln time once for each"},
};

}  // namespace

std::span<const RuleText> cli_rules() { return kRules; }

Diagnostic broken(CliRule rule, std::string found, std::string help) {
  const RuleText& text = kRules[static_cast<int>(rule)];
  Diagnostic d;
  d.category = Category::config;
  d.code = text.code;
  d.rule = text.text;
  d.found = std::move(found);
  d.help = help.empty() ? std::string(text.help) : std::move(help);
  return d;
}

std::string did_you_mean(std::string_view best, std::string otherwise) {
  return best.empty() ? otherwise : fmt::format("did you mean `{}`?", best);
}

}  // namespace kiln::cli
