// kiln::sparse in C++: conversions, and operations on both backends that are always there.
#include <gtest/gtest.h>

#include <random>

#include "kernels/backend/backend.h"
#include "kernels/backend/call.h"
#include "kernels/sparse/attention.h"
#include "kernels/sparse/host/formats.h"
#include "tests/error_of.h"

namespace kiln::sparse {
namespace {

using Dense = std::vector<float>;

CooMatrix<float> random_coo(Int rows, Int columns, Int count, unsigned seed) {
  std::mt19937 random(seed);
  CooMatrix<float> a{rows, columns, {}, {}, {}};
  for (Int i = 0; i < count; ++i) {  // places may come twice
    a.row.push_back(static_cast<Int>(random() % static_cast<unsigned>(rows)));
    a.column.push_back(static_cast<Int>(random() % static_cast<unsigned>(columns)));
    a.values.push_back(static_cast<float>(static_cast<int>(random() % 9)) - 4.5f);
  }
  return a;
}

Dense dense(const CooMatrix<float>& a) {
  Dense d(a.rows * a.columns, 0);
  for (std::size_t e = 0; e < a.values.size(); ++e) d[a.row[e] * a.columns + a.column[e]] += a.values[e];
  return d;
}
Dense dense(const CsrMatrix<float>& a) { return dense(to_coo(a)); }

TEST(SparseFormats, EveryConversionKeepsTheMatrix) {
  for (const auto& [rows, columns, count] :
       {std::tuple<Int, Int, Int>{7, 5, 20}, {130, 257, 900}, {1, 1, 3}, {9, 4, 0}}) {
    const CooMatrix<float> coo = random_coo(rows, columns, count, 7);
    const CsrMatrix<float> csr = to_csr(coo);
    const Dense want = dense(coo);
    EXPECT_EQ(dense(csr), want);
    EXPECT_EQ(dense(to_csr(to_csc(csr))), want);
    EXPECT_EQ(dense(to_csr(to_ell(csr))), want);
    EXPECT_EQ(dense(transposed(transposed(csr))), want);
    for (const Int block : {1, 3, 128}) EXPECT_EQ(dense(to_csr(to_bsr(csr, block))), want) << block;
  }
}

TEST(SparseFormats, WhatIsNoMatrixIsRefused) {
  using Coo = CooMatrix<float>;
  using Csr = CsrMatrix<float>;
  using Ell = EllMatrix<float>;
  using Blocks = BsrMatrix<float>;
  const auto expect = [](const char* code, const auto& convert) { EXPECT_EQ(error_of(convert).code, code); };
  for (const Coo& a : {Coo{2, 2, {2}, {0}, {1}}, Coo{2, 2, {0}, {-1}, {1}}, Coo{2, 2, {0}, {0, 1}, {1}}})
    expect("sparse.R5", [&] { to_csr(a); });
  expect("sparse.R4", [] { to_csr(Coo{-1, 2, {}, {}, {}}); });
  for (const Csr& a : {Csr{2, 2, {0, 1}, {0}, {1}}, Csr{2, 2, {0, 2, 1}, {0}, {1}}, Csr{2, 2, {0, 1, 2}, {0}, {1}},
                       Csr{2, 2, {0, 0, 1}, {2}, {1}}, Csr{2, 2, {0, 0, 1}, {1}, {1, 2}}}) {
    expect("sparse.R5", [&] { to_coo(a); });
    expect("sparse.R5", [&] { transposed(a); });
    expect("sparse.R5", [&] { to_csc(a); });
    expect("sparse.R5", [&] { to_ell(a); });
    expect("sparse.R5", [&] { to_bsr(a); });
  }
  expect("sparse.R4", [] { to_bsr(Csr{1, 1, {0, 1}, {0}, {1}}, 0); });
  expect("sparse.R5", [] { to_csr(CscMatrix<float>{1, 1, {0, 1}, {1}, {1}}); });
  for (const Ell& a : {Ell{1, 2, 1, {2}, {1}}, Ell{1, 2, 1, {-2}, {1}}, Ell{2, 2, 1, {0}, {1}}})
    expect("sparse.R5", [&] { to_csr(a); });
  for (const Blocks& a : {Blocks{2, 2, 2, {0, 1}, {1}, {1, 2, 3, 4}}, Blocks{2, 2, 2, {0, 1}, {0}, {1, 2, 3}},
                          Blocks{3, 2, 2, {0, 1}, {0}, {1, 2, 3, 4}}})
    expect("sparse.R5", [&] { to_csr(a); });
  expect("sparse.R4", [] { to_csr(Blocks{2, 2, 0, {0, 1}, {0}, {1}}); });
}

TEST(SparseProducts, AreRightOnBothBackends) {
  const Int rows = 300, columns = 200, n = 33;
  const CsrMatrix<float> a = to_csr(random_coo(rows, columns, 2000, 9));
  const BsrMatrix<float> blocks = to_bsr(a, 50);
  const Dense matrix = dense(a);
  Dense b(columns * n), want(rows * n, 0);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(static_cast<int>(i % 7)) - 3;
  for (Int i = 0; i < rows; ++i) {
    for (Int k = 0; k < columns; ++k) {
      for (Int j = 0; j < n; ++j) want[i * n + j] += matrix[i * columns + k] * b[k * n + j];
    }
  }
  for (const char* word : {"native", "simulator"}) {
    const backend::Scope scope(word);
    Dense c(rows * n, NAN), d(rows * n, NAN);
    spmm<float>(a.view(), n, 1, b.data(), 0, c.data());
    bsr_spmm<float>(blocks.view(), n, b.data(), d.data());
    EXPECT_EQ(c, want) << word;  // small integers and halves: exact in any order
    EXPECT_EQ(d, want) << word;
  }
}

// The pattern of the call before is kept: one that has changed in place is another one.
TEST(SparseProducts, SeePatternsThatChangeInPlace) {
  CsrMatrix<float> a{2, 3, {0, 1, 2}, {0, 1}, {2, 3}};
  const Dense b{1, 10, 100};
  for (const char* word : {"native", "simulator"}) {
    const backend::Scope scope(word);
    for (const Int column : {0, 1, 2}) {
      a.column[1] = column;
      Dense c(2, NAN);
      spmm<float>(a.view(), 1, 1, b.data(), 0, c.data());
      EXPECT_EQ(c, (Dense{2, 3 * b[column]})) << word << column;
    }
  }
}

// A second call with the same indices takes rows of a window side by side; each is summed up as before.
TEST(SparseProducts, WithVectorsGiveTheSameBitsAgain) {
  const backend::Scope scope("native");
  for (const auto& [rows, elements] : {std::pair<Int, Int>{1, 3}, {3, 2}, {257, 900}, {700, 9000}, {1000, 700}}) {
    const CsrMatrix<float> a = to_csr(random_coo(rows, 300, elements, static_cast<int>(rows)));
    Dense x(300), before(rows);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 1.0f / static_cast<float>(i + 3);
    for (std::size_t i = 0; i < before.size(); ++i) before[i] = 1.0f / static_cast<float>(2 * i + 1);
    for (const auto& [alpha, beta] : {std::pair{1.0f, 0.0f}, {0.3f, 0.7f}}) {
      Dense want = before;
      for (Int r = 0; r < rows; ++r) {
        float sum = beta == 0 ? 0 : beta * before[r];
        for (Int e = a.row_start[r]; e < a.row_start[r + 1]; ++e) sum += alpha * a.values[e] * x[a.column[e]];
        want[r] = sum;
      }
      for (int call = 0; call < 3; ++call) {
        Dense y = before;
        spmm<float>(a.view(), 1, alpha, x.data(), beta, y.data());
        EXPECT_EQ(y, want) << rows << " rows, call " << call;
        EXPECT_EQ(backend::last_call().operation, "sspmm");
        EXPECT_FALSE(backend::programs_of(backend::last_call()).empty());
      }
    }
  }
}

// Statistics may be asked for without the result in float32.
TEST(SparseAttention, GivesStatisticsAlone) {
  const Int row_start[] = {0, 1}, column[] = {0};
  const Attention a{.queries = 2, .keys = 1, .head = 16, .row_start = row_start, .column = column};
  const std::vector<std::uint16_t> ones(32, 0x3f80);  // 1 in bfloat16
  std::vector<std::uint16_t> out(32);
  Dense minus_lse(2);
  const backend::Scope scope("simulator");
  attention(a, Elements::bfloat16, ones.data(), ones.data(), ones.data(), out.data(), minus_lse.data());
  EXPECT_EQ(minus_lse, Dense(2, -16));  // one key, whose score is 16
  EXPECT_EQ(out, ones);
}

// Queries by the head: sums of dq are 128 KiB of a partition, two blocks of them on it for heads of up to 64.
TEST(SparseAttention, RefusesWhatDoesNotFit) {
  using namespace kernels;
  for (const auto& [head, most] :
       {std::pair<Int, Int>{16, 65536}, {64, 65536}, {65, 32768}, {128, 32768}, {512, 8192}}) {
    AttentionConfig c{.pattern = {.rows = most + 1, .columns = 128, .row_start = {}, .column = {}}, .head = head};
    c.pattern.row_start.assign(c.pattern.tile_rows() + 1, 0);
    const Diagnostic found = error_of([&] { attention_backward(c, Target::trn2); });
    EXPECT_EQ(found.code, "sparse.R4") << head;
    EXPECT_NE(found.allowed.find(std::to_string(most)), std::string::npos) << found.allowed;
  }
  AttentionConfig c{.pattern = {.rows = 128, .columns = 128, .row_start = {0, 0}, .column = {}}, .head = 513};
  EXPECT_EQ(error_of([&] { attention(c, Target::trn2); }).code, "sparse.R2");
}

TEST(SparseProducts, RefuseWrongIndices) {
  CsrMatrix<float> a = to_csr(random_coo(4, 4, 6, 3));
  const Dense b(16, 1);
  Dense c(16, 5);
  a.column[0] = 4;
  EXPECT_EQ(error_of([&] { spmm<float>(a.view(), 4, 1, b.data(), 0, c.data()); }).code, "sparse.R5");
  a.column[0] = 0;
  a.row_start[1] = 9;
  EXPECT_EQ(error_of([&] { spmm<float>(a.view(), 4, 1, b.data(), 0, c.data()); }).code, "sparse.R5");
  EXPECT_EQ(c, Dense(16, 5)) << "something was written";
}

// Indices of which only the last ones have changed since the call before are found before anything is written.
TEST(SparseProducts, RefuseIndicesThatBecameWrong) {
  const backend::Scope scope("native");
  CsrMatrix<float> a = to_csr(random_coo(600, 50, 2000, 5));
  const Dense x(50, 1);
  Dense y(600, 5);
  const auto multiply = [&] { spmm<float>(a.view(), 1, 1, x.data(), 1, y.data()); };
  multiply();
  const Dense after = y;
  a.column.back() = 50;
  EXPECT_EQ(error_of(multiply).code, "sparse.R5");
  EXPECT_EQ(y, after) << "something was written";
}

}  // namespace
}  // namespace kiln::sparse
