#include "kernels/blas/host/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace kiln::blas {
namespace {

[[noreturn]] void refuse(const Rule& rule, std::string_view routine, std::string_view name, std::string found,
                         std::string allowed) {
  raise(blas_rules::kTable, rule,
        {.found = std::move(found),
         .allowed = std::move(allowed),
         .context = std::string(routine),
         .operand = std::string(name)});
}

}  // namespace

const Arguments& Arguments::size(std::string_view name, Int value) const {
  if (value < 0 || value > std::numeric_limits<std::int32_t>::max()) {
    refuse(blas_rules::kSize, routine_, name, fmt::format("{} is {}", name, value), "0 to 2147483647");
  }
  return *this;
}

const Arguments& Arguments::step(std::string_view name, Int value) const {
  if (value == 0) refuse(blas_rules::kStep, routine_, name, fmt::format("{} is 0", name), "any other");
  return *this;
}

const Arguments& Arguments::leading(std::string_view name, Int ld, Layout layout, Int rows, Int columns) const {
  const Int least = std::max<Int>(1, layout == Layout::row_major ? columns : rows);
  if (ld < least) {
    refuse(blas_rules::kLeading, routine_, name, fmt::format("{} is {}", name, ld), fmt::format("{} or more", least));
  }
  return size(name, ld);
}

const Arguments& Arguments::band(std::string_view name, Int ld, Int width) const {
  if (ld < width) {
    refuse(blas_rules::kBand, routine_, name, fmt::format("{} is {}", name, ld), fmt::format("{} or more", width));
  }
  return size(name, ld);
}

const Arguments& Arguments::word(std::string_view name, int value, int low, int high) const {
  if (value < low || value > high) {
    refuse(blas_rules::kWord, routine_, name, fmt::format("{} is {}", name, value), fmt::format("{} to {}", low, high));
  }
  return *this;
}

}  // namespace kiln::blas
