// The last step of a product with a vector: y = alpha sums + beta y for a block of rows, one per partition.
#pragma once

#include "kernels/blas/level2/level2.h"

namespace kiln::kernels {

class ResultColumn {
 public:
  ResultColumn(isa::Kernel& k, std::int64_t length, int planes, Scalar beta);
  // sums: [m, planes] in SBUF, of rows i0 … i0 + m.
  void store(const isa::View& sums, const isa::Index& i0) const;

 private:
  void scale(const isa::View& to, const isa::View& from, int first) const;
  isa::Kernel& k_;
  Scalar beta_;
  isa::View scalars_, y_in_, y_;
};

// A column of zeros [m, planes].
isa::View zero_column(isa::Kernel& k, std::int64_t m, int planes);

// sums[:, out] += or -= the row sums of a * b.
void add_products(isa::Kernel& k, const isa::View& sums, int out, const isa::View& a, const isa::View& b, bool negate);

// One real product of a complex one: plane a of the matrix and plane x of the vector go to plane `out`.
struct PlaneTerm {
  int a, x, out;
  bool negate;
};
std::vector<PlaneTerm> plane_terms(int planes, bool conjugate);

}  // namespace kiln::kernels
