#include "kiln/tensor/ir/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "kiln/tensor/ir/evaluate_elementwise.h"
#include "kiln/tensor/ir/evaluate_op.h"
#include "kiln/tensor/ir/rules.h"

namespace kiln::tensor {
namespace {

Array eval_elementwise(const Eval& e) {
  Array out = e.make();
  const auto rank = static_cast<std::size_t>(e.op.type.rank());
  const Spread x(*e.in[0], rank), y(*e.in[e.in.size() - 1], rank);
  for_each(e.op.type.shape,
           [&](std::int64_t i, const Shape& at) { out.data[i] = apply(e.op.code, e.working, x.at(at), y.at(at)); });
  return out;
}

Array eval_given(const Eval& e) {
  Array out = e.make();
  const auto& numbers = *e.op.numbers;
  for (std::size_t i = 0; i < out.data.size(); ++i) out.data[i] = numbers[numbers.size() == 1 ? 0 : i];
  return out;
}

Array eval_iota(const Eval& e) {
  Array out = e.make();
  const std::int64_t axis = e.op.integer("axis");
  for_each(e.op.type.shape, [&](std::int64_t i, const Shape& at) {
    out.data[i] = stored(e.op.type.dtype, static_cast<double>(at[axis]));
  });
  return out;
}

Array eval_where(const Eval& e) {
  Array out = e.make();
  const auto rank = static_cast<std::size_t>(e.op.type.rank());
  const Spread c(*e.in[0], rank), x(*e.in[1], rank), y(*e.in[2], rank);
  for_each(e.op.type.shape,
           [&](std::int64_t i, const Shape& at) { out.data[i] = c.at(at) != 0 ? x.at(at) : y.at(at); });
  return out;
}

Array eval_cast(const Eval& e) {
  Array out = e.make();
  for (std::size_t i = 0; i < out.data.size(); ++i) out.data[i] = stored(e.op.type.dtype, e.in[0]->data[i]);
  return out;
}

Array eval_bitcast(const Eval& e) { return from_bytes(e.op.type, to_bytes(*e.in[0]).data()); }

double fold(OpCode code, double sum, double x, double best) {
  switch (code) {
    case OpCode::prod:
      return sum * x;
    case OpCode::max:
      return std::isnan(sum) || sum >= x ? sum : x;
    case OpCode::min:
      return std::isnan(sum) || sum <= x ? sum : x;
    case OpCode::any:
      return sum != 0 || x != 0;
    case OpCode::all:
      return sum != 0 && x != 0;
    case OpCode::variance:
      return sum + (x - best) * (x - best);
    default:
      return sum + x;
  }
}

double start(const Op& op) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  if (op.code == OpCode::max) return -inf;
  if (op.code == OpCode::min) return inf;
  return op.code == OpCode::prod || op.code == OpCode::all ? 1 : 0;
}

std::vector<double> positions(const Eval& e, std::size_t count, const std::vector<std::int64_t>& slot_of) {
  const std::int64_t axis = e.op.ints("axes")[0];
  std::vector<double> best(count), at(count, -1);
  for_each(e.in[0]->type.shape, [&](std::int64_t i, const Shape& index) {
    const double x = e.op.code == OpCode::argmax ? e.in[0]->data[i] : -e.in[0]->data[i];
    const std::int64_t s = slot_of[i];
    if (at[s] >= 0 && (std::isnan(best[s]) || !(x > best[s] || std::isnan(x)))) return;
    best[s] = x;
    at[s] = static_cast<double>(index[axis]);
  });
  return at;
}

Array eval_reduce(const Eval& e) {
  const Ints& axes = e.op.ints("axes");
  const Type& x = e.in[0]->type;
  Shape kept = x.shape;
  std::int64_t reduced = 1;
  for (std::int64_t a : axes) {
    reduced *= kept[a];
    kept[a] = 1;
  }
  const Shape strides = strides_of(kept);
  std::vector<std::int64_t> slot_of(e.in[0]->data.size());
  for_each(x.shape, [&](std::int64_t i, const Shape& at) {
    std::int64_t s = 0;
    for (std::size_t d = 0; d < at.size(); ++d) s += kept[d] == 1 ? 0 : at[d] * strides[d];
    slot_of[i] = s;
  });
  Array out = e.make();
  if (e.op.code == OpCode::argmax || e.op.code == OpCode::argmin) {
    out.data = positions(e, out.data.size(), slot_of);
    return out;
  }
  const auto n = static_cast<double>(reduced);
  std::vector<double> means(out.data.size(), 0);
  if (e.op.code == OpCode::variance) {
    for (std::size_t i = 0; i < slot_of.size(); ++i) means[slot_of[i]] += e.in[0]->data[i] / n;
  }
  std::fill(out.data.begin(), out.data.end(), start(e.op));
  for (std::size_t i = 0; i < slot_of.size(); ++i) {
    double& sum = out.data[slot_of[i]];
    if (e.op.code == OpCode::prod && is_integer(e.op.type.dtype)) {
      sum = wrapped(e.op.type.dtype, static_cast<std::int64_t>(sum) * static_cast<std::int64_t>(e.in[0]->data[i]));
      continue;
    }
    sum = fold(e.op.code, sum, e.in[0]->data[i], means[slot_of[i]]);
    if (is_integer(e.op.type.dtype)) sum = stored(e.op.type.dtype, sum);
  }
  if (e.op.code == OpCode::mean) {
    for (double& v : out.data) v /= n;
  } else if (e.op.code == OpCode::variance) {
    for (double& v : out.data) v /= std::max(0.0, n - static_cast<double>(e.op.integer("ddof")));
  }
  return out;
}

Array eval_scan(const Eval& e) {
  Array out = e.make();
  const std::int64_t axis = e.op.integer("axis"), stride = strides_of(e.op.type.shape)[axis];
  for_each(e.op.type.shape, [&](std::int64_t i, const Shape& at) {
    out.data[i] = e.in[0]->data[i] + (at[axis] > 0 ? out.data[i - stride] : 0);
    if (is_integer(e.op.type.dtype)) out.data[i] = stored(e.op.type.dtype, out.data[i]);
  });
  return out;
}

// The low 64 bits of a product.
std::int64_t low_product(double a, double b) {
  const auto bits = [](double x) { return static_cast<std::uint64_t>(static_cast<std::int64_t>(x)); };
  return static_cast<std::int64_t>(bits(a) * bits(b));
}

}  // namespace

Array eval_matmul(const Eval& e) {
  Array x = *e.in[0], y = *e.in[1], out = e.make();
  Shape shape = e.op.type.shape;
  if (x.type.rank() == 1) {
    x.type.shape.insert(x.type.shape.begin(), 1);
    shape.insert(shape.end() - (y.type.rank() > 1 ? 1 : 0), 1);
  }
  if (y.type.rank() == 1) {
    y.type.shape.push_back(1);
    shape.push_back(1);
  }
  const std::int64_t K = x.type.shape.back();
  const std::size_t rank = shape.size();
  const Spread xs(x, rank), ys(y, rank);
  const bool whole = !is_float(e.op.type.dtype);
  for_each(shape, [&](std::int64_t i, const Shape& at) {
    Shape xa = at, ya = at;
    double sum = 0;
    for (std::int64_t k = 0; k < K; ++k) {
      xa[rank - 1] = k;
      ya[rank - 2] = k;
      const double a = xs.at(xa), b = ys.at(ya);
      if (!whole)
        sum += a * b;
      else if (e.op.type.dtype == DType::bool_)
        sum = sum != 0 || (a != 0 && b != 0);
      else  // products of 32 bits fit 64
        sum = stored(e.op.type.dtype, sum + wrapped(e.op.type.dtype, low_product(a, b)));
    }
    out.data[i] = sum;
  });
  return out;
}

namespace {

Array eval_reshape(const Eval& e) { return {e.op.type, e.in[0]->data}; }

Array eval_transpose(const Eval& e) {
  Array out = e.make();
  const Shape strides = strides_of(e.in[0]->type.shape);
  const Ints& perm = e.op.ints("perm");
  for_each(e.op.type.shape, [&](std::int64_t i, const Shape& at) {
    std::int64_t from = 0;
    for (std::size_t d = 0; d < at.size(); ++d) from += strides[perm[d]] * at[d];
    out.data[i] = e.in[0]->data[from];
  });
  return out;
}

Array eval_spread(const Eval& e) {
  Array out = e.make();
  const Spread x(*e.in[0], out.type.shape.size());
  for_each(out.type.shape, [&](std::int64_t i, const Shape& at) { out.data[i] = x.at(at); });
  return out;
}

Array eval_slice(const Eval& e) {
  Array out = e.make();
  const Shape strides = strides_of(e.in[0]->type.shape);
  for_each(out.type.shape, [&](std::int64_t i, const Shape& at) {
    std::int64_t from = 0;
    for (std::size_t d = 0; d < at.size(); ++d)
      from += strides[d] * (e.op.ints("starts")[d] + at[d] * e.op.ints("steps")[d]);
    out.data[i] = e.in[0]->data[from];
  });
  return out;
}

// Writes x into out from an index on.
void place(Array& out, const Array& x, const Shape& from) {
  const Shape strides = strides_of(out.type.shape);
  for_each(x.type.shape, [&](std::int64_t i, const Shape& at) {
    std::int64_t to = 0;
    for (std::size_t d = 0; d < at.size(); ++d) to += strides[d] * (from[d] + at[d]);
    out.data[to] = x.data[i];
  });
}

Array eval_concat(const Eval& e) {
  Array out = e.make();
  Shape from(out.type.shape.size(), 0);
  for (const Array* x : e.in) {
    place(out, *x, from);
    from[e.op.integer("axis")] += x->type.shape[e.op.integer("axis")];
  }
  return out;
}

Array eval_pad(const Eval& e) {
  Array out = e.make();
  std::fill(out.data.begin(), out.data.end(), stored(out.type.dtype, e.op.real("value")));
  place(out, *e.in[0], e.op.ints("low"));
  return out;
}

Array eval_gather(const Eval& e) {
  Array out = e.make();
  const Shape& table = e.in[0]->type.shape;
  const std::int64_t row = product(table, 1, table.size());
  for (std::size_t i = 0; i < e.in[1]->data.size(); ++i) {
    const std::int64_t r = checked_index(e, e.in[1]->data[i], table[0]);
    std::copy_n(e.in[0]->data.begin() + r * row, row, out.data.begin() + static_cast<std::int64_t>(i) * row);
  }
  return out;
}

Array eval_scatter(const Eval& e) {
  Array out = *e.in[0];
  const Shape& table = e.in[0]->type.shape;
  const std::int64_t row = product(table, 1, table.size());
  for (std::size_t i = 0; i < e.in[1]->data.size(); ++i) {
    const std::int64_t r = checked_index(e, e.in[1]->data[i], table[0]);
    std::copy_n(e.in[2]->data.begin() + static_cast<std::int64_t>(i) * row, row, out.data.begin() + r * row);
  }
  return out;
}

Array eval_cut(const Eval& e) {
  Array out = e.make();
  const std::int64_t axis = e.op.integer("axis");
  const auto& x = e.in[0]->type.shape;
  const auto start_at = checked_index(e, e.in[1]->data[0], x[axis] - e.op.integer("size") + 1);
  const Shape strides = strides_of(x);
  for_each(out.type.shape, [&](std::int64_t i, const Shape& at) {
    std::int64_t from = start_at * strides[axis];
    for (std::size_t d = 0; d < at.size(); ++d) from += strides[d] * at[d];
    out.data[i] = e.in[0]->data[from];
  });
  return out;
}

Array eval_update(const Eval& e) {
  Array out = *e.in[0];
  const std::int64_t axis = e.op.integer("axis");
  Shape from(out.type.shape.size(), 0);
  from[axis] = checked_index(e, e.in[2]->data[0], out.type.shape[axis] - e.in[1]->type.shape[axis] + 1);
  place(out, *e.in[1], from);
  return out;
}

using Function = Array (*)(const Eval&);
constexpr Function kFunctions[] = {
#define KILN_UNARY(...) eval_elementwise,
#define KILN_BINARY(...) eval_elementwise,
#define KILN_OP(name, operands, attributes, infer, evaluate, ...) eval_##evaluate,
#include "kiln/tensor/ir/ops.def"
};

}  // namespace

std::vector<std::byte> to_bytes(const Array& array) {
  const DType t = array.type.dtype;
  std::vector<std::byte> out(array.data.size() * size_bytes(t));
  for (std::size_t i = 0; i < array.data.size(); ++i) {
    const double x = array.data[i];
    const std::uint32_t bits =
        is_float(t) ? from_float(t, static_cast<float>(x)) : from_int(t, static_cast<std::int64_t>(stored(t, x)));
    store_bits(t, bits, out.data() + i * size_bytes(t));
  }
  return out;
}

Array from_bytes(const Type& type, const std::byte* bytes) {
  Array out{type, std::vector<double>(static_cast<std::size_t>(type.size()))};
  const auto number = [&](std::uint32_t bits) {
    return is_float(type.dtype) ? to_float(type.dtype, bits) : static_cast<double>(to_int(type.dtype, bits));
  };
  if (size_bytes(type.dtype) == 1) {  // masks, which are large
    std::array<double, 256> all{};
    for (std::uint32_t bits = 0; bits < all.size(); ++bits) all[bits] = number(bits);
    std::transform(bytes, bytes + out.data.size(), out.data.begin(),
                   [&](std::byte b) { return all[std::to_integer<std::size_t>(b)]; });
    return out;
  }
  for (std::size_t i = 0; i < out.data.size(); ++i)
    out.data[i] = number(load_bits(type.dtype, bytes + i * size_bytes(type.dtype)));
  return out;
}

Array evaluate(const Op& op, const std::vector<const Array*>& operands, DType working) {
  return kFunctions[static_cast<std::size_t>(op.code)]({op, operands, working});
}

void Evaluation::add(const Op& op) {
  if (op.code == OpCode::input) {
    const auto given = inputs_.find(op.text("name"));
    if (given == inputs_.end() || !(given->second.type == op.type))
      raise(rules::kTable, rules::kNames,
            {.found = fmt::format("no array {} for input `{}`", to_string(op.type), op.text("name"))});
    return add(given->second);
  }
  if (op.code == OpCode::result)
    return add(results_.at(op.operands[0]).at(static_cast<std::size_t>(op.integer("index"))));
  std::vector<const Array*> in;
  for (Value v : op.operands) in.push_back(&values_[v]);
  if (!op.bodies.empty()) return add_results(results_of(op, in));
  add(evaluate(op, in, is_elementwise(op.code) ? working_dtype(graph_, op) : op.type.dtype));
}

void Evaluation::add_results(std::vector<Array> results) {
  const auto& all = results_[static_cast<Value>(values_.size())] = std::move(results);
  add(all[0]);
}

Arrays Evaluation::outputs() const {
  Arrays out;
  for (const Output& o : graph_.outputs()) out[o.name] = values_[o.value];
  return out;
}

Arrays evaluate(const Graph& graph, const Arrays& inputs) {
  Evaluation all(graph, inputs);
  for (const Op& op : graph.ops()) all.add(op);
  return all.outputs();
}

}  // namespace kiln::tensor
