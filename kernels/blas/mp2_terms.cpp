#include "kernels/blas/mp2_terms.h"

#include "kernels/blas/dtypes.h"

namespace kiln::kernels {
using namespace isa;

Mp2Terms::Mp2Terms(Kernel& k, const View& virtuals) : k_(k), virtuals_(virtuals.dim(1)), has_half_(virtuals_ > kTile) {
  minus_b_ = k.sbuf({kTile, virtuals_}, f32);
  k.dma_copy({.dst = minus_b_, .src = virtuals.broadcast(0, kTile)});
  if (has_half_) {
    half_minus_b_ = k.sbuf({kTile, virtuals_}, f32);
    k.tensor_scalar({.dst = half_minus_b_, .data = minus_b_, .op0 = AluOp::multiply, .operand0 = -0.5});
  }
  k.tensor_scalar({.dst = minus_b_, .data = minus_b_, .op0 = AluOp::multiply, .operand0 = -1.0});
  minus_a_ = k.sbuf({kTile, tiles_of(virtuals_, kTile)}, f32);
  k.memset({.dst = minus_a_, .value = 0.0});
  for (const Mp2Strip& s : strips()) {
    const View column = virtuals(0, ds(s.start, s.rows)).reshape({s.rows, 1});
    k.dma_copy({.dst = minus_a_(ds(0, s.rows), ds(s.index, 1)), .src = column});
  }
  k.tensor_scalar({.dst = minus_a_, .data = minus_a_, .op0 = AluOp::multiply, .operand0 = -1.0});
}

std::vector<Mp2Strip> Mp2Terms::strips() const {
  std::vector<Mp2Strip> strips;
  for (const Piece& p : whole_pieces(virtuals_, kTile)) strips.push_back({p.start / kTile, p.start, p.size});
  return strips;
}

std::vector<Mp2Task> Mp2Terms::tasks() const {
  std::vector<Mp2Task> tasks;
  for (const Mp2Strip& s : strips()) {
    for (const Piece& c : even_pieces(virtuals_ - s.start, kWide)) tasks.push_back({s, c});
  }
  return tasks;
}

Mp2Terms::Occupied Mp2Terms::Occupied::column(const Index& i) const {
  return {whole(all, ds(i, 1)), has_half ? half(all, ds(i, 1)) : View(), has_half};
}

Mp2Terms::Occupied Mp2Terms::halved(const View& whole) const {
  if (!has_half_) return {whole, {}, false};
  const View half = k_.sbuf(whole.shape(), f32);
  k_.tensor_scalar({.dst = half, .data = whole, .op0 = AluOp::multiply, .operand0 = 0.5});
  return {whole, half, true};
}

Mp2Terms::Occupied Mp2Terms::occupied(const View& row, std::int64_t wrapped) const {
  const std::int64_t n = row.dim(1);
  const View e = k_.sbuf({kTile, n + wrapped}, f32);
  k_.dma_copy({.dst = e(all, ds(0, n)), .src = row.broadcast(0, kTile)});
  if (wrapped > 0) k_.dma_copy({.dst = e(all, ds(n, wrapped)), .src = row(all, ds(0, wrapped)).broadcast(0, kTile)});
  return halved(e);
}

Mp2Terms::Occupied Mp2Terms::base(const View& e_i) const {
  const View base = k_.sbuf(minus_a_.shape(), f32);
  k_.tensor_scalar({.dst = base, .data = minus_a_, .op0 = AluOp::add, .operand0 = e_i});
  return halved(base);
}

// weight / (ε_i + ε_j - ε_a - ε_b): on the diagonal tile of a strip the weight is 1, right of it 2.
View Mp2Terms::weights(const Mp2Strip& strip, const Piece& columns, const Occupied& base, const Occupied& e_j) const {
  const View delta = k_.sbuf({strip.rows, columns.size}, f32);
  const std::int64_t diagonal = std::clamp<std::int64_t>(strip.rows - columns.start, 0, columns.size);
  const auto fill = [&](std::int64_t first, std::int64_t n, const View& minus_b, const View& of_i, const View& of_j) {
    k_.tensor_scalar({.dst = delta(all, ds(first, n)),
                      .data = minus_b(ds(0, strip.rows), ds(strip.start + columns.start + first, n)),
                      .op0 = AluOp::add,
                      .operand0 = of_i(ds(0, strip.rows), ds(strip.index, 1)),
                      .op1 = AluOp::add,
                      .operand1 = of_j(ds(0, strip.rows))});
  };
  if (diagonal > 0) fill(0, diagonal, minus_b_, base.whole, e_j.whole);
  if (diagonal < columns.size) fill(diagonal, columns.size - diagonal, half_minus_b_, base.half, e_j.half);
  k_.tensor_scalar({.dst = delta, .data = delta, .op0 = AluOp::reciprocal});
  return delta;
}

void Mp2Terms::sum(const Mp2Strip& strip, const Piece& columns, const View& x, const View& y, const Occupied& base,
                   const Occupied& e_j, const View& to) const {
  const View square = k_.sbuf(y.shape(), f32), terms = k_.sbuf(y.shape(), f32);
  const auto apply = [&](const View& dst, const View& a, const View& b, AluOp op) {
    k_.tensor_tensor({.dst = dst, .data1 = a, .data2 = b, .op = op, .engine = Engine::vector});
  };
  apply(square, x, y, AluOp::subtract);
  k_.activation({.dst = square, .op = ActFn::square, .data = square});
  apply(terms, x, y, AluOp::multiply);
  apply(terms, terms, square, AluOp::add);
  apply(terms, terms, weights(strip, columns, base, e_j), AluOp::multiply);
  k_.tensor_reduce({.dst = to(ds(0, strip.rows)), .op = AluOp::add, .data = terms, .axis = {1}});
}

}  // namespace kiln::kernels
