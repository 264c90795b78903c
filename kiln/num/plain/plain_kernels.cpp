#include "kiln/num/plain/plain.h"

namespace kiln {

const Kernels& plain_kernels() {
  static constexpr Kernels table = {
      .load = plain::load,
      .store = plain::store,
      .load_bits = plain::load_bits,
      .store_bits = plain::store_bits,
      .alu_vv = plain::alu_vv,
      .alu_vs = plain::alu_vs,
      .alu_sv = plain::alu_sv,
      .bits_vv = plain::bits_vv,
      .bits_vs = plain::bits_vs,
      .int_vv = plain::int_vv,
      .activation = plain::activation,
      .scaled_activation = plain::scaled_activation,
      .fold_rows = plain::fold_rows,
      .matmul = plain::matmul,
      .transpose = plain::transpose,
  };
  return table;
}

}  // namespace kiln
