#include "kernels/fft/row_pairs.h"

#include "kernels/blas/dtypes.h"
#include "kernels/blas/product_block.h"
#include "kernels/fft/complex_view.h"
#include "kernels/fft/pointwise.h"
#include "kernels/fft/row_blocks.h"

namespace kiln::kernels {
using namespace isa;

namespace {

constexpr std::int64_t kPieceWidth = 1024;  // numbers of a partition at once

// Pairs and numbers of theirs.
struct Block : RowBlock {
  bool alone = false;  // the last row, which has none beside it
};

struct RowPairs {
  Kernel& k;
  const TransformConfig& c;
  View rows, z, factors;
  Index first_pair = 0;
  std::int64_t pairs = c.rows / 2;
  bool has_alone = c.rows % 2 == 1;

  using Body = std::function<void(const Block&)>;

  // All pairs, `count` numbers from `first` on.
  void blocks(std::int64_t first, std::int64_t count, const Body& body) const {
    row_blocks(k, pairs, first, count, kPieceWidth, [&](RowBlock b) {
      b.row += first_pair;
      body({b, false});
    });
    if (!has_alone) return;
    row_blocks(k, 1, first, count, kPieceWidth, [&](RowBlock b) {
      b.row = c.rows / 2;
      body({b, true});
    });
  }

  // The row `which` of each pair; z; z(n - k) with k falling.
  View of_row(const Block& b, int which, std::int64_t size) const {
    return b.places(rows, size, b.row * 2 + which, 2, b.first);
  }
  View lower(const Block& b) const { return b.places(z, 2); }
  View upper(const Block& b) const { return b.places(z, 2, b.row, 1, (b.first * -1) + (c.n - b.width + 1), true); }

  View real_tile(const Block& b) const { return k.sbuf({b.partitions(), b.width}, f32); }
  View tile(const Block& b) const { return k.sbuf({b.partitions(), b.width, 2}, f32); }
  View loaded(const Block& b, const View& from) const {
    const View to = tile(b);
    k.dma_copy({.dst = to.flatten_dims(1, 2), .src = from});
    return to;
  }
  void store(const View& to, const View& from) const { k.dma_copy({.dst = to, .src = from.flatten_dims(1, 2)}); }
  void two(AluOp op, const View& to, const View& a, const View& b, Engine engine) const {
    k.tensor_tensor({.dst = to, .data1 = a, .data2 = b, .op = op, .engine = engine});
  }

  bool has_factors() const { return factors.rank() > 0; }
  View factors_of(const Block& b) const {
    if (!has_factors()) return {};
    return loaded(b, b.places(factors, 2, 0, 0, b.first));
  }
  View negated(const Block& b, const View& w) const {
    if (!has_factors()) return {};
    const View to = tile(b);
    k.activation({.dst = to, .op = ActFn::copy, .data = w, .scale = -1.0});
    return to;
  }
  // (re, im), times factors where there are some.
  void make(const View& to, const View& re, const View& im, const View& w) const {
    if (has_factors()) return times_pairs(k, to, re, im, w);
    k.tensor_copy({.dst = component(to, 0), .src = re, .engine = Engine::vector});
    k.activation({.dst = component(to, 1), .op = ActFn::copy, .data = im});
  }
  View times(const Block& b, const View& x, const View& w) const {
    if (!has_factors()) return x;
    const View to = tile(b);
    times_pairs(k, to, component(x, 0), component(x, 1), w);
    return to;
  }

  // Real rows to z.
  void join_numbers(const Block& b) const {
    View parts[2];
    for (int i = 0; i < 2; ++i) {
      parts[i] = real_tile(b);
      if (i == 1 && b.alone)
        k.memset({.dst = parts[i], .value = 0.0});
      else
        k.dma_copy({.dst = parts[i], .src = of_row(b, i, 1)});
    }
    const View out = tile(b);
    make(out, parts[0], parts[1], factors_of(b));
    store(lower(b), out);
  }

  // z to real rows.
  void split_numbers(const Block& b) const {
    const View x = times(b, loaded(b, lower(b)), factors_of(b));
    for (int i = 0; i < (b.alone ? 1 : 2); ++i) {
      const View out = real_tile(b);
      evict(k, out, component(x, i), static_cast<std::size_t>(i + 1));
      k.dma_copy({.dst = of_row(b, i, 1), .src = out});
    }
  }

  // z(k) and z(n - k) to numbers k of both half spectra.
  void split_pairs(const Block& b, const View& z_lower, const View& z_upper) const {
    const View a = tile(b);
    two(AluOp::add, component(a, 0), component(z_lower, 0), component(z_upper, 0), Engine::vector);
    two(AluOp::subtract, component(a, 1), component(z_lower, 1), component(z_upper, 1), Engine::gpsimd);
    store(of_row(b, 0, 2), a);
    if (b.alone) return;
    const View other = tile(b);
    two(AluOp::add, component(other, 0), component(z_lower, 1), component(z_upper, 1), Engine::vector);
    two(AluOp::subtract, component(other, 1), component(z_upper, 0), component(z_lower, 0), Engine::gpsimd);
    store(of_row(b, 1, 2), other);
  }
  void split_spectra(const Block& b) const {
    const View w = factors_of(b), low = loaded(b, lower(b)), high = loaded(b, upper(b));
    split_pairs(b, times(b, low, w), times(b, backwards(high), negated(b, w)));
  }
  void split_first(const Block& b) const {
    const View number = times(b, loaded(b, lower(b)), factors_of(b));
    split_pairs(b, number, number);
  }

  // The other way round.
  std::pair<View, View> half_spectra(const Block& b) const {
    const View a = loaded(b, of_row(b, 0, 2));
    if (!b.alone) return {a, loaded(b, of_row(b, 1, 2))};
    const View zero = tile(b);
    k.memset({.dst = zero, .value = 0.0});
    return {a, zero};
  }
  void join_spectra(const Block& b) const {
    const auto [a, other] = half_spectra(b);
    const View w = factors_of(b);
    const auto part = [&](AluOp op, const View& x, const View& y, Engine engine) {
      const View to = real_tile(b);
      two(op, to, x, y, engine);
      return to;
    };
    const View low = tile(b), high = tile(b);
    make(low, part(AluOp::subtract, component(a, 0), component(other, 1), Engine::vector),
         part(AluOp::add, component(a, 1), component(other, 0), Engine::gpsimd), w);
    store(lower(b), low);
    make(backwards(high), part(AluOp::add, component(a, 0), component(other, 1), Engine::vector),
         part(AluOp::subtract, component(other, 0), component(a, 1), Engine::gpsimd), negated(b, w));
    store(upper(b), high);
  }
  void join_first(const Block& b) const {
    const auto [a, other] = half_spectra(b);
    const View out = tile(b);
    make(out, component(a, 0), component(other, 0), factors_of(b));
    store(lower(b), out);
  }

  // Both parts of a step on half spectra: the first number, and the middle one of an even length, and all others in
  // pairs.
  void spectra(const Body& first, const Body& others) const {
    blocks(0, 1, first);
    if (c.n % 2 == 0) blocks(c.n / 2, 1, first);
    blocks(1, (c.n - 1) / 2, others);
  }

  void join() const {
    if (c.spectrum == Spectrum::forward)
      blocks(0, c.n, [&](const Block& b) { join_numbers(b); });
    else
      spectra([&](const Block& b) { join_first(b); }, [&](const Block& b) { join_spectra(b); });
  }
  void split() const {
    if (c.spectrum == Spectrum::inverse)
      blocks(0, c.n, [&](const Block& b) { split_numbers(b); });
    else
      spectra([&](const Block& b) { split_first(b); }, [&](const Block& b) { split_spectra(b); });
  }
};

RowPairs one_pair(Kernel& k, const TransformConfig& c, const View& rows, const View& z, const Index& pair) {
  const bool is_alone = c.rows % 2 == 1 && pair.is_constant() && pair.constant() == c.rows / 2;
  return {k, c, rows, z, {}, pair, is_alone ? 0 : 1, is_alone};
}

}  // namespace

void join_rows(Kernel& k, const TransformConfig& c, const View& x, const View& z, const View& factors) {
  RowPairs{k, c, x, z, factors}.join();
  clear_rows(k, z, 2 * c.n);
}

void split_rows(Kernel& k, const TransformConfig& c, const View& z, const View& y, const View& factors) {
  RowPairs{k, c, y, z, factors}.split();
}

void join_pair(Kernel& k, const TransformConfig& c, const View& x, const View& z, const Index& pair) {
  one_pair(k, c, x, z, pair).join();
}

void split_pair(Kernel& k, const TransformConfig& c, const View& z, const View& y, const Index& pair) {
  one_pair(k, c, y, z, pair).split();
}

}  // namespace kiln::kernels
