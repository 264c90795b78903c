// Ways to take elementwise ops apart that stand beside decompose.cpp: one function per word of made(...) in ops.def.
#pragma once

#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {

// functions.cpp
Expr way_arcsin(const Rewriting& r);
Expr way_arccos(const Rewriting& r);
Expr way_arcsinh(const Rewriting& r);
Expr way_arccosh(const Rewriting& r);
Expr way_arctanh(const Rewriting& r);
Expr way_arctan2(const Rewriting& r);
Expr way_hypot(const Rewriting& r);
Expr way_cbrt(const Rewriting& r);
Expr way_sinc(const Rewriting& r);
Expr way_deg2rad(const Rewriting& r);
Expr way_rad2deg(const Rewriting& r);
Expr way_signbit(const Rewriting& r);
Expr way_copysign(const Rewriting& r);
Expr way_heaviside(const Rewriting& r);
Expr way_logaddexp(const Rewriting& r);
Expr way_logaddexp2(const Rewriting& r);
Expr way_fmax(const Rewriting& r);
Expr way_fmin(const Rewriting& r);
Expr way_fmod(const Rewriting& r);

// remainders.cpp: of floats, as NumPy has them.
Expr floor_divide_floats(const Rewriting& r);
Expr remainder_of_floats(const Rewriting& r);
Expr fmod_of_floats(const Rewriting& r);

// integers.cpp: exact in 32 bits, results wrap.
Expr floor_divide_integers(const Rewriting& r);
Expr remainder_of_integers(const Rewriting& r);
Expr fmod_of_integers(const Rewriting& r);
Expr power_of_integers(const Rewriting& r);
Expr product_of_integers(const Rewriting& r);  // a matmul

}  // namespace kiln::tensor
