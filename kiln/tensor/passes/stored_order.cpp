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

// Whether `op` is x transposed, of integers of 8 bits, and the second operand of products alone.
bool turns_for_products(const Graph& graph, const std::vector<std::vector<Value>>& users, Value x, const Op& op) {
  if (op.code != OpCode::transpose || is_float(graph.type(graph.op(x).operands[0]).dtype)) return false;
  const auto v = static_cast<Value>(&op - graph.ops().data());
  for (const Output& o : graph.outputs()) {
    if (o.value == v) return false;
  }
  return std::all_of(users[v].begin(), users[v].end(), [&](Value u) {
    const Op& user = graph.op(u);
    return is_product(user.code) && user.operands.size() == 2 && user.operands[0] != v;
  });
}

}  // namespace

std::set<Value> converted_matrices(const Graph& graph) {
  std::set<Value> out;
  std::vector<std::vector<Value>> users(graph.size());
  for (Value v = 0; v < graph.size(); ++v) {
    for (Value x : graph.op(v).operands) users[x].push_back(v);
  }
  for (Value v = 0; v < graph.size(); ++v) {
    const Op& op = graph.op(v);
    if (op.code != OpCode::cast || op.type.rank() != 2) continue;
    const Op& from = graph.op(op.operands[0]);
    if (from.code == OpCode::input && converts_on_the_way(from.type.dtype, op.type.dtype)) out.insert(v);
  }
  for (const Op& op : graph.ops()) {
    for (std::size_t i = 0; i < op.operands.size(); ++i) {
      if (is_product(op.code) && i == 1) continue;
      const Value x = op.operands[i];
      if (out.contains(x) && turns_for_products(graph, users, x, op)) continue;
      out.erase(x);
    }
  }
  for (const Output& o : graph.outputs()) out.erase(o.value);
  return out;
}

}  // namespace kiln::tensor
