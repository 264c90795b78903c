#include "kiln/tensor/lower/copies.h"

#include "kiln/tensor/ir/rules.h"
#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {

using isa::Index;
using isa::View;

namespace {

// Calls body(to, from, more_to, more_from) for what one DMA takes.
void nest(isa::Kernel& k, const Dims& to, const Dims& from, Index more_to, Index more_from,
          const std::function<void(const Dims&, const Dims&, Index, Index)>& body, int most = isa::kMaxOperandRank) {
  if (to.size() <= static_cast<std::size_t>(most)) return body(to, from, more_to, more_from);
  k.loop(to[0].count, [&](Index i) {
    nest(k, Dims(to.begin() + 1, to.end()), Dims(from.begin() + 1, from.end()), more_to + i * to[0].stride,
         more_from + i * from[0].stride, body, most);
  });
}

Dims at_least_one(Dims d) {
  if (d.empty()) d.push_back({1, 1});
  return d;
}

// The length of the rows that a long run is cut into, where a DMA begins at a place that is known at run time: it makes
// a descriptor for each row, and moves a run without rows element by element. 0: it stays.
std::int64_t row_of_run(std::int64_t count, DType t) {
  constexpr std::int64_t kShortBytes = 512, kLongBytes = 65536;
  if (count * size_bytes(t) <= 2 * kShortBytes) return 0;
  for (std::int64_t rows = std::max<std::int64_t>(2, count * size_bytes(t) / kLongBytes);
       count / rows * size_bytes(t) >= kShortBytes; ++rows) {
    if (count % rows == 0) return count / rows;
  }
  return 0;
}

void cut_runs(std::vector<Dims>& lists, DType t) {
  for (const Dims& d : lists) {
    if (d.size() != 1 || d[0].stride != 1) return;
  }
  const std::int64_t row = row_of_run(lists[0][0].count, t);
  if (row == 0) return;
  for (Dims& d : lists) d = {{row, d[0].count / row}, {1, row}};
}

}  // namespace

void Copies::move(const View& dst, const Strided& to, const View& src, const Strided& from) {
  if (to.size() == 0) return;
  std::vector<Dims> lists{to.dims, from.dims};
  join_together(lists);
  if (regroup(dst, {to.offset, lists[0]}, src, {from.offset, lists[1]})) return;
  nest(k, at_least_one(lists[0]), at_least_one(lists[1]), to.offset, from.offset,
       [&](const Dims& d, const Dims& s, Index more_d, Index more_s) {
         if (turn(dst, d, more_d, src, s, more_s) || thin_out(dst, d, more_d, src, s, more_s)) return;
         k.dma_copy({.dst = dst.ap(d, more_d), .src = src.ap(s, more_s)});
       });
}

// What is contiguous on one side and not on the other goes through the tensor engine: 128 rows of the source, turned,
// are stored as rows of the destination. False when single elements are not at stake, and where the tensor engine
// multiplies to transpose: one NaN or infinity would spoil all that is turned with it.
bool Copies::turn(const View& dst, const Dims& to, Index at, const View& src, const Dims& from, Index from_at) {
  constexpr std::int64_t kTogether = 1024;  // columns of a row of the destination that are stored at once
  const std::size_t last = to.size() - 1;
  if (!arch.features.tensor_transpose_mode || to.size() < 2 || to[last].stride != 1 || from[last].stride == 1 ||
      from[last].stride == 0)
    return false;
  if (!Turner::takes(dst.dtype()) || dst.dtype() != src.dtype() || to[last].count < 8) return false;
  std::size_t other = to.size();
  for (std::size_t d = 0; d < last; ++d) {
    if (from[d].stride == 1 && from[d].count >= 8) other = d;
  }
  if (other == to.size()) return false;
  if (turn_blocks(dst, to, at, src, from, from_at, other)) return true;
  const Turner turner{k, arch, [] { return Engine::unknown; }};
  const std::function<void(std::size_t, Index, Index)> each = [&](std::size_t d, Index a, Index b) {
    if (d == last) {
      k.tiles(to[other].count, kBlock, [&](Index r, std::int64_t rows) {
        k.tiles(to[last].count, kTogether, [&](Index c, std::int64_t columns) {
          const Tile tile = new_tile(k, Memory::sbuf, rows, {1, {columns}}, dst.dtype());
          turner.from_hbm(tile, src, b + r + c * from[last].stride, rows, from[last].stride, columns);
          k.dma_copy({.dst = dst.ap({{to[other].stride, rows}, {1, columns}}, a + r * to[other].stride + c),
                      .src = view_of(tile, {{1, columns}})});
        });
      });
    } else if (d == other) {
      each(d + 1, a, b);
    } else {
      k.loop(to[d].count, [&](Index i) { each(d + 1, a + i * to[d].stride, b + i * from[d].stride); });
    }
  };
  each(0, at, from_at);
  return true;
}

// Every second, third or fourth element of rows: rows come as they are, and an engine takes what is wanted. As a DMA
// every element would be a transfer.
bool Copies::thin_out(const View& dst, Dims to, const Index& at, const View& src, Dims from, const Index& from_at) {
  constexpr std::int64_t kFar = 4, kMany = 16, kRowBytes = 32768;
  if (to.size() == 1) {  // one row: some of it on each partition
    std::int64_t rows = kBlock;
    while (to[0].count % rows != 0) --rows;
    const std::int64_t each = to[0].count / rows;
    to = {{to[0].stride * each, rows}, {to[0].stride, each}};
    from = {{from[0].stride * each, rows}, {from[0].stride, each}};
  }
  const isa::Dim taken = from.back();
  const std::int64_t n = taken.count, span = (n - 1) * taken.stride + 1;
  if (to.back().stride != 1 || taken.stride < 2 || taken.stride > kFar || n < kMany) return false;
  if (span * size_bytes(src.dtype()) > kRowBytes) return false;
  const std::size_t row = to.size() - 2;
  const std::function<void(std::size_t, Index, Index)> each = [&](std::size_t d, const Index& a, const Index& b) {
    if (d < row) {
      k.loop(to[d].count, [&](Index i) { each(d + 1, a + i * to[d].stride, b + i * from[d].stride); });
      return;
    }
    k.tiles(to[row].count, kBlock, [&](Index first, std::int64_t rows) {
      const View whole = k.sbuf({rows, span}, src.dtype()), thin = k.sbuf({rows, n}, dst.dtype());
      k.dma_copy({.dst = whole, .src = src.ap({{from[row].stride, rows}, {1, span}}, b + first * from[row].stride)});
      k.tensor_copy({.dst = thin, .src = whole.ap({{span, rows}, {taken.stride, n}})});
      k.dma_copy({.dst = dst.ap({{to[row].stride, rows}, {1, n}}, a + first * to[row].stride), .src = thin});
    });
  };
  each(0, at, from_at);
  return true;
}

// One row of SBUF is stored over and over.
void Copies::fill(const View& dst, const Strided& to, double x) {
  if (to.size() == 0) return;
  const bool real = is_float(dst.dtype());
  std::vector<Dims> lists{to.dims};
  join_together(lists);
  const Dims dims = at_least_one(lists[0]);
  const std::int64_t n = std::min<std::int64_t>(dims.back().count, 4096);
  const View row = k.sbuf({1, n}, dst.dtype());
  k.memset({.dst = row, .value = real ? isa::Operand(x) : isa::Operand(static_cast<std::int64_t>(x))});
  Dims whole = dims, again = dims;  // the row, over and over, for all that one DMA takes
  for (isa::Dim& d : again) d.stride = 0;
  again.back().stride = 1;
  const std::int64_t size = whole.back().count, stride = whole.back().stride;
  k.tiles(size, n, [&](Index first, std::int64_t m) {
    whole.back().count = again.back().count = m;
    nest(
        k, whole, again, to.offset + first * stride, 0,
        [&](const Dims& d, Dims s, Index more, Index) {
          s.insert(s.begin(), {n, 1});
          k.dma_copy({.dst = dst.ap(d, more), .src = row.ap(s)});
        },
        isa::kMaxOperandRank - 1);
  });
}

void Copies::place(const View& dst, const Strided& to, Value v) {
  if (const auto x = splat_of(graph, v)) return fill(dst, to, *x);
  if (fusion.inlined.contains(v) && graph.op(v).code == OpCode::concat && !is_on_chip(v)) return join(dst, to, v);
  if (fusion.inlined.contains(v)) return;  // the region that computed it has put it there
  const Source s = source_of(graph, fusion, v);
  move(dst, to, storage.of.at(s.base), s.access);
}

std::pair<View, Strided> Copies::stored(Value v) {
  const Shape& shape = graph.type(v).shape;
  if (splat_of(graph, v)) {
    const DType t = graph.type(v).dtype == DType::bool_ ? DType::uint8 : graph.type(v).dtype;
    const View made = k.hbm(shape.empty() ? isa::Shape{1} : shape, t);
    fill(made, Strided::contiguous(shape), *splat_of(graph, v));
    return {made, Strided::contiguous(shape)};
  }
  const Source s = source_of(graph, fusion, v);
  return {storage.of.at(s.base), s.access};
}

void Copies::output(int index) {
  const Value v = graph.outputs()[index].value;
  const Strided whole = Strided::contiguous(graph.type(v).shape);
  const bool has_source = !is_view(graph.op(v).code) || splat_of(graph, v) || find_source(graph, fusion, v);
  if (has_source) return place(storage.outputs[index], whole, v);
  Value base = v;
  const auto to = written_back(graph, v, whole, base);
  if (!to) internal_error(__FILE__, __LINE__, "an output that is neither read nor written at fixed strides");
  place(storage.outputs[index], *to, base);
}

void Copies::ramp(Value v) {
  const Op& op = graph.op(v);
  ramp(storage.of.at(v), op.type.shape[op.integer("axis")]);
}

void Copies::ramp(const View& dst, std::int64_t n) {
  constexpr std::int64_t most = 8192;
  for (std::int64_t first = 0; first < n; first += most) {
    const std::int64_t m = std::min(most, n - first);
    const View row = k.sbuf({1, m}, dst.dtype());
    k.iota({.dst = row, .pattern = {{1, m}}, .offset = first});
    k.dma_copy({.dst = dst.ap({{1, m}}, first), .src = row});
  }
}

// A pattern that begins `start` times `stride` further: where a loop counts its passes that is no run-time address.
View Copies::from_start(const View& hbm, const Dims& dims, std::int64_t offset, std::int64_t stride, Value start) {
  if (const auto at = splat_of(graph, start)) return hbm.ap(dims, offset + static_cast<std::int64_t>(*at) * stride);
  const Source s = source_of(graph, fusion, start);
  if (pass && s.base == pass->first) return hbm.ap(dims, offset + pass->second * stride);
  return hbm.ap(dims, offset).scalar_offset(loaded(s), stride);
}

isa::Reg Copies::loaded(const Source& s) {
  const isa::Reg reg = k.reg();
  k.register_load({.dst = reg, .src = storage.of.at(s.base).ap({{1, 1}}, storage.begin(s.base) + s.access.offset)});
  return reg;
}

void Copies::alias(Value v) {
  const Op& op = graph.op(v);
  const auto [source, x] = stored(op.operands[0]);
  const std::int64_t stride = x.dims[op.integer("axis")].stride;
  const Source start = source_of(graph, fusion, op.operands[1]);
  const bool counted = pass && start.base == pass->first;
  storage.begins[v] = counted ? x.offset + pass->second * stride : Index(x.offset);
  storage.of[v] = counted ? source : source.scalar_offset(loaded(start), stride);
}

void Copies::alias_part(Value part, Value update) {
  const Op& op = graph.op(update);
  const std::int64_t stride = Strided::contiguous(op.type.shape).dims[op.integer("axis")].stride;
  const View& whole = storage.of.at(update);
  const auto at = splat_of(graph, op.operands[2]);
  const Source start = source_of(graph, fusion, op.operands[2]);
  const bool counted = !at && pass && start.base == pass->first;
  storage.begins[part] = at        ? Index(static_cast<std::int64_t>(*at) * stride)
                         : counted ? pass->second * stride
                                   : Index(0);
  storage.of[part] = at || counted ? whole : whole.scalar_offset(loaded(start), stride);
}

void Copies::scatter(Value v) {
  const Op& op = graph.op(v);
  const Strided whole = Strided::contiguous(op.type.shape);
  const View& dst = storage.of.at(v);
  if (!in_place.contains(v)) place(dst, whole, op.operands[0]);
  const auto [indices, at] = stored(op.operands[1]);
  const auto [updates, from] = stored(op.operands[2]);
  const std::int64_t row = whole.dims[0].stride, n = graph.type(op.operands[1]).size();
  const auto rows = reshaped(from, {n, row});
  if (!rows) internal_error(__FILE__, __LINE__, "rows of a scatter that are no pattern");
  k.tiles(n, 128, [&, indices = indices, updates = updates, at = at](Index first, std::int64_t m) {
    const View index = k.sbuf({m, 1}, indices.dtype()), tile = k.sbuf({m, row}, dst.dtype());
    k.dma_copy(
        {.dst = index, .src = indices.ap({{at.dims[0].stride, m}, {1, 1}}, at.offset + first * at.dims[0].stride)});
    k.dma_copy({.dst = tile,
                .src = updates.ap(
                    {rows->dims[0].count == 1 ? isa::Dim{row, m} : isa::Dim{rows->dims[0].stride, m}, rows->dims[1]},
                    rows->offset + first * rows->dims[0].stride)});
    k.dma_copy({.dst = dst.ap({{row, m}, {1, row}}).vector_offset(index, row), .src = tile});
  });
}

// Part after part.
void Copies::join(const View& dst, const Strided& to, Value v) {
  const Op& op = graph.op(v);
  const std::int64_t axis = op.integer("axis");
  Strided part = to;
  part.offset += join_start(op) * part.dims[axis].stride;
  for (Value x : op.operands) {
    part.dims[axis].count = graph.type(x).shape[axis];
    place(dst, part, x);
    part.offset += part.dims[axis].count * part.dims[axis].stride;
  }
}

void Copies::emit(Value v) {
  const Op& op = graph.op(v);
  const Strided whole = Strided::contiguous(op.type.shape);
  if (is_join_op(op.code)) {
    join(storage.of.at(v), whole, v);
    if (op.code == OpCode::pair_gather_hbm) k.core_barrier({.data = storage.of.at(v), .cores = {0, 1}});
  } else if (op.code == OpCode::cast) {
    place(storage.of.at(v), whole, op.operands[0]);
  } else if (op.code == OpCode::scatter_rows) {
    scatter(v);
  } else if (op.code == OpCode::scatter) {
    scatter_in_order(v);
  } else if (const auto& ops = fusion.regions[fusion.region_of[v]].ops; graph.op(ops[0]).code == OpCode::conv) {
    convolve(ops);
  } else if (op.code == OpCode::mx_matmul) {
    multiply_mx(v);
  } else if (op.code == OpCode::update_slice) {
    const std::int64_t axis = op.integer("axis");
    if (!in_place.contains(v)) place(storage.of.at(v), whole, op.operands[0]);
    const auto [source, part] = stored(op.operands[1]);
    Strided to = whole;
    to.dims[axis].count = part.dims[axis].count;
    std::vector<Dims> lists{to.dims, part.dims};
    join_together(lists);
    if (!splat_of(graph, op.operands[2])) cut_runs(lists, op.type.dtype);
    k.dma_copy({.dst = from_start(storage.of.at(v), at_least_one(lists[0]), 0, whole.dims[axis].stride, op.operands[2]),
                .src = source.ap(at_least_one(lists[1]), part.offset)});
  } else {
    const auto [source, x] = stored(op.operands[0]);
    Strided from = x;
    const std::int64_t axis = op.integer("axis");
    from.dims[axis].count = op.type.shape[axis];
    std::vector<Dims> lists{whole.dims, from.dims};
    join_together(lists);
    if (!splat_of(graph, op.operands[1])) cut_runs(lists, op.type.dtype);
    k.dma_copy({.dst = storage.of.at(v).ap(at_least_one(lists[0])),
                .src = from_start(source, at_least_one(lists[1]), from.offset, x.dims[axis].stride, op.operands[1])});
  }
}

}  // namespace kiln::tensor
