#include "kiln/analysis/spread_rows.h"

#include "kiln/analysis/writers.h"
#include "kiln/isa/inst_view.h"

namespace kiln::analysis {
using namespace isa;

namespace {

// The source of a plain copy; -1: the instruction is none.
int copied(const InstView& v) {
  if (v.facts().copies >= 0) return v.facts().copies;
  return v.facts().repeats ? v.facts().repeats(v) : -1;
}

bool is_whole(const InstView& v, int param) {
  const Tensor& t = v.tensor(param);
  std::int64_t elements = 1;
  for (std::int64_t size : t.shape) elements *= size;
  return !t.address && !v.dynamic(param) && v.dtype(param) == t.dtype && v.access(param).count() == elements;
}

bool spreads_row(const InstView& v) { return v.facts().spreads_row && v.facts().spreads_row(v); }

}  // namespace

std::vector<SpreadRow> find_spread_rows(const Program& program) {
  std::vector<SpreadRow> rows;
  std::vector<InstructionId> writers;
  for (InstructionId id = 0; id < program.instructions.size(); ++id) {
    const InstView v(program, program.instructions[id]);
    const int from = copied(v), to = v.row().result;
    if (from < 0 || !v.in_psum(from) || v.memory(to) != Memory::sbuf) continue;
    if (!is_whole(v, from) || !is_whole(v, to) || v.dtype(from) != v.dtype(to)) continue;
    if (writers.empty()) writers = only_writers(program);
    const InstructionId product = writers[v.access(from).tensor];
    if (product == kNone || writers[v.access(to).tensor] != id) continue;
    if (spreads_row({program, program.instructions[product]})) rows.push_back({v.access(to).tensor, id});
  }
  return rows;
}

}  // namespace kiln::analysis
