// isa_driver DIR            runs every case DIR/<case>/program.kiln
// isa_driver --table        the instruction table and all rules as JSON
// isa_driver --mutate DIR   what the check says about the cases' operands in memories and dtypes that the
// table excludes
#include <cstdio>
#include <exception>
#include <string_view>

#include "tests/isa/mutate.h"
#include "tests/isa/run_case.h"
#include "tests/isa/table_json.h"

int main(int argc, char** argv) try {
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (argc == 2 && first == "--table") {
    std::puts(kiln::table_json().c_str());
  } else if (argc == 3 && first == "--mutate") {
    std::puts(kiln::mutate_cases(argv[2]).c_str());
  } else if (argc == 2 && !first.starts_with("-")) {
    kiln::run_cases(argv[1]);
  } else {
    std::fputs("usage: isa_driver DIR | --table | --mutate DIR\n", stderr);
    return 2;
  }
  return 0;
} catch (const std::exception& error) {
  std::fputs(error.what(), stderr);
  return 1;
}
