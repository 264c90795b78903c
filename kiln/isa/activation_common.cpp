#include "kiln/isa/activation_common.h"

#include <fmt/format.h>

#include "kiln/isa/accumulator.h"

namespace kiln::isa {

void run_activation(Run& r, const ActivationOperands& o, ReduceCmd cmd, AluOp reduce_op,
                    FunctionRef<void(const RowChunk&)> body) {
  const Tile &d = r.tile(o.dst), &x = r.tile(o.data);
  const bool touches = cmd != ReduceCmd::idle || o.reduce_res >= 0;
  std::vector<float> acc;
  if (touches)
    acc = start_accumulators(r, kActRegisters, cmd, reduce_op, d, [](std::int64_t) { return 0.0f; });
  if (accumulates(cmd)) {
    map_and_fold(r, d, {&x}, reduce_op, acc.data(), body);
  } else {
    map_rows(r, d, {&x}, true, body);
  }
  if (touches) put_back(r, kActRegisters, d, acc);
  if (o.reduce_res >= 0) store_column(r, r.tile(o.reduce_res), acc);
}

void warn_out_of_range(const Run& r, int number, ActFn fn, const RowChunk& c, float scale, float bias) {
  if (info(fn).range == ActRange::all || !r.warnings) return;
  for (std::size_t i = 0; i < c.n; ++i) {
    const float x = c.in[0][i] * scale + bias;
    if (!in_range(fn, x)) return r.warn(number, fmt::format("{}({}) in row {}", name(fn), x, c.row));
  }
}

}  // namespace kiln::isa
