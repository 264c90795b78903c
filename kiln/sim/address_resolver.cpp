#include "kiln/sim/address_resolver.h"

#include <fmt/format.h>

#include <algorithm>

#include "kiln/isa/semantics/operand_rules.h"
#include "kiln/isa/text/print.h"
#include "kiln/sim/checks.h"
#include "kiln/sim/float_bits.h"
#include "kiln/sim/rules.h"
#include "kiln/sim/tracker.h"

namespace kiln::sim {
using namespace isa;

namespace {

// Rows at an address out of bounds are left out instead of being an error.
bool skips_out_of_bounds(const InstView& inst) {
  return inst.get_or(AttrType::OobMode, OobMode::error) == OobMode::skip;
}

// value * scale. A product beyond every tensor is held at a number that is outside too and can be added to.
std::int64_t distance(std::int64_t value, std::int64_t scale) {
  constexpr std::int64_t kFar = std::int64_t{1} << 60;
  std::int64_t product;
  if (__builtin_mul_overflow(value, scale, &product)) return (value < 0) == (scale < 0) ? kFar : -kFar;
  return std::clamp(product, -kFar, kFar);
}

[[noreturn]] void out_of_bounds(const Run& run, const Access& access, const std::string& what) {
  const Program& program = run.program();
  const Tensor& t = program.tensors[access.tensor];
  raise(run_rules::kTable, run_rules::kIndexInside,
        {.found = fmt::format("{} of `{}`", what, t.name),
         .allowed = fmt::format("`{}` is {} {}", t.name, name(t.dtype), shape_text(whole(program, access.tensor))),
         .loc = run.loc(),
         .context = print(program, run.inst()),
         .notes = {{fmt::format("`{}` was declared here", t.name), program.locs[t.loc]}}});
}

}  // namespace

void AddressResolver::add_operands(Run& run, std::span<const Lent> lent, Operands& operands) const {
  const int params = static_cast<int>(run.row().params.size());
  const auto binding_of = [&](int param, TensorId tensor) -> const Binding& {
    if (!run.row().params[param].is_output()) {
      for (const Lent& l : lent) {
        if (l.tensor == tensor) return l.from;
      }
    }
    return at_.bindings[tensor];
  };
  for (int param = 0; param < params; ++param) {
    const Arg& arg = run.arg(param);
    if (arg.kind == Arg::Kind::access)
      add_operand(run, param, run.access(param), binding_of(param, run.access(param).tensor), operands);
    if (arg.kind == Arg::Kind::accesses) {
      for (const Access& a : run.accesses(param)) add_operand(run, param, a, binding_of(param, a.tensor), operands);
    }
  }
}

void AddressResolver::add_operand(Run& run, int param, const Access& access, const Binding& binding,
                                  Operands& operands) const {
  operands.may_overlap |= access.dynamic != kNone || access.offset.term_count || access.partition.term_count ||
                          at_.program.tensors[access.tensor].address;
  Tile own;  // a collective takes any number of tiles, and `run` does not see them
  Tile& tile = run.facts().collective ? own : run.add_tile(param);
  resolve(tile, access, binding, run, operands.keep);
  if (kChecks && access.dynamic != kNone) check_start(tile, param, access, run);
  Storage* elsewhere = nullptr;
  if (!at_.postponed.empty() && !run.row().params[param].is_output())
    elsewhere = at_.postponed.move(access.tensor, tile);
  operands.list.push_back({param, &access, elsewhere ? elsewhere : binding.storage.get(), tile});
}

void AddressResolver::place(Tile& tile, const Access& a, const Binding& b) const {
  const Tensor& t = at_.program.tensors[a.tensor];
  Storage& s = *b.storage;
  const std::int64_t size = size_bytes(a.dtype);
  const std::int64_t offset = at_.loops.evaluate(a.offset) * size + b.byte;
  tile.dtype = a.dtype;
  tile.row_offset = nullptr;
  tile.column = nullptr;
  tile.group_rows = 0;
  tile.rows = a.rows();
  tile.free_size = a.row_size();
  tile.free_rank = static_cast<std::uint8_t>(merge_dims(a.dims + 1, a.rank - 1, tile.free));
  if (is_on_chip(t.memory)) {
    const std::int64_t partition = b.row + at_.loops.evaluate(a.partition);
    tile.data = s.data + partition * s.row_bytes + offset;
    tile.lane = static_cast<std::int32_t>(partition);
    tile.row_bytes = s.row_bytes;
  } else {
    tile.data = s.data + offset;
    tile.row_bytes = a.dims[0].stride * size;
    tile.lane = 0;
  }
}

Soon AddressResolver::foresee(const Access& a) const {
  const Tensor& t = at_.program.tensors[a.tensor];
  const Binding& b = at_.bindings[a.tensor];
  if (is_on_chip(t.memory) || !b.storage) return {};
  std::int64_t moved = 0;  // elements
  if (a.dynamic != kNone) {
    const Dynamic& d = at_.program.dynamics[a.dynamic];
    if (d.kind != Dynamic::Kind::scalar_register || !at_.registers.is_defined(d.source)) return {};
    moved = distance(static_cast<std::int32_t>(at_.registers.read(d.source, t.loc)), d.scale);
  }
  Range reach{at_.loops.evaluate(a.offset) + moved, at_.loops.evaluate(a.offset) + moved};
  for (int d = 0; d < a.rank; ++d) {
    const std::int64_t steps = a.dims[d].stride * (a.dims[d].count - 1);
    (steps < 0 ? reach.min : reach.max) += steps;
  }
  const std::int64_t size = size_bytes(a.dtype);
  if (reach.min < 0 || reach.max >= t.size() * size_bytes(t.dtype) / size) return {};
  Tile tile;
  place(tile, a, b);
  if (!tile.row_is_contiguous()) return {};
  return {tile.data + moved * size, tile.row_bytes, static_cast<std::size_t>(tile.rows),
          static_cast<std::size_t>(tile.free_size * size)};
}

void AddressResolver::resolve(Tile& tile, const Access& a, const Binding& b, const Run& run, Keep& keep) const {
  place(tile, a, b);
  if (a.dynamic == kNone) return;
  const Dynamic& d = at_.program.dynamics[a.dynamic];
  switch (d.kind) {
    case Dynamic::Kind::scalar_register:
      return resolve_scalar(tile, a, static_cast<std::int32_t>(at_.registers.read(d.source, run.inst().loc)), run,
                            keep);
    case Dynamic::Kind::scalar_tile:
      return resolve_scalar(tile, a, read_indices(at_.program.accesses[d.source], run, 1, 1, keep).at(0), run, keep);
    case Dynamic::Kind::vector:
      return resolve_vector(tile, a, at_.program.accesses[d.source], run, keep);
    case Dynamic::Kind::indirect:
      return resolve_indirect(tile, a, at_.program.accesses[d.source], run, keep);
  }
}

// Values of an index tile, row by row. The first `count` of each group of partitions, column by column, must
// be there by now.
std::vector<std::int64_t> AddressResolver::read_indices(const Access& index, const Run& run, std::int64_t group,
                                                        std::int64_t count, Keep& keep) const {
  Tile tile;
  resolve(tile, index, at_.bindings[index.tensor], run, keep);
  Storage& s = *at_.bindings[index.tensor].storage;
  if (!s.is_idle()) at_.queue.wait();
  if (kChecks) check_offsets(run, at_.origins, {-1, &index, &s, tile}, group, count);
  std::vector<std::int64_t> values(tile.count());
  if (tile.dtype == DType::int32 && tile.free_size == 1 && !tile.row_offset && !tile.column) {  // as nearly all are
    for (std::int64_t r = 0; r < tile.rows; ++r) values[r] = *reinterpret_cast<const std::int32_t*>(tile.row(r));
    return values;
  }
  for (std::int64_t r = 0; r < tile.rows; ++r) {
    for_runs(tile, r, 0, tile.free_size,
             [&](std::byte* at, std::int64_t stride, std::int64_t n, std::int64_t position) {
               for (std::int64_t i = 0; i < n; ++i) {
                 const std::int64_t column = position + i;
                 values[r * tile.free_size + column] =
                     to_int(tile.dtype, load_bits(tile.dtype, at + i * stride * tile.element_bytes()));
               }
             });
  }
  return values;
}

// The whole access moves by value * scale elements. On chip a scale of whole partitions moves the first
// partition.
void AddressResolver::resolve_scalar(Tile& tile, const Access& a, std::int64_t value, const Run& run,
                                     Keep& keep) const {
  const Tensor& t = at_.program.tensors[a.tensor];
  const std::int64_t scale = at_.program.dynamics[a.dynamic].scale;
  const std::int64_t per_partition = t.bytes_per_partition() / size_bytes(a.dtype);
  const bool by_partition = is_on_chip(t.memory) && scale % per_partition == 0;
  const std::int64_t elements = by_partition ? 0 : distance(value, scale);
  const std::int64_t partitions = by_partition ? distance(value, scale / per_partition) : 0;
  Range free{at_.loops.evaluate(a.offset) + elements, at_.loops.evaluate(a.offset) + elements};
  for (int d = is_on_chip(t.memory) ? 1 : 0; d < a.rank; ++d) {
    const std::int64_t reach = a.dims[d].stride * (a.dims[d].count - 1);
    (reach < 0 ? free.min : free.max) += reach;
  }
  const std::int64_t first = at_.loops.evaluate(a.partition) + partitions;
  const bool inside = free.min >= 0 && free.max < per_partition &&
                      (!is_on_chip(t.memory) || (first >= 0 && first + a.rows() <= t.partitions()));
  if (!inside) {
    if (!skips_out_of_bounds(run))
      out_of_bounds(run, a, fmt::format("offset {}{} leads outside", value, float_bits_text(value)));
    auto offsets = std::make_shared<std::vector<std::int64_t>>(tile.rows, kSkipRow);
    tile.row_offset = offsets->data();
    keep.push_back(std::move(offsets));
    return;
  }
  tile.data += elements * tile.element_bytes() + partitions * tile.row_bytes;
  tile.lane += static_cast<std::int32_t>(partitions);
}

// Before the run, operand.R7 holds the partition that the offset starts from; this is the one it leads to.
void AddressResolver::check_start(const Tile& tile, int param, const Access& a, const Run& run) const {
  const Tensor& t = at_.program.tensors[a.tensor];
  const std::int64_t unit = start_unit(run, at_.arch, run.row().params[param], tile.rows);
  if (!is_on_chip(t.memory) || tile.lane % unit == 0) return;
  const std::string operand(run.row().params[param].name);
  raise(
      run_rules::kTable, run_rules::kStartPartition,
      {.found = fmt::format("`{}` has {} partitions of `{}` from partition {}", operand, tile.rows, t.name, tile.lane),
       .allowed = unit < at_.arch.partitions ? fmt::format("multiples of {}", unit) : "partition 0",
       .loc = run.loc(),
       .context = print(at_.program, run.inst()),
       .operand = operand,
       .notes = {{fmt::format("`{}` was declared here", t.name), at_.program.locs[t.loc]}}});
}

namespace {

// Whether rows that begin at values * scale lie in a tensor of `total` elements, all of them.
bool are_inside(const std::vector<std::int64_t>& values, std::int64_t scale, const Range& row, std::int64_t total) {
  if (values.empty() || scale < 0) return false;
  std::int64_t least = values[0], most = values[0];
  for (const std::int64_t v : values) least = std::min(least, v), most = std::max(most, v);
  return least >= 0 && distance(least, scale) + row.min >= 0 && distance(most, scale) + row.max < total;
}

}  // namespace

// Row w starts at index[w] * scale. A negative index counts as a huge one, hence out of bounds.
void AddressResolver::resolve_vector(Tile& tile, const Access& a, const Access& index, const Run& run,
                                     Keep& keep) const {
  const Tensor& t = at_.program.tensors[a.tensor];
  const std::int64_t scale = at_.program.dynamics[a.dynamic].scale;
  const std::int64_t total = t.size() * size_bytes(t.dtype) / size_bytes(a.dtype);
  std::vector<std::int64_t> values = read_indices(index, run, index.rows(), tile.rows, keep);
  Range row{at_.loops.evaluate(a.offset), at_.loops.evaluate(a.offset)};
  for (int d = 1; d < a.rank; ++d) {
    const std::int64_t reach = a.dims[d].stride * (a.dims[d].count - 1);
    (reach < 0 ? row.min : row.max) += reach;
  }
  const std::int64_t rows = index.rows(), columns = index.row_size(), size = tile.element_bytes();
  if (columns == 1 && tile.rows == rows && are_inside(values, scale, row, total)) {  // as nearly all are
    for (std::int64_t& v : values) v *= scale * size;
    auto offsets = std::make_shared<std::vector<std::int64_t>>(std::move(values));
    tile.row_offset = offsets->data();
    keep.push_back(std::move(offsets));
    return;
  }
  auto offsets = std::make_shared<std::vector<std::int64_t>>(tile.rows);
  for (std::int64_t w = 0; w < tile.rows; ++w) {
    const std::int64_t v = values.at(w < rows ? w * columns : w % rows * columns + w / rows);
    const std::int64_t moved = distance(v, scale);
    const bool inside = v >= 0 && moved + row.min >= 0 && moved + row.max < total;
    if (!inside && !skips_out_of_bounds(run))
      out_of_bounds(run, a, fmt::format("index {} in row {} leads outside", v, w));
    (*offsets)[w] = inside ? moved * size : kSkipRow;
  }
  tile.row_offset = offsets->data();
  keep.push_back(std::move(offsets));
}

// Free element i of the partitions of group g is element index[g * G + i mod G, i div G] of the tensor.
void AddressResolver::resolve_indirect(Tile& tile, const Access& a, const Access& index, const Run& run,
                                       Keep& keep) const {
  const Tensor& t = at_.program.tensors[a.tensor];
  const std::int64_t group = run.engine() == Engine::tensor ? 32 : 16;
  const std::int64_t groups = (tile.rows + group - 1) / group;
  const std::int64_t per_partition = t.bytes_per_partition() / size_bytes(a.dtype) - at_.loops.evaluate(a.offset);
  const std::vector<std::int64_t> values = read_indices(index, run, group, tile.free_size, keep);
  const std::int64_t columns = index.row_size();
  auto table = std::make_shared<std::vector<std::int32_t>>(groups * tile.free_size);
  for (std::int64_t g = 0; g < groups; ++g) {
    for (std::int64_t i = 0; i < tile.free_size; ++i) {
      const std::int64_t r = g * group + i % group, c = i / group;
      if (r >= index.rows() || c >= columns) out_of_bounds(run, index, fmt::format("offset {} is missing", i));
      const std::int64_t v = values[r * columns + c];
      if (v < 0 || v >= per_partition)
        out_of_bounds(run, a, fmt::format("offset {} at position {} leads outside", v, i));
      (*table)[g * tile.free_size + i] = static_cast<std::int32_t>(v);
    }
  }
  tile.column = table->data();
  tile.group_rows = static_cast<std::int32_t>(group);
  keep.push_back(std::move(table));
}

}  // namespace kiln::sim
