#include "kernels/sparse/solver_parts.h"

#include <fmt/format.h>

#include "kernels/sparse/sparse_rules.h"

namespace kiln::kernels {
using namespace isa;

void require_solver(const char* what, const SolverConfig& c) {
  require_pattern(what, c.pattern);
  const auto require = [&](bool holds, const std::string& found) {
    if (!holds) raise(sparse_rules::kTable, sparse_rules::kSize, {.found = fmt::format("{} {}", what, found)});
  };
  require(c.pattern.rows == c.pattern.columns, fmt::format("of {} x {}", c.pattern.rows, c.pattern.columns));
  require(c.pattern.tile_rows() <= kWide, fmt::format("of {} rows, at most {}", c.pattern.rows, kWide * kTile));
  if (c.preconditioner == Preconditioner::matrix) {
    require_pattern(what, c.m_pattern);
    require(c.m_pattern.rows == c.pattern.rows && c.m_pattern.columns == c.pattern.rows,
            fmt::format("with a preconditioner of {} x {}", c.m_pattern.rows, c.m_pattern.columns));
  }
}

Stop::Stop(Kernel& k) : k_(k), flag_(k.sbuf({1, 1}, DType::int32)) {}

void Stop::tell(const View& more, Reg go) {
  k_.tensor_copy({.dst = flag_, .src = more(ds(0, 1))});
  k_.register_load({.dst = go, .src = flag_});
}

}  // namespace kiln::kernels
