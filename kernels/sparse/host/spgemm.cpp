#include "kernels/sparse/spgemm.h"

#include <algorithm>

#include "kernels/sparse/host/formats.h"
#include "kernels/sparse/host/sparse_call.h"
#include "kernels/sparse/host/tiled.h"

namespace kiln::sparse {
namespace {

using kernels::kTile;

template <class T>
void require_pair(const Csr<T>& a, const Csr<T>& b) {
  require_csr("spgemm", a);
  require_csr("spgemm", b);
  if (a.columns != b.rows)
    raise(kernels::sparse_rules::kTable, kernels::sparse_rules::kSize,
          {.found = fmt::format("spgemm of {} columns with {} rows", a.columns, b.rows)});
}

template <class T>
void native_spgemm(const Csr<T>& a, const Csr<T>& b, const Csr<T>& places, T* values) {
  std::vector<T> sums(b.columns, T(0));
  for (Int r = 0; r < a.rows; ++r) {
    for (Int e = a.row_start[r]; e < a.row_start[r + 1]; ++e) {
      const Int inner = a.column[e];
      for (Int f = b.row_start[inner]; f < b.row_start[inner + 1]; ++f) sums[b.column[f]] += a.values[e] * b.values[f];
    }
    for (Int e = places.row_start[r]; e < places.row_start[r + 1]; ++e) {
      values[e] = sums[places.column[e]];
      sums[places.column[e]] = T(0);
    }
  }
}

// The same as one product of a sparse matrix, in which each place has a row and each element of b a column, with the
// values of b: nothing but stored elements meet in it.
template <class T>
void spgemm_by_elements(const Csr<T>& a, const Csr<T>& b, const Csr<T>& places, T* values) {
  CsrMatrix<T> pairs{places.count(), b.count(), {0}, {}, {}};
  std::vector<std::vector<std::pair<Int, T>>> of_place(b.columns);
  for (Int r = 0; r < a.rows; ++r) {
    for (Int e = a.row_start[r]; e < a.row_start[r + 1]; ++e) {
      for (Int f = b.row_start[a.column[e]]; f < b.row_start[a.column[e] + 1]; ++f)
        of_place[b.column[f]].emplace_back(f, a.values[e]);
    }
    for (Int e = places.row_start[r]; e < places.row_start[r + 1]; ++e) {
      for (const auto& [column, value] : of_place[places.column[e]]) {
        pairs.column.push_back(column);
        pairs.values.push_back(value);
      }
      of_place[places.column[e]].clear();
      pairs.row_start.push_back(static_cast<Int>(pairs.column.size()));
    }
  }
  spmm<T>(pairs.view(), 1, T(1), b.values, T(0), values);
}

}  // namespace

template <class T>
void spgemm_places(const Csr<T>& a, const Csr<T>& b, std::vector<Int>& row_start, std::vector<Int>& column) {
  require_pair(a, b);
  row_start.assign(1, 0);
  column.clear();
  std::vector<Int> seen(b.columns, -1);
  for (Int r = 0; r < a.rows; ++r) {
    const auto first = static_cast<std::ptrdiff_t>(column.size());
    for (Int e = a.row_start[r]; e < a.row_start[r + 1]; ++e) {
      const Int inner = a.column[e];
      for (Int f = b.row_start[inner]; f < b.row_start[inner + 1]; ++f) {
        if (seen[b.column[f]] == r) continue;
        seen[b.column[f]] = r;
        column.push_back(b.column[f]);
      }
    }
    std::sort(column.begin() + first, column.end());
    row_start.push_back(static_cast<Int>(column.size()));
  }
}

template <class T>
void spgemm(const Csr<T>& a, const Csr<T>& b, const Csr<T>& places, T* values) {
  require_pair(a, b);
  require_csr("spgemm", places);
  if (places.rows == 0 || places.count() == 0) return;
  if (kernel_meets_infinity<T>({view_of(a.values, a.count()), view_of(b.values, b.count())}))
    return spgemm_by_elements(a, b, places, values);
  const auto ka = keep("spgemm", a), kb = keep("spgemm", b);
  const Csr<float> fa{a.rows, a.columns, ka->row_start.data(), ka->column.data(), nullptr};
  const Csr<float> fb{b.rows, b.columns, kb->row_start.data(), kb->column.data(), nullptr};
  const auto program = [=](Target target) {
    (void)ka, (void)kb;
    return kernels::spgemm({pattern_of(fa), pattern_of(fb)}, target);
  };
  const auto key = [=] {
    return fmt::format("{}x{}x{} ", fa.rows, fa.columns, fb.columns) + key_of(*ka) + key_of(*kb);
  };
  dispatch<T>(
      "spgemm", key, program, [&] { native_spgemm(a, b, places, values); },
      [&](const auto& run) {
        if constexpr (std::is_same_v<T, float>) {
          const Tiled ta = tiled(a, true), tb = tiled(b, false);
          const kernels::TilePattern result = kernels::product_pattern(ta.pattern, tb.pattern);
          std::vector<float> out(result.count() * kTile * kTile);
          run({array("a_blocks", ta.blocks.data(), {kTile, ta.pattern.count(), kTile}),
               array("b_blocks", tb.blocks.data(), {kTile, tb.pattern.count(), kTile}),
               array("c_blocks", out.data(), {kTile, result.count(), kTile})});
          for (Int r = 0; r < places.rows; ++r) {
            for (Int e = places.row_start[r]; e < places.row_start[r + 1]; ++e)
              values[e] = out[place_of(result, r, places.column[e], false)];
          }
        }
      });
}

#define KILN_SPGEMM(T)                                                      \
  template void spgemm<T>(const Csr<T>&, const Csr<T>&, const Csr<T>&, T*); \
  template void spgemm_places<T>(const Csr<T>&, const Csr<T>&, std::vector<Int>&, std::vector<Int>&);
KILN_SPGEMM(float)
KILN_SPGEMM(double)
#undef KILN_SPGEMM

}  // namespace kiln::sparse
