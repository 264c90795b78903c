// Sparse matrices that own their memory, and their conversions. Each goes through triplets or rows, never through a
// dense matrix; places that are given twice are added up. What is no matrix throws an Error (sparse.R4, sparse.R5).
#pragma once

#include <algorithm>
#include <map>
#include <numeric>

#include "kernels/sparse/host/sparse.h"

namespace kiln::sparse {

template <class T>
struct CooMatrix {
  Int rows = 0, columns = 0;
  std::vector<Int> row, column;
  std::vector<T> values;
};

template <class T>
struct CsrMatrix {
  Int rows = 0, columns = 0;
  std::vector<Int> row_start, column;
  std::vector<T> values;
  Csr<T> view() const { return {rows, columns, row_start.data(), column.data(), values.data()}; }
};

template <class T>
struct CscMatrix {
  Int rows = 0, columns = 0;
  std::vector<Int> column_start, row;
  std::vector<T> values;
};

template <class T>
struct EllMatrix {
  Int rows = 0, columns = 0, width = 0;
  std::vector<Int> column;  // [rows, width]; -1: no element
  std::vector<T> values;
};

template <class T>
struct BsrMatrix {
  Int rows = 0, columns = 0, block = 128;
  std::vector<Int> row_start, column;
  std::vector<T> blocks;  // [count, block, block]
  Bsr<T> view() const { return {rows, columns, block, row_start.data(), column.data(), blocks.data()}; }
};

void require_triplets(Int rows, Int columns, const std::vector<Int>& row, const std::vector<Int>& column,
                      std::size_t values);
// By rows or columns, the `groups`, of elements or of blocks.
void require_groups(Int groups, Int size, const std::vector<Int>& start, const std::vector<Int>& index,
                    std::size_t values, Int block = 1);
void require_ell(Int rows, Int columns, Int width, const std::vector<Int>& column, std::size_t values);

template <class T>
void require_rows(const CsrMatrix<T>& a) {
  require_groups(a.rows, a.columns, a.row_start, a.column, a.values.size());
}

template <class T>
CsrMatrix<T> to_csr(const CooMatrix<T>& a) {
  require_triplets(a.rows, a.columns, a.row, a.column, a.values.size());
  std::vector<std::size_t> order(a.values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto place = [&](std::size_t e) { return std::pair(a.row[e], a.column[e]); };
  std::stable_sort(order.begin(), order.end(), [&](auto x, auto y) { return place(x) < place(y); });
  CsrMatrix<T> csr{a.rows, a.columns, std::vector<Int>(a.rows + 1), {}, {}};
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t e = order[i];
    if (i > 0 && place(order[i - 1]) == place(e)) {
      csr.values.back() += a.values[e];
      continue;
    }
    ++csr.row_start[a.row[e] + 1];
    csr.column.push_back(a.column[e]);
    csr.values.push_back(a.values[e]);
  }
  std::partial_sum(csr.row_start.begin(), csr.row_start.end(), csr.row_start.begin());
  return csr;
}

template <class T>
CooMatrix<T> to_coo(const CsrMatrix<T>& a) {
  require_rows(a);
  CooMatrix<T> coo{a.rows, a.columns, {}, a.column, a.values};
  for (Int r = 0; r < a.rows; ++r) coo.row.insert(coo.row.end(), a.row_start[r + 1] - a.row_start[r], r);
  return coo;
}

template <class T>
CsrMatrix<T> transposed(const CsrMatrix<T>& a) {
  CooMatrix<T> coo = to_coo(a);
  std::swap(coo.row, coo.column);
  std::swap(coo.rows, coo.columns);
  return to_csr(coo);
}

template <class T>
CscMatrix<T> to_csc(const CsrMatrix<T>& a) {
  CsrMatrix<T> t = transposed(a);
  return {a.rows, a.columns, std::move(t.row_start), std::move(t.column), std::move(t.values)};
}

template <class T>
CsrMatrix<T> to_csr(const CscMatrix<T>& a) {
  return transposed(CsrMatrix<T>{a.columns, a.rows, a.column_start, a.row, a.values});
}

template <class T>
EllMatrix<T> to_ell(const CsrMatrix<T>& a) {
  require_rows(a);
  EllMatrix<T> ell{a.rows, a.columns, 0, {}, {}};
  for (Int r = 0; r < a.rows; ++r) ell.width = std::max(ell.width, a.row_start[r + 1] - a.row_start[r]);
  ell.column.assign(a.rows * ell.width, -1);
  ell.values.assign(a.rows * ell.width, T(0));
  for (Int r = 0; r < a.rows; ++r) {
    const Int first = a.row_start[r], count = a.row_start[r + 1] - first;
    std::copy_n(a.column.begin() + first, count, ell.column.begin() + r * ell.width);
    std::copy_n(a.values.begin() + first, count, ell.values.begin() + r * ell.width);
  }
  return ell;
}

template <class T>
CsrMatrix<T> to_csr(const EllMatrix<T>& a) {
  require_ell(a.rows, a.columns, a.width, a.column, a.values.size());
  CooMatrix<T> coo{a.rows, a.columns, {}, {}, {}};
  for (Int i = 0; i < a.rows * a.width; ++i) {
    if (a.column[i] < 0) continue;
    coo.row.push_back(i / a.width);
    coo.column.push_back(a.column[i]);
    coo.values.push_back(a.values[i]);
  }
  return to_csr(coo);
}

// The blocks that have an element.
template <class T>
BsrMatrix<T> to_bsr(const CsrMatrix<T>& a, Int block = 128) {
  require_rows(a);
  require_groups(0, 0, {0}, {}, 0, block);
  BsrMatrix<T> bsr{a.rows, a.columns, block, {0}, {}, {}};
  for (Int first = 0; first < a.rows; first += block) {
    const Int last = std::min(a.rows, first + block);
    std::map<Int, Int> at;  // of a column of blocks, its block
    for (Int e = a.row_start[first]; e < a.row_start[last]; ++e) at[a.column[e] / block] = 0;
    for (auto& [column, index] : at) {
      index = static_cast<Int>(bsr.column.size());
      bsr.column.push_back(column);
    }
    bsr.blocks.resize(bsr.column.size() * block * block, T(0));
    for (Int r = first; r < last; ++r) {
      for (Int e = a.row_start[r]; e < a.row_start[r + 1]; ++e)
        bsr.blocks[(at[a.column[e] / block] * block + r - first) * block + a.column[e] % block] += a.values[e];
    }
    bsr.row_start.push_back(static_cast<Int>(bsr.column.size()));
  }
  return bsr;
}

// The elements that are not zero.
template <class T>
CsrMatrix<T> to_csr(const BsrMatrix<T>& a) {
  require_groups(a.rows, a.columns, a.row_start, a.column, a.blocks.size(), a.block);
  CooMatrix<T> coo{a.rows, a.columns, {}, {}, {}};
  for (Int r = 0; r + 1 < static_cast<Int>(a.row_start.size()); ++r) {
    for (Int e = a.row_start[r]; e < a.row_start[r + 1]; ++e) {
      for (Int i = 0; i < a.block * a.block; ++i) {
        const Int row = r * a.block + i / a.block, column = a.column[e] * a.block + i % a.block;
        const T value = a.blocks[e * a.block * a.block + i];
        if (row >= a.rows || column >= a.columns || value == T(0)) continue;
        coo.row.push_back(row);
        coo.column.push_back(column);
        coo.values.push_back(value);
      }
    }
  }
  return to_csr(coo);
}

}  // namespace kiln::sparse
