// Products of complex rows with one table, element by element, from HBM to HBM.
#pragma once

#include "kernels/blas/product_block.h"
#include "kernels/fft/table.h"

namespace kiln::kernels {

// Which rows are real: those that come, or those that go, of which only the real parts are stored, or these and the
// table too.
enum class RealRows : std::uint8_t { none, x, y, all };

// y [rows, 2 length] = x [rows, ≥ 2 count] times the table [1, 2 count]; what is beyond `count` is zero. Real rows have
// half as many numbers. With x equal to y the rows are replaced.
void multiply_rows(isa::Kernel& k, const isa::View& x, const isa::View& y, const isa::View& table,
                   RealRows real = RealRows::none);

// The same for some numbers of the table, and nothing beyond them.
void multiply_numbers(isa::Kernel& k, const isa::View& x, const isa::View& y, const isa::View& table, RealRows real,
                      const Piece& numbers);

// Zeros in the columns of y from `from` on.
void clear_rows(isa::Kernel& k, const isa::View& y, std::int64_t from);

}  // namespace kiln::kernels
