#include "python/src/rules.h"

#include <string>

#include "kiln/base/error.h"

namespace kiln::python {
namespace {

constexpr NkiRule kRules[] = {
    {"nki.R0", "an error that is only a text comes from another process; the text has its rules"},
    {"nki.R1", "a token that is no function is only passed as an argument"},
    {"nki.R2", "nki functions work inside a running kernel"},
    {"nki.R3", "a kernel uses its own tensors and registers"},
    {"nki.R4", "a kernel issues a bounded number of instructions"},
    {"nki.R5", "instructions depend on instructions"},
    {"nki.R6", "the target is trn1, trn2 or trn3"},
    {"nki.R7", "a dtype is one of nki.language"},
    {"nki.R8", "a buffer is nl.sbuf, nl.psum, nl.hbm, nl.private_hbm or nl.shared_hbm"},
    {"nki.R9", "sizes, steps and indices are integers known while the kernel is traced"},
    {"nki.R10", "a call fits the signature of its function"},
    {"nki.R11",
     "a tensor is indexed by ints, slices, nl.ds and one ellipsis, and seen through the views that NKI "
     "documents, "
     "inside its dimensions"},
    {"nki.R12", "an access pattern stays inside its tensor"},
    {"nki.R38", "with_schedule names instructions of the kernel, and a consumer follows its producer"},
    {"nki.R50", "a tensor has 1 to 8 dimensions, on chip 2 to 5, each of size 1 or more"},
    {"nki.R62", "an address is the first partition and the byte offset of a tensor in SBUF or PSUM"},
};

}  // namespace

std::span<const NkiRule> nki_rules() { return kRules; }

std::string_view nki_rule(std::string_view code) {
  for (const NkiRule& rule : kRules) {
    if (rule.code == code) return rule.text;
  }
  internal_error(__FILE__, __LINE__, "no rule " + std::string(code));
}

}  // namespace kiln::python
