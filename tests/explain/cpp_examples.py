"""Makes a GoogleTest program of the examples in C++: cpp_examples.py FILE... > test.cpp.

An example that verifies something leaves what it found in `found`; all others throw.
"""

import re
import sys

HEAD = """// Made by tests/explain/cpp_examples.py.
#include <gtest/gtest.h>

#include <atomic>
#include <set>

#include "kernels/backend/backend.h"
#include "kernels/backend/dispatch.h"
#include "kernels/blas/batched_gemm.h"
#include "kernels/blas/complex_gemm.h"
#include "kernels/blas/host/names.h"
#include "kernels/fft/host/plan.h"
#include "kernels/sparse/attention.h"
#include "kernels/sparse/host/sparse.h"
#include "kiln/base/npy.h"
#include "kiln/base/thread_count.h"
#include "kiln/isa/builder/builder.h"
#include "kiln/isa/launch.h"
#include "kiln/isa/text/parse.h"
#include "kiln/isa/verify/verify.h"
#include "kiln/sim/machine.h"
#include "kiln/timing/simulate.h"

// An example shows parameters that it does not use.
#pragma GCC diagnostic ignored "-Wunused-parameter"
#if !defined(__clang__)
// GCC 12 takes the assignment of a one-letter string for a copy of -1 bytes.
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#endif

using namespace kiln;
using Codes = std::set<std::string>;

namespace {

Codes codes(const std::function<std::vector<Diagnostic>()>& example) {
  Codes codes;
  try {
    for (const Diagnostic& d : example()) codes.insert(d.code);
  } catch (const Error& error) {
    for (const Diagnostic& d : error.diagnostics()) codes.insert(d.code);
  }
  return codes;
}

}  // namespace
"""
SECTION = re.compile(r"^== (\S+) c\+\+(?: also (.*))?\n((?:(?!== ).*\n)*)", re.M)


def side(lines, mark):
    code = "".join(line[2:] + "\n" for line in lines.splitlines() if line[:1] in (mark, " "))
    return code + ("return found;\n" if " found = " in code else "return {};\n")


def main():
    print(HEAD)
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            for code, also, lines in SECTION.findall(file.read()):
                broken = ", ".join(f'"{c}"' for c in [code, *also.split()])
                print(f"TEST(RuleExamples, {code.replace('.', '_')}) {{")
                for mark, expected in (("-", f"Codes{{{broken}}}"), ("+", "Codes()")):
                    print(f"EXPECT_EQ(codes([]() -> std::vector<Diagnostic> {{\n{side(lines, mark)}}}), ({expected}));")
                print("}\n")


main()
