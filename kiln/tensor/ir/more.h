// The ops of ops.def that expr.h has no function for: moves, indexing, order, windows. Axes count from 0, or from -1 at
// the end.
#pragma once

#include "kiln/tensor/ir/collective.h"
#include "kiln/tensor/ir/expr.h"

namespace kiln::tensor {

Expr flip(const Here& x, Ints axes);
Expr roll(const Here& x, Ints shifts, Ints axes);
Expr tile(const Here& x, Ints counts);
Expr repeat(const Here& x, Ints counts, std::int64_t axis);  // one count, or one for each element
Expr pad_with(const Here& x, Ints low, Ints high, const std::string& mode);
Expr diagonal(const Here& x, std::int64_t offset = 0, std::int64_t axis1 = 0, std::int64_t axis2 = 1);
Expr diag_matrix(const Here& x, std::int64_t offset = 0);
Expr trace(const Here& x, std::int64_t offset = 0, std::int64_t axis1 = 0, std::int64_t axis2 = 1);

Expr take(const Here& x, const Expr& indices, std::int64_t axis, const std::string& mode = "raise");
Expr take_along_axis(const Here& x, const Expr& indices, std::int64_t axis);
Expr put_along_axis(const Here& x, const Expr& indices, const Expr& values, std::int64_t axis,
                    const std::string& mode = "set");
Expr scatter(const Here& x, const Expr& indices, const Expr& slices, std::int64_t axis,
             const std::string& mode = "set");
Expr gather_nd(const Here& x, const std::vector<Expr>& indices);
Expr scatter_nd(const Here& x, const Expr& updates, const std::vector<Expr>& indices, const std::string& mode = "set");
Expr compress(const Here& x, const Expr& mask, std::int64_t axis, std::int64_t count);
Expr nonzero(const Here& x, std::int64_t count);
Expr one_hot(const Here& indices, std::int64_t depth, DType dtype = DType::float32);
Expr searchsorted(const Here& sorted, const Expr& values, bool right = false);
Expr bincount(const Here& x, std::int64_t length);

Expr cumprod(const Here& x, std::int64_t axis);
Expr cummax(const Here& x, std::int64_t axis);
Expr cummin(const Here& x, std::int64_t axis);
// y[t] = a[t] * y[t - 1] + b[t]; `before` has one element of the axis.
Expr linear_scan(const Here& a, const Expr& b, const Expr& before, std::int64_t axis);
Expr sort(const Here& x, std::int64_t axis = -1, bool descending = false);
Expr deal(const Here& x, std::int64_t parts);
Expr argsort(const Here& x, std::int64_t axis = -1, bool descending = false);
Expr top_k(const Here& x, std::int64_t k, std::int64_t axis = -1, bool largest = true);
Expr top_k_indices(const Here& x, std::int64_t k, std::int64_t axis = -1, bool largest = true);

// Between ranks that all run the program: groups are lists of ranks, in which the position of a rank counts.
Expr all_reduce(const Here& x, const RankGroups& groups, const std::string& op = "add");  // or minimum, maximum
Expr all_gather(const Here& x, std::int64_t axis, const RankGroups& groups);
Expr reduce_scatter(const Here& x, std::int64_t axis, const RankGroups& groups, const std::string& op = "add");
// Part j along axis `split` goes to rank j; what comes is joined along `axis`.
Expr all_to_all(const Here& x, std::int64_t split, std::int64_t axis, const RankGroups& groups);
Expr collective_permute(const Here& x, const RankGroups& pairs);  // source and target of each
// A step around the ring of a list: what the rank before this one has, or op(x, y) of it. Channels take parts of x.
Expr collective_permute_implicit(const Here& x, const RankGroups& groups, std::int64_t channels = 1);
Expr collective_permute_implicit_reduce(const Here& x, const Expr& y, const RankGroups& groups,
                                        const std::string& op = "add", std::int64_t channels = 1);
// The rank whose data is here after `step` of them, an int32 without dimensions.
Expr collective_permute_implicit_current_processing_rank_id(const Here& step, const RankGroups& groups,
                                                            std::int64_t channel = 0);
Expr rank_id(Graph& graph, std::int64_t ranks, At at = At::current());  // of so many

// Parts whose sizes are known at run time, of tensors taken as flat: dst with what came, and how much each rank sent.
// Part i lies at element i x (size of dst / ranks) of dst, or where `places` says.
struct Received {
  Expr dst, counts;
};
Received all_to_all_v(const Here& src, const Expr& dst, const Expr& counts, const Expr& displs,
                      const RankGroups& groups);
Received all_to_all_v(const Here& src, const Expr& dst, const Expr& counts, const Expr& displs, const Expr& places,
                      const RankGroups& groups);
Received all_gather_v(const Here& src, const Expr& dst, const Expr& count, const Expr& displ, const RankGroups& groups);

// Lists are filled up: with ones, borders with nothing.
// By counter: the same bits for the same key (two uint32) on every chip.
Expr random_bits(const Here& key, Shape shape);
Expr random_uniform(const Here& key, Shape shape);

// Floats of 8 and 16 bits, summed in float32; microscaled ones, of which 32 along an axis share a scale.
Expr matmul_f32(const Here& x, const Expr& y);
Expr mx_quantize(const Here& x, std::int64_t axis = -1, DType dtype = DType::float8_e4m3fn);
Expr mx_scales(const Here& x, std::int64_t axis = -1, DType dtype = DType::float8_e4m3fn);
Expr mx_dequantize(const Here& x, const Expr& scales, std::int64_t axis = -1, DType dtype = DType::float32);
Expr mx_matmul(const Here& x, const Expr& y, DType dtype = DType::float8_e4m3fn);

struct Windows {
  Ints strides = {}, low = {}, high = {}, dilation = {};
};
Expr conv(const Here& x, const Expr& weights, Windows windows = {}, std::int64_t groups = 1);
// The gradient of a conv: weights are (channels in, channels of a group out, taps), `windows` those of the conv.
Expr conv_transpose(const Here& x, const Expr& weights, Windows windows = {}, std::int64_t groups = 1);
Expr pool(const Here& x, Ints window, const std::string& mode, Windows windows = {});

}  // namespace kiln::tensor
