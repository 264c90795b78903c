// Loops and branches in C++.
//
//   const auto [s] = for_loop(10, {x}, {w}, [](Expr pass, const Exprs& s, const Exprs& reads) {
//     return Exprs{tanh(matmul(s[0], reads[0]))};
//   });
//
// A body reads nothing but what it is given: state, and `reads`.
#pragma once

#include <functional>

#include "kiln/tensor/ir/expr.h"

namespace kiln::tensor {

using Exprs = std::vector<Expr>;
using StateBody = std::function<Exprs(const Exprs& state, const Exprs& reads)>;

Exprs for_loop(std::int64_t count, const Exprs& state, const Exprs& reads,
               const std::function<Exprs(Expr pass, const Exprs& state, const Exprs& reads)>& body,
               At at = At::current());
Exprs while_loop(const Exprs& state, const Exprs& reads,
                 const std::function<Expr(const Exprs& state, const Exprs& reads)>& condition, const StateBody& body,
                 At at = At::current());
Exprs branch(const Here& condition, const Exprs& reads, const std::function<Exprs(const Exprs& reads)>& yes,
             const std::function<Exprs(const Exprs& reads)>& no);

// A pass for each slice of `xs` along their first axis. The body gives the new state and, behind it, one slice for each
// result that is put together along a first axis; these follow the state in what comes back.
Exprs scan(const Exprs& state, const Exprs& xs, const Exprs& reads,
           const std::function<Exprs(const Exprs& state, const Exprs& slices, const Exprs& reads)>& body,
           At at = At::current());

}  // namespace kiln::tensor
