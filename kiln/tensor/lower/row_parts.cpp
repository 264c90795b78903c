// Rows that lie on several partitions each: what the partitions of a row have come to by themselves is combined on the
// tensor engine, and all of them get it. Rows of one block do not touch each other: they are turned and reduced apart,
// so that one that is no number spoils no other (where the tensor engine moves bits, on trn2 and later).
#include "kiln/tensor/lower/region.h"

namespace kiln::tensor {

using isa::View;

// Ones that sums of a row are products with, where there are blocks of one row.
void RegionEmitter::make_ones_of_parts() {
  const std::int64_t at_once = layout_.units_of(arch_.partitions);
  if (layout_.parts == 1 || (at_once > 1 && layout_.units() % at_once != 1)) return;
  ones_ = k_.sbuf({layout_.parts, layout_.parts}, DType::float32);
  k_.memset({.dst = *ones_, .value = 1.0});
}

// One value of each partition, as a row on one partition.
View RegionEmitter::turned_column(const Tile& column) {
  const View turned = k_.psum({1, rows_}, DType::float32);
  k_.nc_transpose({.dst = turned, .data = column_of(in_dtype(column, {1, {1}}, DType::float32))});
  return turned;
}

// factor * what the partitions of each row have together, on each of them.
Tile RegionEmitter::across_parts(const Tile& column, AluOp op, double factor, const Tile* into) {
  const std::int64_t parts = layout_.parts, rows = rows_ / parts;
  const View all = k_.psum({rows_, 1}, DType::float32);
  if (rows == 1 && op == AluOp::add) {
    k_.nc_matmul({.dst = all,
                  .stationary = *ones_,
                  .moving = column_of(in_dtype(column, {1, {1}}, DType::float32)),
                  .is_stationary_onezero = true});
  } else {
    const View turned = turned_column(column), each = k_.sbuf({1, rows}, DType::float32);
    k_.tensor_reduce(
        {.dst = each, .op = op, .data = turned.ap({{rows_, 1}, {parts, rows}, {1, parts}}), .axis = {2}});
    k_.nc_transpose({.dst = all, .data = each.ap({{rows, 1}, {1, rows}, {0, parts}})});
  }
  const Tile out = into ? *into : new_tile(k_, Memory::sbuf, rows_, {1, {1}}, DType::float32);
  if (factor == 1)
    k_.tensor_copy({.dst = column_of(out), .src = all, .engine = evacuator()});
  else
    k_.tensor_scalar({.dst = column_of(out), .data = all, .op0 = AluOp::multiply, .operand0 = factor});
  return out;
}

// Mean and variance of rows, of those of their parts, which have as many elements each: the mean of the means, and the
// mean of the variances and of the squared distances of the means.
Tile RegionEmitter::moments_of_parts(const Tile& of_parts) {
  const double share = 1.0 / static_cast<double>(layout_.parts);
  const auto at = [](Tile t, std::int64_t place) {
    t.offset = place;
    t.dims = {{1, 1}};
    return t;
  };
  const Tile out = new_tile(k_, Memory::sbuf, rows_, {1, {2}}, DType::float32);
  const Tile away = new_tile(k_, Memory::sbuf, rows_, {1, {1}}, DType::float32);
  const Tile mean = at(of_parts, 0), all = at(out, 0), variance = at(out, 1);
  across_parts(mean, AluOp::add, share, &all);
  k_.tensor_tensor(
      {.dst = column_of(away), .data1 = column_of(mean), .data2 = column_of(all), .op = AluOp::subtract});
  k_.scalar_tensor_tensor({.dst = column_of(away),
                           .data = column_of(away),
                           .op0 = AluOp::multiply,
                           .operand0 = column_of(away),
                           .op1 = AluOp::add,
                           .operand1 = column_of(at(of_parts, 1))});
  across_parts(away, AluOp::add, share, &variance);
  return out;
}

// One value for each row, which all its partitions have, to HBM.
void RegionEmitter::store_of_rows(const Leaf& leaf, const Tile& column) {
  const std::int64_t parts = layout_.parts, rows = rows_ / parts;
  const View turned = turned_column(column), each = k_.sbuf({1, rows}, graph_.type(leaf.value).dtype);
  k_.tensor_copy({.dst = each, .src = turned.ap({{rows_, 1}, {parts, rows}})});
  const View& hbm = leaf.output >= 0 ? storage_.outputs[leaf.output] : storage_.of.at(leaf.base);
  k_.dma_copy({.dst = hbm.ap({{1, 1}, {leaf.group, rows}}, place(leaf)), .src = each});
}

}  // namespace kiln::tensor
