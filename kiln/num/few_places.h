// FewPlaces: what a caller knows of an array of float32 that is nearly all zeros, as the blocks of sparse matrices are.
// Products with parts of it need not look for the other elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kiln {

struct FewPlaces {
  struct Element {
    std::uint32_t row;
    float value;
  };
  const float* data = nullptr;  // [rows, columns], without gaps
  std::size_t rows = 0, columns = 0;
  std::vector<std::uint32_t> start;  // of each column in `elements`, and the end
  std::vector<Element> elements;     // by columns, rows ascending in each; every other element is +0 or -0

  bool times_finite = false;  // what it is multiplied with is neither infinite nor NaN

  // Of places row * columns + column, in any order and some perhaps twice.
  FewPlaces() = default;
  FewPlaces(const float* data, std::size_t rows, std::size_t columns, std::vector<std::int64_t> places);

  void read_values();  // again, of an array that was written to

  // The array that fast products of this thread may lie in; null: none.
  static const FewPlaces* current();

  // While it lives, products of this thread know of an array. Nobody writes there meanwhile.
  class Scope {
   public:
    explicit Scope(const FewPlaces* places);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    const FewPlaces* before_;
  };
};

}  // namespace kiln
