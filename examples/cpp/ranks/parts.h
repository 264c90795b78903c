// What the examples on several ranks share: tensors that collectives may use, products of matrices, and the driver.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kiln/isa/builder/builder.h"

namespace kiln::examples::ranks {

using Matrix = std::vector<float>;             // row after row
using Arrays = std::map<std::string, Matrix>;  // by name, of one rank

// The group of all ranks.
isa::Groups everyone(int ranks);

// Room in HBM that a collective may use.
isa::View shared(isa::Kernel& k, const std::string& name, isa::Shape shape);

// out = A B in HBM, with A given transposed (K, M) and B (K, N).
void product(isa::Kernel& k, const isa::View& out, const isa::View& a_transposed, const isa::View& b,
             bool relu = false);

// Numbers from -1 to 1.
Matrix random_matrix(std::int64_t size, unsigned seed);
// Columns [first, first + count) of a matrix, and a matrix turned.
Matrix columns(const Matrix& a, std::int64_t width, std::int64_t first, std::int64_t count);
Matrix transposed(const Matrix& a, std::int64_t rows, std::int64_t width);
// A B in double precision, with A (m, k) and B (k, n).
std::vector<double> exact_product(const std::vector<double>& a, const std::vector<double>& b, std::int64_t m,
                                  std::int64_t k, std::int64_t n);

struct Problem {
  isa::Program program;          // of every rank
  std::vector<Arrays> arrays;    // of each rank: inputs, and outputs to be filled
  std::string output;            // that every rank returns
  std::vector<double> expected;  // as the whole problem gives it
};

// The main function: --ranks, --seed. Checks the program, runs it on all ranks and compares. Exit codes: 0 fine, 1 the
// program breaks a rule or computes something else, 2 wrong usage.
int run_example(const char* name, Problem (*make)(int ranks, unsigned seed), int argc, char** argv);

}  // namespace kiln::examples::ranks
