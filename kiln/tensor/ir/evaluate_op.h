// What the functions of the oracle are written with, and those that stand beside evaluate.cpp.
#pragma once

#include "kiln/tensor/ir/evaluate.h"

namespace kiln::tensor {

// An op that is evaluated.
struct Eval {
  const Op& op;
  const std::vector<const Array*>& in;
  DType working;
  Array make() const { return {op.type, std::vector<double>(static_cast<std::size_t>(op.type.size()))}; }
};

inline Shape strides_of(const Shape& shape) {
  Shape out(shape.size());
  std::int64_t n = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    out[i] = n;
    n *= shape[i];
  }
  return out;
}

// Calls fn(i, index) for each element of a shape in C order.
template <class Fn>
void for_each(const Shape& shape, Fn&& fn) {
  Shape index(shape.size(), 0);
  const std::int64_t n = product(shape);
  for (std::int64_t i = 0; i < n; ++i) {
    fn(i, index);
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
}

// Reads an array at an index of a shape that it broadcasts to.
class Spread {
 public:
  Spread(const Array& array, std::size_t rank) : array_(array), strides_(strides_of(array.type.shape)) {
    skip_ = rank - strides_.size();
    for (std::size_t i = 0; i < strides_.size(); ++i) {
      if (array.type.shape[i] == 1) strides_[i] = 0;
    }
  }
  double at(const Shape& index) const {
    std::int64_t at = 0;
    for (std::size_t i = 0; i < strides_.size(); ++i) at += strides_[i] * index[skip_ + i];
    return array_.data[at];
  }

 private:
  const Array& array_;
  Shape strides_;
  std::size_t skip_;
};

// A program on its way through the oracle, op by op.
class Evaluation {
 public:
  Evaluation(const Graph& graph, const Arrays& inputs) : graph_(graph), inputs_(inputs) {
    values_.reserve(graph.size());
  }
  void add(const Op& op);  // the next one
  void add(Array value) { values_.push_back(std::move(value)); }
  void add_results(std::vector<Array> results);  // of an op with bodies
  const Array& value(Value v) const { return values_[v]; }
  Arrays outputs() const;

 private:
  const Graph& graph_;
  const Arrays& inputs_;
  std::vector<Array> values_;
  std::map<Value, std::vector<Array>> results_;  // of ops with bodies
};

// An index into `count` things; throws Error (tensor.R12) when it is none.
std::int64_t checked_index(const Eval& e, double index, std::int64_t count);

// evaluate_moves.cpp
Array eval_flip(const Eval& e);
Array eval_roll(const Eval& e);
Array eval_tile(const Eval& e);
Array eval_repeat(const Eval& e);
Array eval_border(const Eval& e);
Array eval_diagonal(const Eval& e);
Array eval_diag_matrix(const Eval& e);
Array eval_trace(const Eval& e);

// evaluate_indexing.cpp
Array eval_take(const Eval& e);
Array eval_take_along(const Eval& e);
Array eval_put_along(const Eval& e);
Array eval_scatter_at(const Eval& e);
Array eval_gather_nd(const Eval& e);
Array eval_scatter_nd(const Eval& e);
Array eval_compress(const Eval& e);
Array eval_nonzero(const Eval& e);
Array eval_one_hot(const Eval& e);
Array eval_searchsorted(const Eval& e);
Array eval_bincount(const Eval& e);

// evaluate_control.cpp
Array eval_bodies(const Eval& e);  // the first result
Array eval_result(const Eval& e);
Array eval_kernel(const Eval& e);
std::vector<Array> results_of(const Op& op, const std::vector<const Array*>& in);

// evaluate_pair.cpp
Array eval_pair(const Eval& e);

// evaluate_collective.cpp
Array eval_collective(const Eval& e);

// random.cpp
Array eval_random_bits(const Eval& e);
Array eval_random_uniform(const Eval& e);

// quantised.cpp
Array eval_mx_quantize(const Eval& e);
Array eval_mx_scales(const Eval& e);
Array eval_mx_dequantize(const Eval& e);
Array eval_mx_matmul(const Eval& e);

// evaluate.cpp
Array eval_matmul(const Eval& e);

// evaluate_window.cpp
Array eval_conv(const Eval& e);
Array eval_pool(const Eval& e);

// evaluate_order.cpp
Array eval_running(const Eval& e);
Array eval_linear_scan(const Eval& e);
Array eval_sorted(const Eval& e);
Array eval_order(const Eval& e);
Array eval_dealt(const Eval& e);
Array eval_top(const Eval& e);
Array eval_top_order(const Eval& e);

}  // namespace kiln::tensor
