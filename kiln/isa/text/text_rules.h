// The rules that a text can break.
#pragma once

#include "kiln/base/rule.h"

namespace kiln::isa::text_rules {

inline constexpr Rule kHeader{1, "A text begins with `kiln 1`, then `program \"name\" target <target>`.",
                              "start the file with these two lines"};
inline constexpr Rule kCharacters{2, "A text consists of names, numbers, quoted strings and punctuation.",
                                  "quote unusual names with backticks; escape \\, quotes and control characters"};
inline constexpr Rule kSyntax{3, "A statement follows the grammar of the text form.",
                              "docs/text-form.md has the grammar"};
inline constexpr Rule kNumber{4, "An integer fits in 64 bits and a real number in a double.",
                              "write a smaller number, or inf"};
inline constexpr Rule kInstruction{5, "A statement that is a call names an instruction of the table.",
                                   "`kiln isa` lists all instructions"};
inline constexpr Rule kParameter{6, "An argument names a parameter of its instruction.",
                                 "arguments are given by name, as in the vendor's signature"};
inline constexpr Rule kRepeated{7, "An argument is given once.", "remove one of the two"};
inline constexpr Rule kTensor{8, "A tensor is declared before its name is used.",
                              "declare it with `tensor name: memory dtype [shape]`"};
inline constexpr Rule kDtype{9, "A dtype is one of NKI's.", "write the dtype as NKI does, for example bfloat16"};
inline constexpr Rule kWord{10, "A memory, a role, a target and lnc are words from fixed lists.",
                            "use one of the allowed words"};
inline constexpr Rule kMember{11, "An enumeration argument is a member of its enumeration.",
                              "use one of the allowed members, without its prefix"};
inline constexpr Rule kValue{12, "A value is of the kind that its parameter takes.",
                             "see the instruction's manual page"};
inline constexpr Rule kRedeclared{
    13, "A tensor, a register and a label each have a name of their own; a loop variable does not hide an outer one.",
    "choose another name"};
inline constexpr Rule kVariable{14, "An offset uses variables of enclosing static loops only.",
                                "use a register with scalar_offset= for what is known only at run time"};
inline constexpr Rule kRegister{15, "A register is declared before its name is used.",
                                "declare it with `register name`"};
inline constexpr Rule kLabel{16, "after(%n) names the label of an earlier instruction.",
                             "label the earlier instruction with `%n:`"};
inline constexpr Rule kDepth{17, "Loops and accesses nest at most 64 deep.", "unroll or merge loops"};
inline constexpr Rule kLength{
    18, "A tensor has 1 to 8 dimensions, a pattern at most 8, an offset at most 64 terms, a list at most 65536 items.",
    "split it"};
inline constexpr Rule kSize{19, "A tensor has at most 2^48 elements.", "make the tensor smaller"};
inline constexpr Rule kPartition{
    20, "A pattern on SBUF or PSUM begins with its partitions, start:count; a pattern on HBM does not.",
    "write t.ap(0:128, [[1, 512]]) on chip and t.ap([[512, 128], [1, 512]]) in HBM"};

inline constexpr Rule kRules[] = {kHeader,   kCharacters, kSyntax, kNumber, kInstruction, kParameter,  kRepeated,
                                  kTensor,   kDtype,      kWord,   kMember, kValue,       kRedeclared, kVariable,
                                  kRegister, kLabel,      kDepth,  kLength, kSize,        kPartition};
inline constexpr RuleTable kTable{"text", "the text form of a program", kRules, Category::config};

}  // namespace kiln::isa::text_rules
