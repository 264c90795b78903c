// The oracle of what reads and writes by index.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kiln/tensor/ir/evaluate_op.h"
#include "kiln/tensor/ir/rules.h"

namespace kiln::tensor {

std::int64_t checked_index(const Eval& e, double index, std::int64_t count) {
  const auto i = static_cast<std::int64_t>(index);
  if (i < 0 || i >= count) {
    raise(rules::kTable, rules::kIndex, {.found = fmt::format("index {} of {} rows in {}", i, count, name(e.op.code))});
  }
  return i;
}

namespace {

// Negative indices count from the end.
std::int64_t counted_index(const Eval& e, double index, std::int64_t n) {
  return checked_index(e, index < 0 ? index + static_cast<double>(n) : index, n);
}

std::int64_t index_by(const Eval& e, const std::string& mode, double index, std::int64_t n) {
  if (mode == "raise" || n == 0) return counted_index(e, index, n);
  const auto i = static_cast<std::int64_t>(index);
  return mode == "clip" ? std::clamp<std::int64_t>(i, 0, n - 1) : ((i % n) + n) % n;
}

// A tensor as (outer, n, inner) around an axis.
struct Lines {
  std::int64_t outer, n, inner;
  Lines(const Shape& shape, std::int64_t axis)
      : outer(product(shape, 0, static_cast<std::size_t>(axis))),
        n(shape[axis]),
        inner(product(shape, static_cast<std::size_t>(axis) + 1, shape.size())) {}
  std::int64_t at(std::int64_t o, std::int64_t j, std::int64_t i) const { return (o * n + j) * inner + i; }
};

void write(const Eval& e, double& to, double x) {
  const std::string& mode = e.op.text("mode");
  const DType t = e.op.type.dtype;
  const bool whole = !is_float(t);
  if (mode == "set")
    to = x;
  else if (mode == "add")
    to = whole ? stored(t, to + x) : to + x;
  else if (mode == "multiply")
    to = whole ? (t == DType::bool_ ? to * x : wrapped(t, static_cast<std::int64_t>(to) * static_cast<std::int64_t>(x)))
               : to * x;
  else if (mode == "maximum")
    to = std::isnan(to) || to >= x ? to : x;
  else
    to = std::isnan(to) || to <= x ? to : x;
}

// The place in x of each tuple of indices, operands from the first on.
std::vector<std::int64_t> places(const Eval& e, std::size_t first, std::int64_t& row) {
  const Shape& x = e.in[0]->type.shape;
  const std::size_t count = e.in.size() - first;
  Shape shape;
  for (std::size_t i = first; i < e.in.size(); ++i) shape = *broadcast(shape, e.in[i]->type.shape);
  row = product(x, count, x.size());
  std::vector<std::int64_t> out(static_cast<std::size_t>(product(shape)));
  for (std::size_t i = 0; i < count; ++i) {
    const Spread index(*e.in[first + i], shape.size());
    for_each(shape, [&](std::int64_t at, const Shape& where) {
      out[at] = out[at] * x[i] + counted_index(e, index.at(where), x[i]);
    });
  }
  return out;
}

}  // namespace

Array eval_take(const Eval& e) {
  Array out = e.make();
  const Lines x(e.in[0]->type.shape, e.op.integer("axis"));
  const auto m = static_cast<std::int64_t>(e.in[1]->data.size());
  for (std::int64_t o = 0; o < x.outer; ++o) {
    for (std::int64_t j = 0; j < m; ++j) {
      const std::int64_t from = index_by(e, e.op.text("mode"), e.in[1]->data[j], x.n);
      for (std::int64_t i = 0; i < x.inner; ++i) out.data[(o * m + j) * x.inner + i] = e.in[0]->data[x.at(o, from, i)];
    }
  }
  return out;
}

Array eval_take_along(const Eval& e) {
  Array out = e.make();
  const Lines x(e.in[0]->type.shape, e.op.integer("axis")), to(out.type.shape, e.op.integer("axis"));
  for (std::int64_t o = 0; o < to.outer; ++o) {
    for (std::int64_t j = 0; j < to.n; ++j) {
      for (std::int64_t i = 0; i < to.inner; ++i) {
        const std::int64_t at = to.at(o, j, i);
        out.data[at] = e.in[0]->data[x.at(o, counted_index(e, e.in[1]->data[at], x.n), i)];
      }
    }
  }
  return out;
}

Array eval_put_along(const Eval& e) {
  Array out = *e.in[0];
  const Lines x(out.type.shape, e.op.integer("axis")), from(e.in[1]->type.shape, e.op.integer("axis"));
  for (std::int64_t o = 0; o < from.outer; ++o) {
    for (std::int64_t j = 0; j < from.n; ++j) {
      for (std::int64_t i = 0; i < from.inner; ++i) {
        const std::int64_t at = from.at(o, j, i);
        write(e, out.data[x.at(o, counted_index(e, e.in[1]->data[at], x.n), i)], e.in[2]->data[at]);
      }
    }
  }
  return out;
}

Array eval_scatter_at(const Eval& e) {
  Array out = *e.in[0];
  const Lines x(out.type.shape, e.op.integer("axis")), from(e.in[2]->type.shape, e.op.integer("axis"));
  for (std::int64_t j = 0; j < from.n; ++j) {
    const std::int64_t to = counted_index(e, e.in[1]->data[j], x.n);
    for (std::int64_t o = 0; o < from.outer; ++o) {
      for (std::int64_t i = 0; i < from.inner; ++i) write(e, out.data[x.at(o, to, i)], e.in[2]->data[from.at(o, j, i)]);
    }
  }
  return out;
}

Array eval_gather_nd(const Eval& e) {
  Array out = e.make();
  std::int64_t row = 1;
  const auto at = places(e, 1, row);
  for (std::size_t i = 0; i < at.size(); ++i)
    std::copy_n(e.in[0]->data.begin() + at[i] * row, row, out.data.begin() + static_cast<std::int64_t>(i) * row);
  return out;
}

Array eval_scatter_nd(const Eval& e) {
  Array out = *e.in[0];
  std::int64_t row = 1;
  const auto at = places(e, 2, row);
  for (std::size_t i = 0; i < at.size(); ++i) {
    for (std::int64_t j = 0; j < row; ++j)
      write(e, out.data[at[i] * row + j], e.in[1]->data[static_cast<std::int64_t>(i) * row + j]);
  }
  return out;
}

Array eval_nonzero(const Eval& e) {
  Array out = e.make();
  std::size_t next = 0;
  for (std::size_t i = 0; i < e.in[0]->data.size() && next < out.data.size(); ++i) {
    if (e.in[0]->data[i] != 0) out.data[next++] = static_cast<double>(i);
  }
  for (; next < out.data.size(); ++next) out.data[next] = static_cast<double>(e.in[0]->data.size());
  return out;
}

Array eval_compress(const Eval& e) {
  Array out = e.make();
  const Lines x(e.in[0]->type.shape, e.op.integer("axis"));
  const std::int64_t count = e.op.integer("count");
  std::vector<std::int64_t> chosen;
  for (std::int64_t j = 0; j < x.n; ++j) {
    if (e.in[1]->data[j] != 0 && static_cast<std::int64_t>(chosen.size()) < count) chosen.push_back(j);
  }
  if (static_cast<std::int64_t>(chosen.size()) < count) {
    raise(rules::kTable, rules::kIndex,
          {.found = fmt::format("the mask holds {} times, not {}", chosen.size(), count)});
  }
  for (std::int64_t o = 0; o < x.outer; ++o) {
    for (std::int64_t j = 0; j < count; ++j) {
      for (std::int64_t i = 0; i < x.inner; ++i)
        out.data[(o * count + j) * x.inner + i] = e.in[0]->data[x.at(o, chosen[j], i)];
    }
  }
  return out;
}

Array eval_one_hot(const Eval& e) {
  Array out = e.make();
  const std::int64_t depth = e.op.integer("depth");
  for (std::size_t i = 0; i < e.in[0]->data.size(); ++i) {
    const auto at = static_cast<std::int64_t>(e.in[0]->data[i]);
    if (at >= 0 && at < depth) out.data[static_cast<std::int64_t>(i) * depth + at] = 1;
  }
  return out;
}

Array eval_searchsorted(const Eval& e) {
  Array out = e.make();
  const auto& x = e.in[0]->data;
  const auto less = [](double a, double b) { return a < b || (std::isnan(b) && !std::isnan(a)); };
  for (std::size_t i = 0; i < out.data.size(); ++i) {
    const double v = e.in[1]->data[i];
    const auto at = e.op.flag("right") ? std::upper_bound(x.begin(), x.end(), v, less)
                                       : std::lower_bound(x.begin(), x.end(), v, less);
    out.data[i] = static_cast<double>(at - x.begin());
  }
  return out;
}

Array eval_bincount(const Eval& e) {
  Array out = e.make();
  for (std::size_t i = 0; i < e.in[0]->data.size(); ++i) {
    const double at = e.in[0]->data[i];
    if (at >= 0 && at < static_cast<double>(out.data.size()))
      out.data[static_cast<std::size_t>(at)] += e.in.size() == 2 ? e.in[1]->data[i] : 1;
  }
  return out;
}

}  // namespace kiln::tensor
