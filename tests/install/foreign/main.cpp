// A program of another project: what it uses must come from the installed headers and libraries, and so must the
// version of C++.
#include <iostream>

#include "kiln/base/dtype.h"

int main() {
  kiln::DType dtype{};
  if (!kiln::parse_dtype("bfloat16", dtype)) return 1;
  std::cout << kiln::name(dtype) << ": " << kiln::size_bytes(dtype) << " bytes\n";
}
