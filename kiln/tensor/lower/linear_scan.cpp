// Recurrences with a factor and a summand for each step, along one free dimension; the others one by one.
#include "kiln/tensor/lower/region.h"
#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {

using isa::Index;

// What the first piece of wide rows goes on from.
Tile RegionEmitter::before_linear_scan(Value v) {
  const Free one{1, {1}};
  const Given before = given(v, 2);
  const Tile out = new_tile(k_, Memory::sbuf, rows_, one, DType::float32);
  if (before.number)
    fill(out, one, *before.number);
  else
    k_.tensor_copy({.dst = column_of(out), .src = column_of(before.tile)});
  return out;
}

Tile RegionEmitter::linear_scan(Value v, const Tile* into) {
  const Op& op = graph_.op(v);
  const Free free = free_of(v);
  const auto axis = static_cast<std::size_t>(op.integer("axis")) + 1;  // behind rows that follow each other
  const auto tile_of = [&](std::size_t i) {
    const Given g = given(v, i);
    return g.number ? number_tile(*g.number) : g.tile;
  };
  const Tile a = in_sbuf(tile_of(0), free), b = tile_of(1);
  const auto carried = columns_ ? carried_.find(v) : carried_.end();
  const bool goes_on = carried != carried_.end();
  const Given before = goes_on ? Given{{}, carried->second} : given(v, 2);
  const Tile dst = target(v, into, v, 1, b);
  std::vector<Dims> lists;
  for (const Tile* t : {&dst, &a, &b}) lists.push_back(spread_dims(*t, free));
  Free ones = free;
  ones.dims[axis - 1] = 1;
  lists.push_back(before.number ? Dims(lists[0].size(), isa::Dim{0, 1}) : spread_dims(before.tile, ones));
  const auto steps = [&](const std::vector<Index>& at) {
    const auto line = [&](const Tile& t, std::size_t i) { return view_of(t, {lists[i][axis]}, at[i]); };
    k_.tensor_tensor_scan(
        {.dst = line(dst, 0),
         .data0 = line(a, 1),
         .data1 = line(b, 2),
         .initial = before.number ? isa::Operand(*before.number) : isa::Operand(view_of(before.tile, {{1, 1}}, at[3])),
         .op0 = AluOp::multiply,
         .op1 = AluOp::add});
  };
  const std::function<void(std::size_t, const std::vector<Index>&)> each = [&](std::size_t d,
                                                                               const std::vector<Index>& at) {
    if (d == lists[0].size()) return steps(at);
    if (d == axis || lists[0][d].count == 1) return each(d + 1, at);
    k_.loop(lists[0][d].count, [&](const Index& i) {
      std::vector<Index> next = at;
      for (std::size_t l = 0; l < next.size(); ++l) next[l] += i * lists[l][d].stride;
      each(d + 1, next);
    });
  };
  each(0, std::vector<Index>(lists.size(), 0));
  if (goes_on) {
    const isa::Dim row = lists[0][axis];
    k_.tensor_copy({.dst = column_of(carried->second), .src = view_of(dst, {{1, 1}}, (row.count - 1) * row.stride)});
  }
  return dst;
}

}  // namespace kiln::tensor
