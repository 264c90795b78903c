// What transforms in one trip through SBUF share: tables of pairs, products whose stationary operand the data are, and
// the factors between them.
#pragma once

#include <functional>

#include "kernels/blas/product_block.h"
#include "kernels/blas/split.h"
#include "kernels/fft/table.h"

namespace kiln::kernels {

using TableNumber = std::function<Complex(std::int64_t, std::int64_t)>;

// A table of complex numbers as pairs of columns.
Table pairs_table(const std::string& name, std::int64_t rows, std::int64_t columns, const TableNumber& number);
// What complex numbers are multiplied with: their real parts, and their imaginary ones.
void add_product_tables(Tables& tables, const std::string& name, std::int64_t rows, std::int64_t columns, bool of_real,
                        const TableNumber& number);

struct TripSteps {
  isa::Kernel& k;
  Precision precision;
  bool finely = false;  // in small pieces, so that an engine waits little for another: for a row whose steps overlap
                        // with those of no other one

  Parts parts(const isa::View& v) const { return parts_of_tile(k, v, precision); }
  // The parts of complex numbers, pairs in the last dimension.
  std::vector<Parts> numbers(const isa::View& v) const;
  // Of tables that were loaded, in their order: what one or both parts of numbers are multiplied with, and factors.
  std::vector<Parts> products(const std::vector<isa::View>& tiles, std::size_t& next, bool of_real) const;
  static isa::View factors(const std::vector<isa::View>& tiles, std::size_t& next);

  isa::View bank(std::int64_t rows, std::int64_t width) const;
  // How many of some sums of `width` columns share a bank: of few ones none, so that the vector engine has the first
  // one while the tensor engine makes the next.
  std::int64_t in_a_bank(std::int64_t sums, std::int64_t width) const;
  // sum += data [contracted, results], one or both parts of numbers, times a table from a column on.
  void multiply(const isa::View& sum, const std::vector<Parts>& data, const std::vector<Parts>& table,
                const std::function<isa::View(const isa::View&)>& of, std::int64_t column = 0) const;
  // to [rows, groups, size, 2] = sum times factors of the same shape. What is in PSUM is read by the vector engine.
  void twiddle(const isa::View& to, const isa::View& sum, const isa::View& w) const {
    twiddle(to, sum, w, {0, to.dim(2)});
  }
  // The same for some of the numbers of each group.
  void twiddle(const isa::View& to, const isa::View& sum, const isa::View& w, const Piece& some) const;
  // Finely: of all numbers of each group, those of the first half of some blocks of `size` before the others.
  void twiddle_in_halves(const isa::View& to, const isa::View& sum, const isa::View& w, std::int64_t size) const;
};

}  // namespace kiln::kernels
