#include "kiln/tensor/passes/access.h"

#include "kiln/tensor/passes/rewrite.h"
#include "kiln/tensor/passes/strided.h"

namespace kiln::tensor {
namespace {

constexpr std::size_t kMostDims = 7;  // of a pattern that an access may have

Strided storage_of(const Op& op) {
  Strided s = Strided::contiguous(op.type.shape);
  if (op.code != OpCode::iota) return s;
  for (isa::Dim& d : s.dims) d.stride = 0;
  s.dims[op.integer("axis")].stride = 1;
  return s;
}

bool is_backwards(const Strided& s) {
  for (const isa::Dim& d : s.dims) {
    if (d.stride < 0 && d.count > 1) return true;
  }
  return false;
}

}  // namespace

Graph split_views(const Graph& graph) {
  std::vector<Strided> access;  // by value of the new graph
  const auto grow = [&](const Graph& g) {
    while (access.size() < g.size()) access.push_back(storage_of(g.op(static_cast<Value>(access.size()))));
  };
  return rebuilt(graph, [&](const Rewriting& r) -> std::optional<Value> {
    grow(r.to);
    if (!is_view(r.op.code)) return {};
    std::vector<Value> operands = r.operands;
    auto s = viewed(access[operands[0]], r.op);
    if (!s || s->dims.size() > kMostDims + 1 || is_backwards(access[operands[0]])) {
      operands[0] = r.to.add(OpCode::cast, {operands[0]}, {r.to.type(operands[0]).dtype});
      grow(r.to);
      s = viewed(access[operands[0]], r.op);
      KILN_ASSERT(s.has_value());
    }
    const Value v = r.to.copy(r.from, r.op, operands);
    access.push_back(*s);
    return v;
  });
}

}  // namespace kiln::tensor
