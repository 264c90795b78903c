// The rules that a command line can break.
#pragma once

#include <string>
#include <string_view>

#include "kiln/base/rule.h"

namespace kiln::cli {

namespace cli_rules {
inline constexpr Rule kUsage{1, "a command line has the form that `kiln COMMAND --help` shows", "see kiln --help"};
inline constexpr Rule kPlanned{2, "a command exists in this version", "docs/status.md lists what exists"};
inline constexpr Rule kMemory{3, "a program and its arrays fit in the memory of this machine",
                              "use smaller tensors or a larger machine"};
inline constexpr Rule kBinding{4, "--in and --out take NAME=FILE",
                               "write --in x=x.npy, with the tensor's name in the program"};
inline constexpr Rule kGivenOnce{5, "--in and --out name a tensor once", "remove one of the two"};
inline constexpr Rule kKnownInput{6, "--in names an input or inout tensor of the program",
                                  "use a name that the program declares as input or inout"};
inline constexpr Rule kInputMissing{7, "every input and inout tensor gets its values with --in", "add --in NAME=FILE"};
inline constexpr Rule kShape{8, "an input file has the shape that the program declares",
                             "save the array with the declared shape; nothing is reshaped or broadcast"};
inline constexpr Rule kKnownOutput{9, "--out names an output or inout tensor of the program",
                                   "use a name that the program declares as output or inout"};
inline constexpr Rule kOutputMissing{10, "every output and inout tensor has a file, or --print shows it",
                                     "add --out NAME=FILE, or --print"};
inline constexpr Rule kOutputShared{11, "every output has a file of its own", "give the outputs different files"};
inline constexpr Rule kPair{12,
                            "two files are the programs of a pair of cores: both say lnc 2, have one target, and "
                            "declare the inputs and outputs they share alike",
                            "run single programs one by one"};
inline constexpr Rule kStandardInput{13, "standard input is read once", "write one of the programs to a file"};
inline constexpr Rule kInstruction{14, "a manual page exists for every instruction of the table",
                                   "kiln isa lists all instructions"};
inline constexpr Rule kCode{15, "a code is the label of a rule", "kiln explain lists all codes"};
inline constexpr Rule kWhatIf{16, "--what-if takes NAME=VALUE with the name of a constant of the timing model",
                              "write --what-if dma_bandwidth=2x; kiln time --what-if list shows all names"};
inline constexpr Rule kTripCount{
    17, "--trip-count takes REGISTER=N with the register of a loop and a whole number of iterations",
    "write --trip-count n=16"};
inline constexpr Rule kOneRun{18, "a trace or a page shows one run, and a comparison one target",
                              "run kiln time once for each"};
inline constexpr Rule kKindOfFile{19, "options fit the kind of FILE",
                                  "see kiln COMMAND --help for what goes with which"};

inline constexpr Rule kRules[] = {kUsage,        kPlanned,      kMemory,        kBinding,     kGivenOnce,
                                  kKnownInput,   kInputMissing, kShape,         kKnownOutput, kOutputMissing,
                                  kOutputShared, kPair,         kStandardInput, kInstruction, kCode,
                                  kWhatIf,       kTripCount,    kOneRun,        kKindOfFile};
inline constexpr RuleTable kTable{"cli", "the command line", kRules, Category::config};
}  // namespace cli_rules

// An empty `help` means the rule's.
Diagnostic broken(const Rule& rule, std::string found, std::string help = {});

// "did you mean `best`?", or `otherwise` when nothing is near.
std::string did_you_mean(std::string_view best, std::string otherwise = {});

}  // namespace kiln::cli
