// write_<library>_programs FOLDER: all programs for every target, as FOLDER/<name>.<target>.kiln.
#include <fmt/format.h>

#include "kiln/base/file.h"
#include "kiln/isa/text/print.h"
#include "tests/kernels/blas/harness.h"
#include "tests/kernels/programs.h"

int main(int argc, char** argv) {
  using namespace kiln;
  using namespace kiln::kernels;
  if (argc != 2) return 2;
  for (const Target target : test::kTargets) {
    for (const auto& [name, program] : test::programs(target))
      write_atomically(fmt::format("{}/{}.{}.kiln", argv[1], name, arch(target).name), isa::print(program));
  }
}
