// What is asked of the arguments of a routine before anything happens.
#pragma once

#include <string_view>

#include "kernels/blas/host/blas_rules.h"
#include "kernels/blas/host/types.h"

namespace kiln::blas {

// Collects nothing: the first wrong argument throws. `routine` is the name without its letter.
class Arguments {
 public:
  explicit Arguments(std::string_view routine) : routine_(routine) {}
  const Arguments& size(std::string_view name, Int value) const;
  const Arguments& step(std::string_view name, Int value) const;
  // The matrix is rows x columns as stored with `layout`.
  const Arguments& leading(std::string_view name, Int ld, Layout layout, Int rows, Int columns) const;
  const Arguments& band(std::string_view name, Int ld, Int width) const;
  const Arguments& word(Layout v) const { return word("layout", static_cast<int>(v), 101, 102); }
  const Arguments& word(std::string_view name, Transpose v) const { return word(name, static_cast<int>(v), 111, 113); }
  const Arguments& word(Uplo v) const { return word("uplo", static_cast<int>(v), 121, 122); }
  const Arguments& word(Diag v) const { return word("diag", static_cast<int>(v), 131, 132); }
  const Arguments& word(Side v) const { return word("side", static_cast<int>(v), 141, 142); }
  // What every routine on a triangle and a vector takes.
  const Arguments& triangle(Layout layout, Uplo uplo, Transpose trans, Diag diag, Int n) const {
    return word(layout).word(uplo).word("trans", trans).word(diag).size("n", n);
  }

 private:
  const Arguments& word(std::string_view name, int value, int low, int high) const;
  std::string_view routine_;
};

}  // namespace kiln::blas
