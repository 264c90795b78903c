// The rules that the native half of kiln.nki raises (nki.R…), in one table. Those of the Python half stand in
// python/kiln/_trace/rules.py. The remedy depends on the case: whoever raises one gives it.
#pragma once

#include "kiln/base/rule.h"

namespace kiln::python::nki_rules {

inline constexpr Rule kOnlyText{0, "an error that is only a text comes from another process; the text has its rules",
                                ""};
inline constexpr Rule kTokenArgument{1, "a token that is no function is only passed as an argument", ""};
inline constexpr Rule kInsideKernel{2, "nki functions work inside a running kernel", ""};
inline constexpr Rule kOwnTensors{3, "a kernel uses its own tensors and registers", ""};
inline constexpr Rule kBoundedSize{4, "a kernel issues a bounded number of instructions", ""};
inline constexpr Rule kDependencies{5, "instructions depend on instructions", ""};
inline constexpr Rule kTarget{6, "the target is trn1, trn2 or trn3", ""};
inline constexpr Rule kDtype{7, "a dtype is one of nki.language", ""};
inline constexpr Rule kBuffer{8, "a buffer is nl.sbuf, nl.psum, nl.hbm, nl.private_hbm or nl.shared_hbm", ""};
inline constexpr Rule kIntegers{9, "sizes, steps and indices are integers known while the kernel is traced", ""};
inline constexpr Rule kSignature{10, "a call fits the signature of its function", ""};
inline constexpr Rule kIndexing{11,
                                "a tensor is indexed by ints, slices, nl.ds and one ellipsis, and seen through the "
                                "views that NKI documents, inside its dimensions",
                                ""};
inline constexpr Rule kPattern{12, "an access pattern stays inside its tensor", ""};
inline constexpr Rule kNotBuilt{13, "this part of NKI is not built yet", ""};
inline constexpr Rule kSchedule{
    38, "with_schedule names instructions of the kernel, and a consumer follows its producer", ""};
inline constexpr Rule kTensorShape{50, "a tensor has 1 to 8 dimensions, on chip 2 to 5, each of size 1 or more", ""};
inline constexpr Rule kAddress{62, "an address is the first partition and the byte offset of a tensor in SBUF or PSUM",
                               ""};

inline constexpr Rule kNumpyDtype{79, "a dtype is one of nki.language, not NumPy's", ""};
inline constexpr Rule kName{80, "a name is a text of Unicode characters", ""};

inline constexpr Rule kRules[] = {kOnlyText,     kTokenArgument, kInsideKernel, kOwnTensors, kBoundedSize,
                                  kDependencies, kTarget,        kDtype,        kBuffer,     kIntegers,
                                  kSignature,    kIndexing,      kPattern,      kNotBuilt,   kSchedule,
                                  kTensorShape,  kAddress,       kNumpyDtype,   kName};
inline constexpr RuleTable kTable{"nki", "kiln.nki", kRules};

}  // namespace kiln::python::nki_rules
