#include "kiln/sim/operand_overlap.h"

#include <fmt/format.h>

#include <algorithm>

#include "kiln/isa/semantics/overlap.h"
#include "kiln/isa/text/print.h"
#include "kiln/sim/checks.h"
#include "kiln/sim/rules.h"

namespace kiln::sim {
using namespace isa;
namespace {

struct Bytes {
  std::int64_t begin, end;
};

std::vector<Bytes> bytes_of(const Operand& o) {
  std::vector<Bytes> out;
  const std::int64_t size = o.tile.element_bytes();
  for (std::int64_t row = 0; row < o.tile.rows; ++row) {
    for_runs(o.tile, row, 0, o.tile.free_size, [&](std::byte* at, std::int64_t stride, std::int64_t n, std::int64_t) {
      const std::int64_t first = at - o.storage->data;
      if (stride == 1) return out.push_back({first, first + n * size});
      for (std::int64_t i = 0; i < n; ++i) out.push_back({first + i * stride * size, first + (i * stride + 1) * size});
    });
  }
  std::sort(out.begin(), out.end(), [](Bytes a, Bytes b) { return a.begin < b.begin; });
  return out;
}

bool same_tile(const Tile& a, const Tile& b) {
  return a.data == b.data && a.dtype == b.dtype && a.rows == b.rows && a.row_bytes == b.row_bytes &&
         a.free_rank == b.free_rank && std::equal(a.free, a.free + a.free_rank, b.free);
}

bool share_bytes(const Operand& a, const Operand& b) {
  const auto x = bytes_of(a), y = bytes_of(b);
  for (std::size_t i = 0, j = 0; i < x.size() && j < y.size();) {
    if (x[i].begin < y[j].end && y[j].begin < x[i].end) return true;
    x[i].end < y[j].end ? ++i : ++j;
  }
  return false;
}

// Rows and columns that values choose are the instruction's own business.
bool is_scattered(const Tile& t) { return t.row_offset || t.column; }

}  // namespace

void check_overlaps(const Run& run, const Operands& operands) {
  if (!kChecks || reads_all_first(run.program(), run.inst())) return;
  const auto& params = run.row().params;
  for (const Operand& out : operands.list) {
    if (!params[out.param].is_output() || is_scattered(out.tile)) continue;
    for (const Operand& in : operands.list) {
      if (&in == &out || in.storage != out.storage || is_scattered(in.tile) || same_tile(in.tile, out.tile)) continue;
      if (params[in.param].is_output() && run.engine() == Engine::scalar) continue;  // sums come last
      if (!region_of(in).overlaps(region_of(out)) || !share_bytes(in, out)) continue;
      const std::string operand(params[out.param].name);
      raise(run_rules::kTable, run_rules::kOverlap,
            {.found = fmt::format("`{}` and `{}` overlap in part", operand, params[in.param].name),
             .loc = run.loc(),
             .context = print(run.program(), run.inst()),
             .operand = operand,
             .category = Category::undefined});
    }
  }
}

}  // namespace kiln::sim
