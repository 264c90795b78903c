#include <vector>

#include "kiln/num/plain/plain.h"

namespace kiln::plain {
namespace {

std::vector<float> values_of(const Bfloat16Row& row, std::size_t n) {
  std::vector<float> values(n, row.number);
  if (row.data) load(DType::bfloat16, row.data, 1, n, values.data());
  return values;
}

}  // namespace

std::uint32_t alu_bfloat16(AluOp op, const Bfloat16Row& a, const Bfloat16Row& b, std::uint16_t* out, std::size_t n) {
  std::vector<float> values = values_of(a, n);
  alu_vv(op, values.data(), values_of(b, n).data(), values.data(), n);
  store(DType::bfloat16, values.data(), n, out, 1);
  return largest(sizeof *out, out, 1, n);
}

}  // namespace kiln::plain
