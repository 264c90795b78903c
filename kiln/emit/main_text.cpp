#include "kiln/emit/main_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kiln/emit/access_text.h"

namespace kiln::emit {
namespace {

// Packed elements are given as their bits.
std::string packed_bits(DType dtype) { return size_bytes(dtype) == 4 ? "uint32" : "uint16"; }

std::string numpy_dtype(DType dtype) {
  if (dtype == DType::tfloat32) return "np.float32";
  if (dtype == DType::bool_ || is_integer(dtype) || dtype == DType::float32 || dtype == DType::float16)
    return fmt::format("np.{}", name(dtype));
  return fmt::format("ml_dtypes.{}", name(dtype));
}

// Small integers serve as indices; a scale of 127 is 1.
std::string random_array(const isa::Tensor& t) {
  const std::string shape = shape_text(t.shape);
  if (t.dtype == DType::bool_) return fmt::format("rng.integers(0, 2, {}).astype(np.bool_)", shape);
  if (is_packed(t.dtype))
    return fmt::format("rng.integers(0, 100, {}).astype(np.{}).view(\"{}\")", shape, packed_bits(t.dtype),
                       name(t.dtype));
  if (is_integer(t.dtype)) return fmt::format("rng.integers(0, 4, {}).astype({})", shape, numpy_dtype(t.dtype));
  return fmt::format("rng.standard_normal({}).astype({})", shape, numpy_dtype(t.dtype));
}

}  // namespace

void write_main(const std::string& kernel, const std::vector<Argument>& arguments,
                const std::vector<std::string>& returned, int cores, SourceLines& lines) {
  lines.line();
  lines.line();
  lines.line("if __name__ == \"__main__\":");
  lines.deeper();
  lines.line("rng = np.random.default_rng(0)");
  std::vector<std::string> names;
  for (const Argument& a : arguments) {
    lines.line(fmt::format("{} = {}", a.name, random_array(*a.tensor)));
    names.push_back(a.name);
  }
  const std::string result = returned.empty() ? "" : fmt::format("{} = ", fmt::join(returned, ", "));
  lines.call(fmt::format("{}{}{}", result, kernel, cores == 2 ? "[2]" : ""), names);
  for (const std::string& name : returned)
    lines.line(fmt::format("print(\"{}\", {}.shape, {}.dtype)", name, name, name));
  lines.back();
}

}  // namespace kiln::emit
