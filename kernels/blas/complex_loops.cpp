#include "kernels/blas/complex_loops.h"

#include <algorithm>

#include "kernels/blas/dtypes.h"
#include "kernels/blas/turned_load.h"

namespace kiln::kernels {
using namespace isa;

namespace {

constexpr std::int64_t kRows = 2 * kTile, kColumns = kWide;  // of a block: six banks of sums, two to transpose in
constexpr std::int64_t kChunk = 2 * kTile;                   // of K

// Real and imaginary part, [128, tiles of K, x] each.
struct ComplexParts {
  View re, im;
};

class ComplexLoops {
 public:
  ComplexLoops(Kernel& k, const ComplexFactors& factors, const ComplexProduct& p) : k_(k), factors_(factors), p_(p) {}

  void run() {
    if (!p_.triangle) {
      k_.tiles(p_.n, kColumns, [&](Index n0, std::int64_t n) {
        k_.tiles(p_.m, kRows, [&](Index m0, std::int64_t m) { block(m0, m, n0, n, {}); });
      });
      return;
    }
    // Blocks as wide as high, so that one on the diagonal begins on it.
    const bool lower = *p_.triangle == Uplo::lower;
    for (std::int64_t row = 0; row < p_.m; row += kRows) {
      const std::int64_t m = std::min(kRows, p_.m - row), next = row + m;
      block(row, m, row, m, p_.triangle);
      tiles_from(k_, lower ? 0 : next, lower ? row : p_.n, kColumns,
                 [&](Index n0, std::int64_t n) { block(row, m, n0, n, {}); });
      tiles_from(k_, lower ? next : 0, lower ? p_.n : row, kColumns,
                 [&](Index n0, std::int64_t n) { clear(row, m, n0, n); });
    }
  }

 private:
  ComplexParts load(const ComplexSource& from, const Index& k0, std::int64_t rows, const Index& x0, std::int64_t x) {
    if (!from.k_first) {  // on the tensor engine: a DMA would move one number at a time
      const ComplexParts parts{chunk_tile(k_, rows, x, f32), chunk_tile(k_, rows, x, f32)};
      load_turned(k_, {parts.re, parts.im}, from.matrix, k0, rows, x0, x);
      return parts;
    }
    const View tile = chunk_tile(k_, rows, 2 * x, f32);
    load_chunk(k_, tile, {from.matrix, true}, k0, rows, x0 * 2, 2 * x);
    return {tile(all, all, ds(0, x, 2)), tile(all, all, ds(1, x, 2))};
  }

  View combine(const View& a, const View& b, AluOp op, std::int64_t rows) {
    const View to = chunk_tile(k_, rows, a.dim(2), f32);
    for_tiles(rows, [&](const Slice& partitions, const Slice& tiles) {
      k_.tensor_tensor(
          {.dst = to(partitions, tiles), .data1 = a(partitions, tiles), .data2 = b(partitions, tiles), .op = op});
    });
    return to;
  }
  View negative(const View& a, std::int64_t rows) {
    const View to = chunk_tile(k_, rows, a.dim(2), f32);
    for_tiles(rows, [&](const Slice& partitions, const Slice& tiles) {
      k_.activation({.dst = to(partitions, tiles), .op = ActFn::copy, .data = a(partitions, tiles), .scale = -1.0});
    });
    return to;
  }
  static void for_tiles(std::int64_t rows, const std::function<void(const Slice&, const Slice&)>& body) {
    if (rows / kTile > 0) body(all, ds(0, rows / kTile));
    if (rows % kTile) body(ds(0, rows % kTile), ds(rows / kTile, 1));
  }

  void block(const Index& m0, std::int64_t m, const Index& n0, std::int64_t n, std::optional<Uplo> triangle) {
    std::vector<ProductBlock> sums;
    for (int i = 0; i < (p_.products == 3 ? 3 : 2); ++i) sums.emplace_back(k_, m, n);
    const auto step = [&](const Index& k0, std::int64_t rows) {
      const ComplexParts a = load(p_.a, k0, rows, m0, m), b = load(p_.b, k0, rows, n0, n);
      p_.products == 3 ? three(sums, a, b, rows) : four(sums, a, b, rows);
    };
    if (p_.k / kChunk > 0) k_.loop(p_.k / kChunk, [&](Index i) { step(i * kChunk, kChunk); });
    if (p_.k % kChunk) step(p_.k / kChunk * kChunk, p_.k % kChunk);
    for (std::size_t r = 0; r < sums[0].rows().size(); ++r) store(sums, r, m0, n0, n, triangle);
  }

  // re = ar br - ai bi, im = ar bi + ai br
  void four(std::vector<ProductBlock>& sums, const ComplexParts& a, const ComplexParts& b, std::int64_t rows) {
    const View minus = negative(a.im, rows);
    const View a_im = p_.a.conjugate ? minus : a.im, minus_a_im = p_.a.conjugate ? a.im : minus;
    const View b_im = p_.b.conjugate ? negative(b.im, rows) : b.im;
    sums[0].add(a.re, b.re, rows);
    sums[0].add(minus_a_im, b_im, rows);
    sums[1].add(a.re, b_im, rows);
    sums[1].add(a_im, b.re, rows);
  }

  // (ar + ai) br, ar (bi - br), ai (br + bi): signs of conjugated operands wait for the end.
  void three(std::vector<ProductBlock>& sums, const ComplexParts& a, const ComplexParts& b, std::int64_t rows) {
    sums[0].add(combine(a.re, a.im, p_.a.conjugate ? AluOp::subtract : AluOp::add, rows), b.re, rows);
    const View plus = combine(b.re, b.im, AluOp::add, rows);
    const View minus =
        p_.b.conjugate ? combine(b.re, b.im, AluOp::subtract, rows) : combine(b.im, b.re, AluOp::subtract, rows);
    sums[1].add(a.re, p_.b.conjugate ? plus : minus, rows);
    sums[2].add(a.im, p_.b.conjugate ? minus : plus, rows);
  }

  // Real and imaginary sums of a tile in SBUF.
  void gather(const std::vector<ProductBlock>& sums, std::size_t r, const View& re, const View& im) {
    if (p_.products != 3) {
      evict(k_, re, sums[0].sum(r, 0), 0);
      evict(k_, im, sums[1].sum(r, 0), 1);
      return;
    }
    const View first = k_.sbuf(re.shape(), f32);
    evict(k_, first, sums[0].sum(r, 0), 1);
    const auto add = [&](const View& to, const View& sum, bool subtracts) {
      k_.tensor_tensor({.dst = to, .data1 = first, .data2 = sum, .op = subtracts ? AluOp::subtract : AluOp::add});
    };
    add(re, sums[2].sum(r, 0), !p_.a.conjugate);
    add(im, sums[1].sum(r, 0), p_.b.conjugate);
  }

  void store(const std::vector<ProductBlock>& sums, std::size_t r, const Index& m0, const Index& n0, std::int64_t n,
             std::optional<Uplo> triangle) {
    const Piece& row = sums[0].rows()[r];
    const auto in_memory = [&](const View& c) { return c(ds(m0 + row.start, row.size), ds(n0 * 2, 2 * n)); };
    const View out = k_.sbuf({row.size, n, 2}, f32);
    View old;
    if (factors_.reads_c()) {
      old = k_.sbuf({row.size, n, 2}, f32);
      k_.dma_copy({.dst = old.flatten_dims(1, 2), .src = in_memory(p_.from)});
    }
    const auto part = [&](const View& x, int i) { return x(all, all, ds(i, 1)).squeeze_dim(2); };
    View re = part(out, 0), im = part(out, 1);
    if (!factors_.copies()) re = k_.sbuf({row.size, n}, f32), im = k_.sbuf({row.size, n}, f32);
    gather(sums, r, re, im);
    factors_.apply(out, re, im, old);
    if (triangle) {
      const View re_out = part(out, 0), im_out = part(out, 1);
      keep_triangle(k_, re_out, re_out, *triangle, row.start);
      keep_triangle(k_, im_out, im_out, *triangle, row.start, true);
    }
    k_.dma_copy({.dst = in_memory(p_.to), .src = out.flatten_dims(1, 2)});
  }

  void clear(std::int64_t row, std::int64_t m, const Index& n0, std::int64_t n) {
    const View zero = k_.sbuf({kTile, 2 * n}, f32);
    k_.memset({.dst = zero, .value = 0.0});
    for (const Piece& r : whole_pieces(m, kTile))
      k_.dma_copy({.dst = p_.to(ds(row + r.start, r.size), ds(n0 * 2, 2 * n)), .src = zero(ds(0, r.size))});
  }

  Kernel& k_;
  const ComplexFactors& factors_;
  const ComplexProduct& p_;
};

}  // namespace

void multiply_complex(Kernel& k, const ComplexFactors& factors, const ComplexProduct& product) {
  ComplexLoops(k, factors, product).run();
}

}  // namespace kiln::kernels
