#include "kiln/tensor/passes/strided.h"

#include <algorithm>

namespace kiln::tensor {

Strided Strided::contiguous(const Shape& shape) {
  Strided out;
  std::int64_t stride = 1;
  out.dims.resize(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    out.dims[i] = {stride, shape[i]};
    stride *= shape[i];
  }
  return out;
}

Shape Strided::shape() const {
  Shape out;
  for (const isa::Dim& d : dims) out.push_back(d.count);
  return out;
}

std::int64_t Strided::size() const { return product(shape()); }

bool Strided::is_contiguous() const {
  std::int64_t stride = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    if (dims[i].count == 1) continue;
    if (dims[i].stride != stride) return false;
    stride *= dims[i].count;
  }
  return true;
}

Strided permuted(const Strided& s, const Ints& perm) {
  Strided out{s.offset, {}};
  for (std::int64_t p : perm) out.dims.push_back(s.dims[p]);
  return out;
}

Strided sliced(const Strided& s, const Ints& starts, const Shape& sizes, const Ints& steps) {
  Strided out = s;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    out.offset += starts[i] * s.dims[i].stride;
    out.dims[i] = {s.dims[i].stride * steps[i], sizes[i]};
  }
  return out;
}

Strided spread(const Strided& s, const Shape& shape) {
  Strided out{s.offset, {}};
  const std::size_t skip = shape.size() - s.dims.size();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool repeats = i < skip || (s.dims[i - skip].count == 1 && shape[i] != 1);
    out.dims.push_back(repeats ? isa::Dim{0, shape[i]} : s.dims[i - skip]);
  }
  return out;
}

namespace {

// Dimensions in reverse order, joined where one goes on where the next one ends.
Dims joined_backwards(const Dims& dims) {
  Dims out;
  for (std::size_t i = dims.size(); i-- > 0;) {
    if (dims[i].count == 1) continue;
    if (!out.empty() && dims[i].stride == out.back().stride * out.back().count)
      out.back().count *= dims[i].count;
    else
      out.push_back(dims[i]);
  }
  return out;
}

}  // namespace

std::optional<Strided> reshaped(const Strided& s, const Shape& shape) {
  Strided out{s.offset, Dims(shape.size())};
  if (product(shape) == 0) {
    for (std::size_t i = 0; i < shape.size(); ++i) out.dims[i] = {0, shape[i]};
    return out;
  }
  Dims open = joined_backwards(s.dims);
  std::size_t next = 0;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 1) {
      out.dims[i] = {0, 1};
      continue;
    }
    if (next >= open.size() || open[next].count % shape[i] != 0) return {};
    out.dims[i] = {open[next].stride, shape[i]};
    open[next].stride *= shape[i];
    open[next].count /= shape[i];
    if (open[next].count == 1) ++next;
  }
  return out;
}

bool is_view(OpCode code) {
  return code == OpCode::reshape || code == OpCode::transpose || code == OpCode::broadcast_to || code == OpCode::slice;
}

std::optional<Strided> viewed(const Strided& s, const Op& op) {
  switch (op.code) {
    case OpCode::reshape:
      return reshaped(s, op.type.shape);
    case OpCode::transpose:
      return permuted(s, op.ints("perm"));
    case OpCode::broadcast_to:
      return spread(s, op.type.shape);
    case OpCode::slice:
      return sliced(s, op.ints("starts"), op.type.shape, op.ints("steps"));
    default:
      return {};
  }
}

std::optional<Strided> written_back(const Graph& graph, Value output, Strided access, Value& base) {
  std::optional<Strided> s = std::move(access);
  Value v = output;
  while (is_view(graph.op(v).code)) {
    const Op& op = graph.op(v);
    if (op.code == OpCode::transpose) {
      Ints back(op.ints("perm").size());
      for (std::size_t i = 0; i < back.size(); ++i) back[op.ints("perm")[i]] = static_cast<std::int64_t>(i);
      s = permuted(*s, back);
    } else if (op.code == OpCode::reshape) {
      s = reshaped(*s, graph.type(op.operands[0]).shape);
    } else {
      return {};
    }
    if (!s) return {};
    v = op.operands[0];
  }
  base = v;
  return s;
}

void join_together(std::vector<Dims>& lists) {
  std::vector<Dims> out(lists.size());
  for (std::size_t i = 0; i < lists[0].size(); ++i) {
    if (lists[0][i].count == 1) continue;
    bool joins = !out[0].empty();
    for (std::size_t l = 0; joins && l < lists.size(); ++l)
      joins = out[l].back().stride == lists[l][i].stride * lists[l][i].count;
    for (std::size_t l = 0; l < lists.size(); ++l) {
      const isa::Dim& d = lists[l][i];
      if (joins)
        out[l].back() = {d.stride, out[l].back().count * d.count};
      else
        out[l].push_back(d);
    }
  }
  lists = std::move(out);
}

}  // namespace kiln::tensor
