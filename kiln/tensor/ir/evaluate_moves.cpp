// The oracle of what moves elements: borders, flips, repetitions, diagonals.
#include <algorithm>
#include <cmath>

#include "kiln/tensor/ir/evaluate_op.h"

namespace kiln::tensor {
namespace {

// out[at] = x[from(at)], where `from` changes an index of the result into one of the operand.
template <class From>
Array moved(const Eval& e, From&& from) {
  Array out = e.make();
  const Shape strides = strides_of(e.in[0]->type.shape);
  for_each(out.type.shape, [&](std::int64_t i, const Shape& at) {
    const Shape index = from(at);
    std::int64_t place = 0;
    for (std::size_t d = 0; d < index.size(); ++d) place += strides[d] * index[d];
    out.data[i] = e.in[0]->data[place];
  });
  return out;
}

std::int64_t modulo(std::int64_t x, std::int64_t n) { return ((x % n) + n) % n; }

// Which element of n a border of this mode repeats at position i, counted from the first element.
std::int64_t repeated(const std::string& mode, std::int64_t i, std::int64_t n) {
  if (mode == "edge") return std::clamp<std::int64_t>(i, 0, n - 1);
  if (mode == "wrap") return modulo(i, n);
  if (mode == "reflect") {
    if (n == 1) return 0;
    const std::int64_t at = modulo(i, 2 * (n - 1));
    return at < n ? at : 2 * (n - 1) - at;
  }
  const std::int64_t at = modulo(i, 2 * n);
  return at < n ? at : 2 * n - 1 - at;
}

// One line with its border.
std::vector<double> bordered(const std::string& mode, DType t, const std::vector<double>& x, std::int64_t low,
                             std::int64_t high) {
  const auto n = static_cast<std::int64_t>(x.size());
  std::vector<double> out;
  double number = 0;
  if (mode == "maximum") {
    number = x[0];
    for (double v : x) number = std::isnan(number) || number >= v ? number : v;
  } else if (mode == "minimum") {
    number = x[0];
    for (double v : x) number = std::isnan(number) || number <= v ? number : v;
  } else if (mode == "mean") {
    for (double v : x) number += v;
    number /= static_cast<double>(n);
    if (!is_float(t)) number = std::nearbyint(number);
  }
  const bool is_ramp = mode == "linear_ramp", is_number = mode == "maximum" || mode == "minimum" || mode == "mean";
  const auto ramp = [&](double edge, std::int64_t i, std::int64_t width) {
    const double v = edge * static_cast<double>(i) / static_cast<double>(width);
    return is_float(t) ? v : std::floor(v);
  };
  for (std::int64_t i = -low; i < n + high; ++i) {
    if (i >= 0 && i < n)
      out.push_back(x[i]);
    else if (is_number)
      out.push_back(number);
    else if (is_ramp)
      out.push_back(i < 0 ? ramp(x[0], i + low, low) : ramp(x[n - 1], n + high - 1 - i, high));
    else
      out.push_back(x[repeated(mode, i, n)]);
  }
  return out;
}

}  // namespace

Array eval_flip(const Eval& e) {
  return moved(e, [&](Shape at) {
    for (std::int64_t a : e.op.ints("axes")) at[a] = e.op.type.shape[a] - 1 - at[a];
    return at;
  });
}

Array eval_roll(const Eval& e) {
  return moved(e, [&](Shape at) {
    for (std::size_t i = 0; i < e.op.ints("axes").size(); ++i) {
      const std::int64_t a = e.op.ints("axes")[i];
      at[a] = modulo(at[a] - e.op.ints("shifts")[i], e.op.type.shape[a]);
    }
    return at;
  });
}

Array eval_tile(const Eval& e) {
  const Shape& x = e.in[0]->type.shape;
  const std::size_t skip = e.op.type.shape.size() - x.size();
  return moved(e, [&](const Shape& at) {
    Shape index(x.size());
    for (std::size_t d = 0; d < x.size(); ++d) index[d] = at[skip + d] % x[d];
    return index;
  });
}

Array eval_repeat(const Eval& e) {
  const std::int64_t axis = e.op.integer("axis");
  const Ints& counts = e.op.ints("counts");
  std::vector<std::int64_t> from;
  for (std::int64_t i = 0; i < e.in[0]->type.shape[axis]; ++i)
    from.insert(from.end(), static_cast<std::size_t>(counts[counts.size() == 1 ? 0 : i]), i);
  return moved(e, [&](Shape at) {
    at[axis] = from[at[axis]];
    return at;
  });
}

Array eval_border(const Eval& e) {
  Array now = *e.in[0];
  for (std::size_t d = 0; d < now.type.shape.size(); ++d) {
    const std::int64_t low = e.op.ints("low")[d], high = e.op.ints("high")[d];
    if (low + high == 0) continue;
    const std::int64_t n = now.type.shape[d], inner = product(now.type.shape, d + 1, now.type.shape.size());
    const std::int64_t outer = product(now.type.shape, 0, d), wide = n + low + high;
    Array next{now.type, std::vector<double>(static_cast<std::size_t>(outer * wide * inner))};
    next.type.shape[d] = wide;
    for (std::int64_t o = 0; o < outer; ++o) {
      for (std::int64_t i = 0; i < inner; ++i) {
        std::vector<double> line;
        for (std::int64_t j = 0; j < n; ++j) line.push_back(now.data[(o * n + j) * inner + i]);
        line = bordered(e.op.text("mode"), now.type.dtype, line, low, high);
        for (std::int64_t j = 0; j < wide; ++j) next.data[(o * wide + j) * inner + i] = line[j];
      }
    }
    now = std::move(next);
  }
  return now;
}

Array eval_diagonal(const Eval& e) {
  const std::int64_t i = e.op.integer("axis1"), j = e.op.integer("axis2"), k = e.op.integer("offset");
  return moved(e, [&](const Shape& at) {
    Shape index;
    std::size_t next = 0;
    for (std::int64_t d = 0; d < e.in[0]->type.rank(); ++d) {
      if (d == i)
        index.push_back(at.back() + std::max<std::int64_t>(0, -k));
      else if (d == j)
        index.push_back(at.back() + std::max<std::int64_t>(0, k));
      else
        index.push_back(at[next++]);
    }
    return index;
  });
}

Array eval_diag_matrix(const Eval& e) {
  Array out = e.make();
  const std::int64_t k = e.op.integer("offset"), n = e.in[0]->type.shape.back();
  const Spread x(*e.in[0], e.in[0]->type.shape.size());
  for_each(out.type.shape, [&](std::int64_t i, Shape at) {
    const std::int64_t column = at.back();
    at.pop_back();
    const std::int64_t row = at.back(), place = k >= 0 ? row : column;
    if (column - row != k || place >= n) return;
    at.back() = place;
    out.data[i] = x.at(at);
  });
  return out;
}

Array eval_trace(const Eval& e) {
  Type type = e.op.type;
  const Type& x = e.in[0]->type;
  const std::int64_t k = e.op.integer("offset");
  const std::int64_t rows = x.shape[e.op.integer("axis1")] - std::max<std::int64_t>(0, -k);
  const std::int64_t columns = x.shape[e.op.integer("axis2")] - std::max<std::int64_t>(0, k);
  const std::int64_t n = std::max<std::int64_t>(0, std::min(rows, columns));
  type.shape.push_back(n);
  Op op = e.op;
  op.type = type;
  const Array diagonals = eval_diagonal({op, e.in, e.working});
  Array out = e.make();
  for (std::size_t i = 0; i < diagonals.data.size(); ++i) {
    double& sum = out.data[static_cast<std::int64_t>(i) / n];
    sum += diagonals.data[i];
    if (!is_float(out.type.dtype)) sum = stored(out.type.dtype, sum);
  }
  return out;
}

}  // namespace kiln::tensor
