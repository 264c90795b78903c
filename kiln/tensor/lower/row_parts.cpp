// Rows that lie on several partitions each: what the partitions of a row have come to by themselves is combined on the
// tensor engine, and all of them get it. Rows of one block do not touch each other: they are turned and reduced apart,
// so that one that is no number spoils no other.
#include <algorithm>

#include "kiln/tensor/lower/region.h"

namespace kiln::tensor {

using isa::View;

namespace {
constexpr std::int64_t kTurnedAtOnce = 32;  // partitions, by the vector engine
}

// Ones that sums of a row are products with, where there are blocks of one row.
void RegionEmitter::make_ones_of_parts() {
  const std::int64_t at_once = layout_.units_of(arch_.partitions);
  if (layout_.parts == 1 || (at_once > 1 && layout_.units() % at_once != 1)) return;
  ones_ = k_.sbuf({layout_.parts, layout_.parts}, DType::float32);
  k_.memset({.dst = *ones_, .value = 1.0});
}

// Whether a few elements of each row, which blocks of rows differ in and nothing else, come for all blocks at once:
// such as the gain of each channel.
bool RegionEmitter::comes_for_all_blocks(int index) const {
  constexpr std::int64_t kMostElements = 32, kMostBytes = 8192;
  const Leaf& leaf = layout_.loads[static_cast<std::size_t>(index)];
  if (layout_.parts == 1 || layout_.units() <= layout_.units_of(arch_.partitions) || leaf.group == 0) return false;
  if (leaf.is_matrix || kept(leaf) || layout_.footprint(index) || !is_float(graph_.type(leaf.value).dtype))
    return false;
  std::int64_t n = 1;
  for (const isa::Dim& d : leaf.free) n *= d.stride == 0 ? 1 : d.count;
  return n <= kMostElements && n * layout_.units() * 4 <= kMostBytes &&
         std::all_of(leaf.loops.begin(), leaf.loops.end(), [](std::int64_t step) { return step == 0; });
}

// In float32: a block's elements stand at its first unit.
void RegionEmitter::load_for_all_blocks(int index) {
  const Leaf& leaf = layout_.loads[static_cast<std::size_t>(index)];
  Dims from;
  for (const isa::Dim& d : leaf.free) {
    if (d.count > 1 && d.stride != 0) from.push_back(d);
  }
  const std::int64_t n = product(Strided{0, from}.shape()), units = layout_.units();
  const std::int64_t at_once = layout_.units_of(arch_.partitions), lanes = at_once * layout_.parts;
  const Tile all = new_tile(k_, Memory::sbuf, lanes, {1, {units * n}}, DType::float32);
  const auto copy_in = [&](std::int64_t first, std::int64_t blocks, std::int64_t rows) {
    if (blocks == 0 || rows == 0) return;
    Dims pattern = layout_.on_partitions(leaf, rows);
    pattern.push_back({leaf.group * at_once, blocks});
    pattern.insert(pattern.end(), from.begin(), from.end());
    k_.dma_copy(
        {.dst = all.storage.ap({{units * n, rows}, {at_once * n, blocks}, {1, n}}, first * n),
         .src = storage_.of.at(leaf.base).ap(pattern, storage_.begin(leaf.base) + leaf.offset + first * leaf.group)});
  };
  copy_in(0, units / at_once, lanes);
  copy_in(units / at_once * at_once, 1, units % at_once * layout_.parts);
  for_all_blocks_[index] = all;
}

// Those of the block that is worked on.
Tile RegionEmitter::of_this_block(int index) const {
  const Tile& all = for_all_blocks_.at(index);
  const Leaf& leaf = layout_.loads[static_cast<std::size_t>(index)];
  Shape varies;
  for (const isa::Dim& d : leaf.free) varies.push_back(d.stride == 0 ? 1 : d.count);
  Tile out{all.storage, start_ * product(varies), {0, 1}, Strided::contiguous(varies).dims, rows_};
  for (std::size_t d = 0; d < varies.size(); ++d) {
    if (leaf.free[d].stride == 0) out.dims[d] = {0, leaf.free[d].count};
  }
  return out;
}

// One value of each partition, as a row on one partition. Where the tensor engine multiplies to turn, the vector engine
// does it: what is no number would spoil all others.
View RegionEmitter::turned_column(const Tile& column) {
  const View data = column_of(in_dtype(column, {1, {1}}, DType::float32));
  if (arch_.features.tensor_transpose_mode) {
    const View turned = k_.psum({1, rows_}, DType::float32);
    k_.nc_transpose({.dst = turned, .data = data});
    return turned;
  }
  const View turned = k_.sbuf({1, rows_}, DType::float32);
  for (std::int64_t at = 0; at < rows_; at += kTurnedAtOnce) {
    const std::int64_t n = std::min(kTurnedAtOnce, rows_ - at);
    k_.nc_transpose({.dst = turned.slice(1, at, n), .data = data.slice(0, at, n), .engine = Engine::vector});
  }
  return turned;
}

// One value for each row, on all of its partitions.
View RegionEmitter::on_all_parts(const View& each) {
  const std::int64_t parts = layout_.parts, rows = rows_ / parts;
  const View spread = each.ap({{rows, 1}, {1, rows}, {0, parts}});
  if (arch_.features.tensor_transpose_mode) {
    const View all = k_.psum({rows_, 1}, DType::float32);
    k_.nc_transpose({.dst = all, .data = spread});
    return all;
  }
  const View row = k_.sbuf({1, rows_}, DType::float32), all = k_.sbuf({rows_, 1}, DType::float32);
  k_.tensor_copy({.dst = row.ap({{rows_, 1}, {parts, rows}, {1, parts}}), .src = spread});
  for (std::int64_t at = 0; at < rows_; at += kTurnedAtOnce) {
    const std::int64_t n = std::min(kTurnedAtOnce, rows_ - at);
    k_.nc_transpose({.dst = all.slice(0, at, n), .data = row.slice(1, at, n), .engine = Engine::vector});
  }
  return all;
}

// factor * what the partitions of each row have together, on each of them.
Tile RegionEmitter::across_parts(const Tile& column, AluOp op, double factor, const Tile* into) {
  const std::int64_t parts = layout_.parts, rows = rows_ / parts;
  View all;
  if (rows == 1 && op == AluOp::add) {
    all = k_.psum({rows_, 1}, DType::float32);
    k_.nc_matmul({.dst = all,
                  .stationary = *ones_,
                  .moving = column_of(in_dtype(column, {1, {1}}, DType::float32)),
                  .is_stationary_onezero = true});
  } else {
    const View turned = turned_column(column), each = k_.sbuf({1, rows}, DType::float32);
    k_.tensor_reduce({.dst = each, .op = op, .data = turned.ap({{rows_, 1}, {parts, rows}, {1, parts}}), .axis = {2}});
    all = on_all_parts(each);
  }
  const Tile out = into ? *into : new_tile(k_, Memory::sbuf, rows_, {1, {1}}, DType::float32);
  if (factor == 1)
    k_.tensor_copy({.dst = column_of(out), .src = all, .engine = evacuator()});
  else
    k_.tensor_scalar(
        {.dst = column_of(out), .data = all, .op0 = AluOp::multiply, .operand0 = factor, .engine = evacuator()});
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
  k_.tensor_tensor({.dst = column_of(away),
                    .data1 = column_of(mean),
                    .data2 = column_of(all),
                    .op = AluOp::subtract,
                    .engine = pair_engine(away, mean, all)});
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
