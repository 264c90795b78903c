#include "kiln/tensor/ir/more.h"

namespace kiln::tensor {
namespace {

// What is out of range stays so: inference says it.
std::int64_t counted(const Expr& x, std::int64_t axis) { return axis < 0 ? axis + x.rank() : axis; }
Ints counted(const Expr& x, Ints axes) {
  for (std::int64_t& a : axes) a = counted(x, a);
  return axes;
}

Graph& placed(Graph& graph, At at) {
  if (!graph.pinned) graph.at(SourceLoc{.file = at.file_name(), .line = static_cast<int>(at.line())});
  return graph;
}

Expr apply_all(OpCode code, const std::vector<Expr>& operands, Attrs attrs, At at) {
  Graph& graph = placed(operands[0].graph(), at);
  std::vector<Value> values;
  for (const Expr& e : operands) values.push_back(e.value());
  return {graph, graph.add(code, std::move(values), std::move(attrs))};
}

// The results of a collective that ends with _v.
Received received(const Expr& dst) {
  return {dst, {dst.graph(), dst.graph().add(OpCode::result, {dst.value()}, {std::int64_t{1}})}};
}

std::vector<Expr> in_front(std::vector<Expr> first, const std::vector<Expr>& rest) {
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

Windows filled(Windows w, std::size_t dims) {
  w.strides.resize(dims, 1);
  w.dilation.resize(dims, 1);
  w.low.resize(dims, 0);
  w.high.resize(dims, 0);
  return w;
}

}  // namespace

Expr flip(const Here& x, Ints axes) { return apply(OpCode::flip, {x}, {counted(x, std::move(axes))}, x.at); }
Expr roll(const Here& x, Ints shifts, Ints axes) {
  return apply(OpCode::roll, {x}, {std::move(shifts), counted(x, std::move(axes))}, x.at);
}
Expr tile(const Here& x, Ints counts) { return apply(OpCode::tile, {x}, {std::move(counts)}, x.at); }
Expr repeat(const Here& x, Ints counts, std::int64_t axis) {
  return apply(OpCode::repeat, {x}, {std::move(counts), counted(x, axis)}, x.at);
}
Expr pad_with(const Here& x, Ints low, Ints high, const std::string& mode) {
  return apply(OpCode::pad_with, {x}, {std::move(low), std::move(high), mode}, x.at);
}
Expr diagonal(const Here& x, std::int64_t offset, std::int64_t axis1, std::int64_t axis2) {
  return apply(OpCode::diagonal, {x}, {offset, counted(x, axis1), counted(x, axis2)}, x.at);
}
Expr diag_matrix(const Here& x, std::int64_t offset) { return apply(OpCode::diag_matrix, {x}, {offset}, x.at); }
Expr trace(const Here& x, std::int64_t offset, std::int64_t axis1, std::int64_t axis2) {
  return apply(OpCode::trace, {x}, {offset, counted(x, axis1), counted(x, axis2)}, x.at);
}

Expr all_reduce(const Here& x, const RankGroups& groups, const std::string& op) {
  return apply(OpCode::all_reduce, {x}, {op, flat_groups(groups)}, x.at);
}
Expr all_gather(const Here& x, std::int64_t axis, const RankGroups& groups) {
  return apply(OpCode::all_gather, {x}, {counted(x, axis), flat_groups(groups)}, x.at);
}
Expr reduce_scatter(const Here& x, std::int64_t axis, const RankGroups& groups, const std::string& op) {
  return apply(OpCode::reduce_scatter, {x}, {op, counted(x, axis), flat_groups(groups)}, x.at);
}
Expr all_to_all(const Here& x, std::int64_t split, std::int64_t axis, const RankGroups& groups) {
  return apply(OpCode::all_to_all, {x}, {counted(x, split), counted(x, axis), flat_groups(groups)}, x.at);
}
Expr collective_permute(const Here& x, const RankGroups& pairs) {
  return apply(OpCode::collective_permute, {x}, {flat_groups(pairs)}, x.at);
}
Expr collective_permute_implicit(const Here& x, const RankGroups& groups, std::int64_t channels) {
  return apply(OpCode::collective_permute_implicit, {x}, {channels, flat_groups(groups)}, x.at);
}
Expr collective_permute_implicit_reduce(const Here& x, const Expr& y, const RankGroups& groups, const std::string& op,
                                        std::int64_t channels) {
  return apply(OpCode::collective_permute_implicit_reduce, {x, y}, {op, channels, flat_groups(groups)}, x.at);
}
Expr collective_permute_implicit_current_processing_rank_id(const Here& step, const RankGroups& groups,
                                                            std::int64_t channel) {
  return apply(OpCode::collective_permute_implicit_current_processing_rank_id, {step}, {channel, flat_groups(groups)},
               step.at);
}
Expr rank_id(Graph& graph, std::int64_t ranks, At at) {
  return {graph, placed(graph, at).add(OpCode::rank_id, {}, {ranks})};
}

Received all_to_all_v(const Here& src, const Expr& dst, const Expr& counts, const Expr& displs,
                      const RankGroups& groups) {
  return received(apply_all(OpCode::all_to_all_v, {src, dst, counts, displs}, {flat_groups(groups)}, src.at));
}
Received all_to_all_v(const Here& src, const Expr& dst, const Expr& counts, const Expr& displs, const Expr& places,
                      const RankGroups& groups) {
  return received(apply_all(OpCode::all_to_all_v, {src, dst, counts, displs, places}, {flat_groups(groups)}, src.at));
}
Received all_gather_v(const Here& src, const Expr& dst, const Expr& count, const Expr& displ,
                      const RankGroups& groups) {
  return received(apply_all(OpCode::all_gather_v, {src, dst, count, displ}, {flat_groups(groups)}, src.at));
}

Expr take(const Here& x, const Expr& indices, std::int64_t axis, const std::string& mode) {
  return apply(OpCode::take, {x, indices}, {counted(x, axis), mode}, x.at);
}
Expr take_along_axis(const Here& x, const Expr& indices, std::int64_t axis) {
  return apply(OpCode::take_along_axis, {x, indices}, {counted(x, axis)}, x.at);
}
Expr put_along_axis(const Here& x, const Expr& indices, const Expr& values, std::int64_t axis,
                    const std::string& mode) {
  return apply(OpCode::put_along_axis, {x, indices, values}, {counted(x, axis), mode}, x.at);
}
Expr scatter(const Here& x, const Expr& indices, const Expr& slices, std::int64_t axis, const std::string& mode) {
  return apply(OpCode::scatter, {x, indices, slices}, {counted(x, axis), mode}, x.at);
}
Expr gather_nd(const Here& x, const std::vector<Expr>& indices) {
  return apply_all(OpCode::gather_nd, in_front({x}, indices), {}, x.at);
}
Expr scatter_nd(const Here& x, const Expr& updates, const std::vector<Expr>& indices, const std::string& mode) {
  return apply_all(OpCode::scatter_nd, in_front({x, updates}, indices), {mode}, x.at);
}
Expr compress(const Here& x, const Expr& mask, std::int64_t axis, std::int64_t count) {
  return apply(OpCode::compress, {x, mask}, {counted(x, axis), count}, x.at);
}
Expr nonzero(const Here& x, std::int64_t count) { return apply(OpCode::nonzero, {x}, {count}, x.at); }
Expr one_hot(const Here& indices, std::int64_t depth, DType dtype) {
  return apply(OpCode::one_hot, {indices}, {depth, dtype}, indices.at);
}
Expr searchsorted(const Here& sorted, const Expr& values, bool right) {
  return apply(OpCode::searchsorted, {sorted, values}, {right}, sorted.at);
}
Expr bincount(const Here& x, std::int64_t length) { return apply(OpCode::bincount, {x}, {length}, x.at); }

Expr cumprod(const Here& x, std::int64_t axis) { return apply(OpCode::cumprod, {x}, {counted(x, axis)}, x.at); }
Expr cummax(const Here& x, std::int64_t axis) { return apply(OpCode::cummax, {x}, {counted(x, axis)}, x.at); }
Expr cummin(const Here& x, std::int64_t axis) { return apply(OpCode::cummin, {x}, {counted(x, axis)}, x.at); }
Expr linear_scan(const Here& a, const Expr& b, const Expr& before, std::int64_t axis) {
  return apply(OpCode::linear_scan, {a, b, before}, {counted(a, axis)}, a.at);
}
Expr sort(const Here& x, std::int64_t axis, bool descending) {
  return apply(OpCode::sort, {x}, {counted(x, axis), descending}, x.at);
}
Expr deal(const Here& x, std::int64_t parts) { return apply(OpCode::deal, {x}, {parts}, x.at); }
Expr argsort(const Here& x, std::int64_t axis, bool descending) {
  return apply(OpCode::argsort, {x}, {counted(x, axis), descending}, x.at);
}
Expr top_k(const Here& x, std::int64_t k, std::int64_t axis, bool largest) {
  return apply(OpCode::top_k, {x}, {counted(x, axis), k, largest}, x.at);
}
Expr top_k_indices(const Here& x, std::int64_t k, std::int64_t axis, bool largest) {
  return apply(OpCode::top_k_indices, {x}, {counted(x, axis), k, largest}, x.at);
}

Expr conv(const Here& x, const Expr& weights, Windows windows, std::int64_t groups) {
  const std::size_t dims = x.shape().size() < 2 ? 0 : x.shape().size() - 2;
  const Windows w = filled(std::move(windows), dims);
  return apply(OpCode::conv, {x, weights}, {w.strides, w.low, w.high, w.dilation, Ints(dims, 1), groups}, x.at);
}

// Elements stand a stride apart, taps go backwards, and channels change their places within each group.
Expr conv_transpose(const Here& x, const Expr& weights, Windows windows, std::int64_t groups) {
  const Shape ws = weights.shape();
  const std::size_t dims = ws.size() < 2 ? 0 : ws.size() - 2;
  Windows w = filled(std::move(windows), dims);
  Shape apart{groups, ws[0] / groups, ws[1]}, joined{groups * ws[1], ws[0] / groups};
  Ints perm{0, 2, 1}, axes;
  for (std::size_t i = 0; i < dims; ++i) {
    apart.push_back(ws[2 + i]);
    joined.push_back(ws[2 + i]);
    perm.push_back(static_cast<std::int64_t>(i) + 3);
    axes.push_back(static_cast<std::int64_t>(i) + 2);
    w.low[i] = (ws[2 + i] - 1) * w.dilation[i] - w.low[i];
    w.high[i] = (ws[2 + i] - 1) * w.dilation[i] - w.high[i];
  }
  const Expr turned = flip(reshape(transpose(reshape(weights, apart), perm), joined), axes);
  return apply(OpCode::conv, {x, turned}, {Ints(dims, 1), w.low, w.high, w.dilation, w.strides, groups}, x.at);
}

Expr pool(const Here& x, Ints window, const std::string& mode, Windows windows) {
  const std::size_t dims = window.size();
  if (windows.strides.empty()) windows.strides = window;
  const Windows w = filled(std::move(windows), dims);
  return apply(OpCode::pool, {x}, {std::move(window), w.strides, w.low, w.high, w.dilation, mode}, x.at);
}

Expr matmul_f32(const Here& x, const Expr& y) { return apply(OpCode::matmul_f32, {x, y}, {}, x.at); }
Expr mx_quantize(const Here& x, std::int64_t axis, DType dtype) {
  return apply(OpCode::mx_quantize, {x}, {counted(x, axis), dtype}, x.at);
}
Expr mx_scales(const Here& x, std::int64_t axis, DType dtype) {
  return apply(OpCode::mx_scales, {x}, {counted(x, axis), dtype}, x.at);
}
Expr mx_dequantize(const Here& x, const Expr& scales, std::int64_t axis, DType dtype) {
  return apply(OpCode::mx_dequantize, {x, scales}, {counted(x, axis), dtype}, x.at);
}
Expr mx_matmul(const Here& x, const Expr& y, DType dtype) { return apply(OpCode::mx_matmul, {x, y}, {dtype}, x.at); }

Expr random_bits(const Here& key, Shape shape) { return apply(OpCode::random_bits, {key}, {std::move(shape)}, key.at); }
Expr random_uniform(const Here& key, Shape shape) {
  return apply(OpCode::random_uniform, {key}, {std::move(shape)}, key.at);
}

}  // namespace kiln::tensor
