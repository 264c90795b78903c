// Products of sparse with dense matrices: spmm, bsr_spmm, sddmm, screened_spmm.
#include <algorithm>

#include "kernels/sparse/bsr_sddmm.h"
#include "kernels/sparse/bsr_spmm.h"
#include "kernels/sparse/host/bucket_values.h"
#include "kernels/sparse/host/formats.h"
#include "kernels/sparse/host/native_gemm.h"
#include "kernels/sparse/host/sparse_call.h"
#include "kernels/sparse/host/tiled.h"
#include "kernels/sparse/screened_spmm.h"
#include "kernels/sparse/sddmm.h"
#include "kernels/sparse/spmm.h"
#include "kernels/sparse/spmv.h"

namespace kiln::sparse {
namespace {

using kernels::BucketPlan;
using kernels::BucketUse;
using kernels::kTile;
using kernels::Scalar;
using kernels::TilePattern;

template <class T>
void scale(Int count, T beta, T* c) {
  if (beta == T(0))
    std::fill(c, c + count, T(0));
  else if (beta != T(1))
    std::transform(c, c + count, c, [&](T v) { return beta * v; });
}

// c[0 … n] += v b[0 … n].
template <class T>
inline void add_row(Int n, T v, const T* __restrict b, T* __restrict c) {
  for (Int j = 0; j < n; ++j) c[j] += v * b[j];
}

// The same for four rows, in their order, with c read and written once.
template <class T>
inline void add_rows(Int n, const T (&v)[4], const T* __restrict b0, const T* __restrict b1, const T* __restrict b2,
                     const T* __restrict b3, T* __restrict c) {
  for (Int j = 0; j < n; ++j) c[j] = (((c[j] + v[0] * b0[j]) + v[1] * b1[j]) + v[2] * b2[j]) + v[3] * b3[j];
}

template <class T>
void native_spmm(const Csr<T>& a, Int n, T alpha, const T* b, T beta, T* c) {
  for (Int r = 0; r < a.rows; ++r) {
    T* row = c + r * n;
    scale(n, beta, row);
    const Int last = a.row_start[r + 1];
    Int e = a.row_start[r];
    if (n == 1) {  // the same sum, without a loop inside
      T sum = *row;
      for (; e < last; ++e) sum += alpha * a.values[e] * b[a.column[e]];
      *row = sum;
    }
    for (; e + 4 <= last; e += 4) {
      const T v[] = {alpha * a.values[e], alpha * a.values[e + 1], alpha * a.values[e + 2], alpha * a.values[e + 3]};
      const auto at = [&](Int i) { return b + a.column[e + i] * n; };
      add_rows(n, v, at(0), at(1), at(2), at(3), row);
    }
    for (; e < last; ++e) add_row(n, alpha * a.values[e], b + a.column[e] * n, row);
  }
}

// Rows of y = alpha a x + beta y. An alpha of 1 changes no element, and is left out.
template <class T, bool kScaled>
struct RowsOfProduct {
  const Csr<T>& a;
  T alpha;
  const T* x;
  T beta;
  const T* y;
  T* out;

  T begin(Int row) const { return beta == T(0) ? T(0) : beta * y[row]; }
  T product(Int e) const { return (kScaled ? alpha * a.values[e] : a.values[e]) * x[a.column[e]]; }

  // One after the other: of short ones the machine has several under way.
  void add(Int first, Int last) const {
    for (Int row = first; row < last; ++row) {
      T sum = begin(row);
      for (Int e = a.row_start[row]; e < a.row_start[row + 1]; ++e) sum += product(e);
      out[row] = sum;
    }
  }

  // Long ones of which none is shorter than the first: a sum waits for itself, so they take turns. Each adds up in its
  // own order.
  template <int kRows>
  void add_together(const std::int32_t* rows) const {
    T sums[kRows];
    Int at[kRows], length[kRows];
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) {
      sums[i] = begin(rows[i]);
      at[i] = a.row_start[rows[i]];
      length[i] = a.row_start[rows[i] + 1] - at[i];
    }
    for (Int e = length[0]; e > 0; --e) {
#pragma GCC unroll 4
      for (int i = 0; i < kRows; ++i) sums[i] += product(at[i]++);
    }
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) {
      for (Int e = length[i] - length[0]; e > 0; --e) sums[i] += product(at[i]++);
      out[rows[i]] = sums[i];
    }
  }

  void add_long(const std::int32_t* rows, Int count) const {
    constexpr int kTogether = 4;
    for (; count >= kTogether; rows += kTogether, count -= kTogether) add_together<kTogether>(rows);
    for (; count > 0; ++rows, --count) add_together<1>(rows);
  }
};

// y = alpha a x + beta y, unless indices are others than those that were kept: then y stays, and the answer is false.
// They are compared a window of rows before these are multiplied, as long as both are near.
template <class T, bool kScaled>
bool native_spmv(const Csr<T>& a, const Kept& kept, T alpha, const T* x, T beta, T* y) {
  constexpr Int kLong = 16;
  thread_local std::vector<T> out;
  out.resize(static_cast<std::size_t>(a.rows));
  const RowsOfProduct<T, kScaled> rows{a, alpha, x, beta, y, out.data()};
  for (Int first = 0; first < a.rows; first += kWindow) {
    const Int last = std::min(a.rows, first + kWindow), from = a.row_start[first], to = a.row_start[last];
    if (!std::equal(a.column + from, a.column + to, kept.column.data() + from)) return false;
    if (to - from < kLong * (last - first))
      rows.add(first, last);
    else
      rows.add_long(kept.by_length.data() + first, last - first);
  }
  std::copy(out.begin(), out.end(), y);
  return true;
}

template <class T>
void native_bsr_spmm(const Bsr<T>& a, Int n, const T* b, T* c) {
  std::fill(c, c + a.rows * n, T(0));
  for (Int r = 0; r < a.block_rows(); ++r) {
    const Int height = std::min(a.block, a.rows - r * a.block);
    for (Int e = a.row_start[r]; e < a.row_start[r + 1]; ++e) {
      const Int first = a.column[e] * a.block, width = std::min(a.block, a.columns - first);
      native_gemm<T>(false, false, height, n, width, 1, a.blocks + e * a.block * a.block, a.block, b + first * n, n, 1,
                     c + r * a.block * n, n);
    }
  }
}

}  // namespace

// The program of a product, and all that it depends on.
class SpmmProgram {
 public:
  template <class T>
  SpmmProgram(const Csr<T>& a, Int n, T alpha, T beta, bool only_slots, std::shared_ptr<const Kept> kept)
      : rows_(a.rows),
        columns_(a.columns),
        n_(n),
        count_(a.count()),
        alpha_(kernels::scalar_of(alpha)),
        beta_(kernels::scalar_of(beta)),
        only_slots_(only_slots),
        kept_(std::move(kept)) {}

  bool is_vector(Target target) const {
    return n_ == 1 && !only_slots_ && kernels::suits_spmv(rows_, columns_, count_, arch(target));
  }
  BucketPlan plan(Target target) const {
    const BucketUse use = is_vector(target) ? BucketUse::vector
                          : only_slots_     ? BucketUse::only_slots
                                            : BucketUse::mixed;
    return kernels::plan_buckets({rows_, columns_, kept_->row_start.data(), kept_->column.data()}, n_, arch(target),
                                 use);
  }
  // Both live as long as somebody may ask.
  std::function<isa::Program(Target)> maker() const {
    return [of = *this](Target target) {
      const kernels::SpmmConfig config{of.plan(target).buckets, of.rows_, of.columns_, of.n_, of.alpha_, of.beta_};
      return of.is_vector(target) ? kernels::spmv(config, target) : kernels::spmm(config, target);
    };
  }
  backend::Key key() const {
    return [of = *this] {
      return fmt::format("{}x{}x{} {} {} {} ", of.rows_, of.columns_, of.n_, static_cast<int>(of.alpha_),
                         static_cast<int>(of.beta_), of.only_slots_) +
             key_of(*of.kept_);
    };
  }

 private:
  Int rows_, columns_, n_, count_;
  Scalar alpha_, beta_;
  bool only_slots_;
  std::shared_ptr<const Kept> kept_;
};

namespace {

// A product with a vector, natively, with indices of an earlier call; false where that is not what is asked for.
template <class T>
bool spmv_again(const Csr<T>& a, Int n, T alpha, const T* x, T beta, T* y) {
  if (n != 1 || backend::current("SPARSE") != backend::Backend::native) return false;
  const auto kept = kept_with(a.rows, a.row_start, a.columns);
  if (!kept || kept->column.empty() || alpha == T(0)) return false;
  if (!(alpha == T(1) ? native_spmv<T, false> : native_spmv<T, true>)(a, *kept, alpha, x, beta, y)) return false;
  backend::note_native(
      [of = SpmmProgram(a, n, alpha, beta, false, kept)] { return call_of<T>("spmm", of.key(), of.maker()); });
  return true;
}

template <class T>
bool passes(T row_bound, T column_bound, T limit) {
  const T product = row_bound * column_bound;
  return product > limit;
}

template <class T>
void native_screened(Int rows, Int columns, Int n, bool trans_a, const T* a, const T* row_bound, const T* column_bound,
                     T limit, const T* b, T* c) {
  std::vector<T> kept(rows * columns, T(0));
  for (Int i = 0; i < rows; ++i) {
    for (Int j = 0; j < columns; ++j) {
      if (passes(row_bound[i], column_bound[j], limit))
        kept[i * columns + j] = trans_a ? a[j * rows + i] : a[i * columns + j];
    }
  }
  native_gemm<T>(false, false, rows, n, columns, 1, kept.data(), columns, b, n, 0, c, n);
}

// Tiles of which an element can pass: bounds are not negative, and rounding keeps their order.
TilePattern screened_pattern(Int rows, Int columns, const float* row_bound, const float* column_bound, float limit) {
  const auto largest = [](Int size, const float* bounds) {
    std::vector<float> found;
    for (Int i = 0; i < size; i += kTile)
      found.push_back(*std::max_element(bounds + i, bounds + std::min(size, i + kTile)));
    return found;
  };
  const std::vector<float> r = largest(rows, row_bound), c = largest(columns, column_bound);
  TilePattern p{.rows = rows, .columns = columns, .row_start = {0}, .column = {}};
  for (const float row : r) {
    for (std::size_t j = 0; j < c.size(); ++j) {
      if (passes(row, c[j], limit)) p.column.push_back(static_cast<Int>(j));
    }
    p.row_start.push_back(p.count());
  }
  return p;
}

// Every element of the blocks, zeros too: they are stored.
template <class T>
CsrMatrix<T> all_elements(const Bsr<T>& a) {
  CsrMatrix<T> csr{a.rows, a.columns, {0}, {}, {}};
  for (Int row = 0; row < a.rows; ++row) {
    for (Int e = a.row_start[row / a.block]; e < a.row_start[row / a.block + 1]; ++e) {
      const Int first = a.column[e] * a.block, last = std::min(a.columns, first + a.block);
      const T* values = a.blocks + (e * a.block + row % a.block) * a.block;
      for (Int c = first; c < last; ++c) csr.column.push_back(c);
      csr.values.insert(csr.values.end(), values, values + (last - first));
    }
    csr.row_start.push_back(static_cast<Int>(csr.column.size()));
  }
  return csr;
}

void run_spmm(const Csr<float>& a, Int n, float alpha, const float* b, float beta, float* c, const PlanRef& plan,
              DType index, const std::function<void(std::vector<Array>)>& run) {
  const kernels::RowBuckets& of = plan->buckets;
  const Int buckets = static_cast<Int>(of.buckets.size()), slots = of.slot_count;
  const BucketValues& values = bucket_values(plan, a.values);
  const std::vector<float> scalars{alpha, beta};
  std::vector<float> before;
  std::vector<Array> arrays{
      {"indices", const_cast<std::int32_t*>(plan->indices.data()), {kTile, buckets + slots}, index},
      array("b", b, {a.columns, n}),
      array("c", c, {a.rows, n})};
  if (slots > 0) arrays.push_back(array("values", values.slots.data(), {kTile, slots}));
  if (of.tile_count > 0) arrays.push_back(array("blocks", values.blocks.get(), {kTile, of.tile_count, kTile}));
  const FewPlaces::Scope known(of.tile_count > 0 ? &values.in_blocks : nullptr);
  if (beta != 0) {
    before.assign(c, c + a.rows * n);
    arrays.push_back(array("c_in", before.data(), {a.rows, n}));
  }
  if (kernels::scalar_of(alpha) == Scalar::given || kernels::scalar_of(beta) == Scalar::given)
    arrays.push_back(array("scalars", scalars.data(), {1, 2}));
  run(std::move(arrays));
}

}  // namespace

template <class T>
void spmm(const Csr<T>& a, Int n, T alpha, const T* b, T beta, T* c) {
  require_size("spmm", {a.rows, a.columns, n});
  if (spmv_again(a, n, alpha, b, beta, c)) return;
  const auto kept = keep("spmm", a);
  if (a.rows == 0 || n == 0) return;
  if (a.columns == 0 || a.count() == 0 || alpha == T(0)) return scale(a.rows * n, beta, c);
  // A block has zeros that are not stored, which would make NaN of infinity.
  const bool only_slots = kernel_meets_infinity<T>({view_of(a.values, a.count()), view_of(b, a.columns * n)});
  const SpmmProgram of(a, n, alpha, beta, only_slots, kept);
  dispatch<T>(
      "spmm", of.key(), of.maker(), [&] { native_spmm(a, n, alpha, b, beta, c); },
      [&](const auto& run) {
        if constexpr (std::is_same_v<T, float>) {
          const Target target = backend::current_target();
          const auto plan = cached_plan(fmt::format("{} ", static_cast<int>(target)) + of.key().text(),
                                        [&] { return of.plan(target); });
          run_spmm(a, n, alpha, b, beta, c, plan, of.is_vector(target) ? DType::uint32 : DType::int32, run);
        }
      },
      true);
}

template <class T>
void bsr_spmm(const Bsr<T>& a, Int n, const T* b, T* c) {
  const auto kept = keep("bsr_spmm", a);
  require_size("bsr_spmm", {n});
  if (a.rows == 0 || n == 0) return;
  if (a.columns == 0) return std::fill(c, c + a.rows * n, T(0));
  // Tiles that no block fills have zeros that are not stored, which would make NaN of infinity.
  if (a.block % kTile != 0 && kernel_meets_infinity<T>({view_of(b, a.columns * n)}))
    return spmm<T>(all_elements(a).view(), n, T(1), b, T(0), c);
  const Bsr<float> shape{a.rows, a.columns, a.block, kept->row_start.data(), kept->column.data(), nullptr};
  const auto program = [=](Target target) {
    (void)kept;
    return kernels::bsr_spmm({pattern_of(shape), n}, target);
  };
  const auto key = [=, rows = a.rows, columns = a.columns, block = a.block] {
    return fmt::format("{}x{}x{} {} ", rows, columns, n, block) + key_of(*kept);
  };
  dispatch<T>(
      "bsr_spmm", key, program, [&] { native_bsr_spmm(a, n, b, c); },
      [&](const auto& run) {
        if constexpr (std::is_same_v<T, float>) {
          const Tiled tiles = tiled(a, true);
          std::vector<Array> arrays{array("b", b, {a.columns, n}), array("c", c, {a.rows, n})};
          if (tiles.pattern.count() > 0)
            arrays.push_back(array("blocks", tiles.blocks.data(), {kTile, tiles.pattern.count(), kTile}));
          run(std::move(arrays));
        }
      });
}

template <class T>
void sddmm(const Csr<T>& a, Int n, const T* x, const T* y, T* values) {
  const auto kept = keep("sddmm", a);
  require_size("sddmm", {n});
  if (a.rows == 0 || a.count() == 0) return;
  if (n == 0) return std::fill(values, values + a.count(), T(0));
  const Int rows = a.rows, columns = a.columns;
  const auto plan_for = [=](Target target) {
    return kernels::plan_buckets({rows, columns, kept->row_start.data(), kept->column.data()}, n, arch(target),
                                 BucketUse::only_slots);
  };
  const auto program = [=](Target target) {
    return kernels::sddmm({plan_for(target).buckets, rows, columns, n}, target);
  };
  const auto key = [=] { return fmt::format("{}x{}x{} ", rows, columns, n) + key_of(*kept); };
  const auto native = [&] {
    for (Int r = 0; r < rows; ++r) {
      for (Int e = a.row_start[r]; e < a.row_start[r + 1]; ++e) {
        const T *left = x + r * n, *right = y + a.column[e] * n;
        T sum = 0;
        for (Int j = 0; j < n; ++j) sum += left[j] * right[j];
        values[e] = sum;
      }
    }
  };
  dispatch<T>(
      "sddmm", key, program, native,
      [&](const auto& run) {
        if constexpr (std::is_same_v<T, float>) {
          const Target target = backend::current_target();
          const auto kept_plan =
              cached_plan(fmt::format("sddmm {} ", static_cast<int>(target)) + key(), [&] { return plan_for(target); });
          const BucketPlan& plan = *kept_plan;
          const Int buckets = static_cast<Int>(plan.buckets.buckets.size()), slots = plan.buckets.slot_count;
          std::vector<float> out(kTile * slots);
          run({{"indices", const_cast<std::int32_t*>(plan.indices.data()), {kTile, buckets + slots}, DType::int32},
               array("x", x, {rows, n}),
               array("y", y, {columns, n}),
               array("values", out.data(), {kTile, slots})});
          for (Int e = 0; e < a.count(); ++e) values[e] = out[plan.slot[e]];
        }
      },
      true);
}

template <class T>
void bsr_sddmm(const Bsr<T>& a, Int n, const T* x, const T* y, T* blocks) {
  const auto kept = keep("bsr_sddmm", a);
  require_size("bsr_sddmm", {n});
  if (a.rows == 0 || a.columns == 0 || a.count() == 0) return;
  std::fill(blocks, blocks + a.count() * a.block * a.block, T(0));
  if (n == 0) return;
  const Bsr<float> shape{a.rows, a.columns, a.block, kept->row_start.data(), kept->column.data(), nullptr};
  const auto program = [=](Target target) {
    (void)kept;
    return kernels::bsr_sddmm({pattern_of(shape), n}, target);
  };
  const auto key = [=, rows = a.rows, columns = a.columns, block = a.block] {
    return fmt::format("{}x{}x{} {} ", rows, columns, n, block) + key_of(*kept);
  };
  const auto native = [&] {
    for (Int r = 0; r < a.block_rows(); ++r) {
      const Int row = r * a.block, height = std::min(a.block, a.rows - row);
      for (Int e = a.row_start[r]; e < a.row_start[r + 1]; ++e) {
        const Int column = a.column[e] * a.block, width = std::min(a.block, a.columns - column);
        native_gemm<T>(false, true, height, width, n, 1, x + row * n, n, y + column * n, n, 0,
                       blocks + e * a.block * a.block, a.block);
      }
    }
  };
  dispatch<T>("bsr_sddmm", key, program, native, [&](const auto& run) {
    if constexpr (std::is_same_v<T, float>) {
      const TilePattern pattern = pattern_of(shape);
      std::vector<float> out(pattern.count() * kTile * kTile);
      run({array("x", x, {a.rows, n}), array("y", y, {a.columns, n}),
           array("blocks", out.data(), {kTile, pattern.count(), kTile})});
      blocks_of(pattern, out.data(), shape, blocks);
    }
  });
}

template <class T>
void screened_spmm(Int rows, Int columns, Int n, bool trans_a, const T* a, const T* row_bound, const T* column_bound,
                   T limit, const T* b, T* c) {
  require_size("screened_spmm", {rows, columns, n});
  if (rows == 0 || n == 0) return;
  if (columns == 0) return std::fill(c, c + rows * n, T(0));
  TilePattern pattern;
  if constexpr (std::is_same_v<T, float>) pattern = screened_pattern(rows, columns, row_bound, column_bound, limit);
  const auto program = [=](Target target) { return kernels::screened_spmm({pattern, n, trans_a}, target); };
  dispatch<T>(
      "screened_spmm", fmt::format("{} {} ", n, trans_a) + kernels::key_of(pattern), program,
      [&] { native_screened(rows, columns, n, trans_a, a, row_bound, column_bound, limit, b, c); },
      [&](const auto& run) {
        if constexpr (std::is_same_v<T, float>) {
          run({array("a", a, trans_a ? std::vector<Int>{columns, rows} : std::vector<Int>{rows, columns}),
               array("row_bound", row_bound, {rows}), array("column_bound", column_bound, {columns}),
               array("limit", &limit, {1, 1}), array("b", b, {columns, n}), array("c", c, {rows, n})});
        }
      });
}

#define KILN_PRODUCTS(T)                                                  \
  template void spmm<T>(const Csr<T>&, Int, T, const T*, T, T*);          \
  template void bsr_spmm<T>(const Bsr<T>&, Int, const T*, T*);            \
  template void sddmm<T>(const Csr<T>&, Int, const T*, const T*, T*);     \
  template void bsr_sddmm<T>(const Bsr<T>&, Int, const T*, const T*, T*); \
  template void screened_spmm<T>(Int, Int, Int, bool, const T*, const T*, const T*, T, const T*, T*);
KILN_PRODUCTS(float)
KILN_PRODUCTS(double)
#undef KILN_PRODUCTS

}  // namespace kiln::sparse
