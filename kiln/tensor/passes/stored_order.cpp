#include "kiln/tensor/passes/stored_order.h"

#include <algorithm>

namespace kiln::tensor {

std::map<Value, Strided> stored_orders(const Graph& graph, const Fusion& fusion) {
  std::map<Value, const Ints*> orders;  // nothing: it is read in another way, too
  for (const Op& op : graph.ops()) {
    for (Value x : op.operands) {
      const Ints* perm = op.code == OpCode::transpose ? &op.ints("perm") : nullptr;
      const auto [it, is_first] = orders.emplace(x, perm);
      if (!is_first && (!perm || !it->second || *it->second != *perm)) it->second = nullptr;
    }
  }
  for (const Output& o : graph.outputs()) orders[o.value] = nullptr;
  std::map<Value, Strided> out;
  for (const auto& [v, perm] : orders) {
    const int region = fusion.region_of[v];
    if (!perm || region < 0 || !fusion.is_stored[v] || fusion.inlined.contains(v)) continue;
    if (fusion.regions[region].kind != Region::Kind::rows || graph.type(v).size() == 0) continue;
    // Only rows change places, so that what a region writes of a row stays one run.
    const Shape& shape = graph.type(v).shape;
    const auto rows = row_dims(shape, *fusion.regions[region].candidates.rbegin());
    if (!rows || *rows == shape.size()) continue;
    bool keeps_rest = true;
    for (std::size_t d = *rows; d < perm->size(); ++d) keeps_rest &= (*perm)[d] == static_cast<std::int64_t>(d);
    if (!keeps_rest) continue;
    Shape stored;
    for (std::int64_t d : *perm) stored.push_back(shape[d]);
    const Strided contiguous = Strided::contiguous(stored);
    Strided access = Strided::contiguous(shape);
    for (std::size_t i = 0; i < perm->size(); ++i) access.dims[(*perm)[i]] = contiguous.dims[i];
    out.emplace(v, access);
  }
  return out;
}

namespace {

// Floats of 16 bits as float32, and integers of 8 bits as any float: what DMAs make of them is exact.
bool converts_on_the_way(DType from, DType to) {
  if (is_float(from)) return size_bytes(from) == 2 && to == DType::float32;
  return is_integer(from) && from != DType::bool_ && size_bytes(from) == 1 && is_float(to) && size_bytes(to) >= 2;
}

}  // namespace

std::set<Value> converted_matrices(const Graph& graph) {
  std::set<Value> out;
  for (Value v = 0; v < graph.size(); ++v) {
    const Op& op = graph.op(v);
    if (op.code != OpCode::cast || op.type.rank() != 2) continue;
    const Op& from = graph.op(op.operands[0]);
    if (from.code == OpCode::input && converts_on_the_way(from.type.dtype, op.type.dtype)) out.insert(v);
  }
  for (const Op& op : graph.ops()) {
    for (std::size_t i = 0; i < op.operands.size(); ++i) {
      if (!is_product(op.code) || i != 1) out.erase(op.operands[i]);
    }
  }
  for (const Output& o : graph.outputs()) out.erase(o.value);
  return out;
}

}  // namespace kiln::tensor
