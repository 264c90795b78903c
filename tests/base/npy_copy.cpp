// npy_copy IN OUT [DTYPE]: reads an .npy file, as DTYPE when given, and writes it again. Failures go to
// stderr as JSON. npy_copy --rules: the codes of all rules, one in a line. npy_copy --dtypes: every dtype and
// its size.
#include <cstdio>
#include <string>

#include "kiln/base/error.h"
#include "kiln/base/npy.h"
#include "kiln/base/npy_rules.h"

namespace {

std::optional<kiln::DType> find_dtype(std::string_view text) {
  for (int i = 0; i < kiln::kDTypeCount; ++i) {
    if (kiln::kDTypes[i].name == text) return static_cast<kiln::DType>(i);
  }
  return std::nullopt;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string first = argc > 1 ? argv[1] : "";
  if (first == "--rules") {
    for (const kiln::Rule& rule : kiln::npy_rules::kRules)
      std::printf("%s\n", code_of(kiln::npy_rules::kTable, rule).c_str());
    return 0;
  }
  if (first == "--dtypes") {
    for (const auto& d : kiln::kDTypes) std::printf("%s %d\n", std::string(d.name).c_str(), d.size_bytes);
    return 0;
  }
  if (argc < 3) return 2;
  try {
    const auto expected = argc > 3 ? find_dtype(argv[3]) : std::nullopt;
    if (argc > 3 && !expected) return 2;
    kiln::write_npy(argv[2], kiln::read_npy(first, expected));
  } catch (const kiln::Error& error) {
    std::fprintf(stderr, "%s\n", kiln::to_json(error.diagnostics()).c_str());
    return 1;
  }
  return 0;
}
