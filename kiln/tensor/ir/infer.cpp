// Type inference: one function per word of the column `infer` in ops.def.
#include <fmt/format.h>

#include <algorithm>

#include "kiln/tensor/ir/infer_op.h"

namespace kiln::tensor {
namespace {

DType promoted(const Ask& a) {
  DType t = a.operand(0).dtype;
  for (std::size_t i = 1; i < a.op.operands.size(); ++i) {
    const auto both = promote(t, a.operand(i).dtype);
    a.require(both.has_value(), rules::kPromotion, fmt::format("{} and {}", name(t), name(a.operand(i).dtype)));
    t = *both;
  }
  return t;
}

DType working(const Ask& a) {
  const DType t = promoted(a);
  const auto is_number = is_float(t) || is_integer(t);
  switch (info(a.op.code).result) {
    case Result::same:
      a.require(is_number, rules::kDtype, fmt::format("{} of {}", name(a.op.code), name(t)));
      return t;
    case Result::number: {
      const bool shifts = a.op.code == OpCode::left_shift || a.op.code == OpCode::right_shift;
      a.require(!shifts || !is_float(t), rules::kDtype, fmt::format("{} of {}", name(a.op.code), name(t)));
      return t == DType::bool_ ? DType::int8 : t;
    }
    case Result::bits:
      a.require(!is_float(t), rules::kDtype, fmt::format("{} of {}", name(a.op.code), name(t)));
      return t;
    case Result::real: {
      if (is_float(t) || a.op.operands.size() == 1) return real_dtype(t);
      const DType x = real_dtype(a.operand(0).dtype),
                  y = real_dtype(a.operand(1).dtype);  // of integers, each by itself
      return size_bytes(x) > size_bytes(y) ? x : y;
    }
    case Result::quotient:
      return is_float(t) ? t : DType::float32;
    default:
      return t;
  }
}

Type infer_elementwise(const Ask& a) {
  const DType t = working(a);
  Shape shape = a.operand(0).shape;
  for (std::size_t i = 1; i < a.op.operands.size(); ++i) {
    const auto both = broadcast(shape, a.operand(i).shape);
    a.require(both.has_value(), rules::kBroadcast,
              fmt::format("{} and {}", to_string(shape), to_string(a.operand(i).shape)));
    shape = *both;
  }
  return {info(a.op.code).result == Result::truth ? DType::bool_ : t, std::move(shape)};
}

Type infer_given(const Ask& a) {
  const Type& t = a.op.type;
  for (std::int64_t extent : t.shape) a.require(extent >= 0, rules::kShape, to_string(t));
  a.require(!is_packed(t.dtype) && t.dtype != DType::tfloat32 && t.dtype != DType::float8_e8m0fnu, rules::kChip,
            to_string(t));
  if (a.op.code == OpCode::constant) {
    const auto n = static_cast<std::int64_t>(a.op.numbers->size());
    if (n != 1 && n != t.size())
      raise(rules::kTable, rules::kShape,
            {.found = fmt::format("{} numbers for {}", n, to_string(t)),
             .allowed = t.size() == 1 ? "one number" : fmt::format("one number, or {}", t.size()),
             .help = "correct the shape, or give as many numbers as it has elements",
             .rule = "a constant has one number, or one for each element",
             .loc = a.graph.loc(a.op),
             .context = "op constant"});
  }
  if (a.op.code == OpCode::iota) {
    const std::int64_t axis = a.op.integer("axis");
    a.require(axis >= 0 && axis < t.rank(), rules::kAxis, fmt::format("axis {} of {}", axis, to_string(t)));
  }
  return t;
}

Type infer_where(const Ask& a) {
  const Type &x = a.operand(1), &y = a.operand(2);
  const auto t = promote(x.dtype, y.dtype);
  a.require(t.has_value(), rules::kPromotion, fmt::format("{} and {}", name(x.dtype), name(y.dtype)));
  a.require(a.operand(0).dtype == DType::bool_, rules::kDtype,
            fmt::format("a condition in {}", name(a.operand(0).dtype)));
  auto shape = broadcast(x.shape, y.shape);
  if (shape) shape = broadcast(*shape, a.operand(0).shape);
  a.require(shape.has_value(), rules::kBroadcast,
            fmt::format("{}, {} and {}", to_string(a.operand(0).shape), to_string(x.shape), to_string(y.shape)));
  return {*t, *shape};
}

Type infer_cast(const Ask& a) { return {std::get<DType>(a.op.attr("dtype")), a.operand(0).shape}; }

Type infer_bitcast(const Ask& a) {
  const DType t = std::get<DType>(a.op.attr("dtype"));
  a.require(size_bytes(t) == size_bytes(a.operand(0).dtype), rules::kDtype,
            fmt::format("{} as {}", name(a.operand(0).dtype), name(t)));
  return {t, a.operand(0).shape};
}

Shape reduced(const Ask& a) {
  const Type& x = a.operand(0);
  const Ints& axes = a.op.ints("axes");
  Shape kept = x.shape;
  for (std::int64_t axis : axes) {
    const bool twice = std::count(axes.begin(), axes.end(), axis) > 1;
    a.require(axis >= 0 && axis < x.rank() && !twice, rules::kAxis, fmt::format("axis {} of {}", axis, to_string(x)));
    kept[axis] = 1;
  }
  if (a.op.flag("keepdims")) return kept;
  Shape out;
  for (int i = 0; i < x.rank(); ++i) {
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) out.push_back(x.shape[i]);
  }
  return out;
}

// NumPy widens small integers to the platform's: to 32 bits here.
Type infer_sums(const Ask& a) {
  const DType t = a.operand(0).dtype;
  const bool is_unsigned = info(t).cls == DTypeClass::unsigned_int;
  return {is_float(t) ? t : is_unsigned ? DType::uint32 : DType::int32, reduced(a)};
}

void require_elements(const Ask& a) {
  for (std::int64_t axis : a.op.ints("axes")) {
    a.require(a.operand(0).shape.at(axis) > 0, rules::kEmpty, to_string(a.operand(0)));
  }
}

Type infer_extremes(const Ask& a) {
  Shape shape = reduced(a);
  require_elements(a);
  return {a.operand(0).dtype, std::move(shape)};
}

Type infer_positions(const Ask& a) {
  Shape shape = reduced(a);
  require_elements(a);
  a.require(a.op.ints("axes").size() == 1, rules::kAxis, "more than one axis");
  return {DType::int32, std::move(shape)};
}

Type infer_truths(const Ask& a) { return {DType::bool_, reduced(a)}; }
Type infer_means(const Ask& a) {
  const DType t = a.operand(0).dtype;
  return {is_float(t) ? t : DType::float32, reduced(a)};
}

Type infer_scan(const Ask& a) {
  const std::int64_t axis = a.op.integer("axis");
  const Type& x = a.operand(0);
  a.require(axis >= 0 && axis < x.rank(), rules::kAxis, fmt::format("axis {} of {}", axis, to_string(x)));
  const bool is_unsigned = info(x.dtype).cls == DTypeClass::unsigned_int;
  return {is_float(x.dtype) ? x.dtype : is_unsigned ? DType::uint32 : DType::int32, x.shape};
}

Type infer_matmul(const Ask& a) { return {promoted(a), asked_product(a)}; }

Type infer_reshape(const Ask& a) {
  const Ints& shape = a.op.ints("shape");
  const bool negative = std::any_of(shape.begin(), shape.end(), [](auto n) { return n < 0; });
  a.require(!negative && product(shape) == a.operand(0).size(), rules::kReshape,
            fmt::format("{} to {}", to_string(a.operand(0)), to_string(shape)));
  return {a.operand(0).dtype, shape};
}

Type infer_transpose(const Ask& a) {
  const Type& x = a.operand(0);
  const Ints& perm = a.op.ints("perm");
  Ints sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  bool ok = static_cast<int>(perm.size()) == x.rank();
  for (int i = 0; ok && i < x.rank(); ++i) ok = sorted[i] == i;
  a.require(ok, rules::kPermutation, fmt::format("{} of {}", to_string(perm), to_string(x)));
  Shape shape;
  for (std::int64_t i : perm) shape.push_back(x.shape[i]);
  return {x.dtype, std::move(shape)};
}

Type infer_spread(const Ask& a) {
  const Ints& shape = a.op.ints("shape");
  const auto both = broadcast(a.operand(0).shape, shape);
  a.require(both && *both == shape, rules::kBroadcast,
            fmt::format("{} to {}", to_string(a.operand(0)), to_string(shape)));
  return {a.operand(0).dtype, shape};
}

Type infer_slice(const Ask& a) {
  const Type& x = a.operand(0);
  const Ints &starts = a.op.ints("starts"), &sizes = a.op.ints("sizes"), &steps = a.op.ints("steps");
  const auto rank = static_cast<std::size_t>(x.rank());
  bool ok = starts.size() == rank && sizes.size() == rank && steps.size() == rank;
  for (std::size_t i = 0; ok && i < rank; ++i) {
    const __int128 last = starts[i] + static_cast<__int128>(sizes[i] - 1) * steps[i];
    ok = sizes[i] == 0 || (sizes[i] > 0 && starts[i] >= 0 && starts[i] < x.shape[i] && last >= 0 && last < x.shape[i]);
  }
  a.require(ok, rules::kSlice,
            fmt::format("starts {}, sizes {}, steps {} of {}", to_string(starts), to_string(sizes), to_string(steps),
                        to_string(x)));
  return {x.dtype, sizes};
}

Type infer_concat(const Ask& a) {
  a.require(!a.op.operands.empty(), rules::kOperands, "nothing to join");
  Type out = a.operand(0);
  const std::int64_t axis = a.op.integer("axis");
  a.require(axis >= 0 && axis < out.rank(), rules::kAxis, fmt::format("axis {} of {}", axis, to_string(out)));
  out.shape[axis] = 0;
  for (std::size_t i = 0; i < a.op.operands.size(); ++i) {
    const Type& x = a.operand(i);
    bool ok = x.dtype == out.dtype && x.rank() == out.rank();
    for (int d = 0; ok && d < x.rank(); ++d) ok = d == axis || x.shape[d] == out.shape[d];
    a.require(ok, rules::kConcat, fmt::format("{} and {} along axis {}", to_string(a.operand(0)), to_string(x), axis));
    out.shape[axis] += x.shape[axis];
  }
  return out;
}

Type infer_pad(const Ask& a) {
  Type out = a.operand(0);
  const Ints &low = a.op.ints("low"), &high = a.op.ints("high");
  const auto rank = static_cast<std::size_t>(out.rank());
  bool ok = low.size() == rank && high.size() == rank;
  for (std::size_t i = 0; ok && i < rank; ++i) {
    ok = low[i] >= 0 && high[i] >= 0;
    out.shape[i] += low[i] + high[i];
  }
  a.require(ok, rules::kShape, fmt::format("borders {} and {} of {}", to_string(low), to_string(high), to_string(out)));
  return out;
}

void require_index(const Ask& a, std::size_t i, int rank) {
  const Type& index = a.operand(i);
  a.require(is_integer(index.dtype) && (rank < 0 || index.rank() == rank), rules::kIndex, to_string(index));
}

Type infer_gather(const Ask& a) {
  require_index(a, 1, -1);
  a.require(a.operand(0).rank() >= 1, rules::kIndex, fmt::format("a table {}", to_string(a.operand(0))));
  Type out{a.operand(0).dtype, a.operand(1).shape};
  out.shape.insert(out.shape.end(), a.operand(0).shape.begin() + 1, a.operand(0).shape.end());
  return out;
}

Type infer_scatter(const Ask& a) {
  require_index(a, 1, 1);
  const Type &x = a.operand(0), &rows = a.operand(2);
  Shape wanted = x.shape;
  if (!wanted.empty()) wanted[0] = a.operand(1).shape[0];
  a.require(x.rank() >= 1 && rows.shape == wanted && rows.dtype == x.dtype, rules::kIndex,
            fmt::format("rows {} for {}", to_string(rows), to_string(x)));
  return x;
}

Type infer_cut(const Ask& a) {
  require_index(a, 1, 0);
  Type out = a.operand(0);
  const std::int64_t axis = a.op.integer("axis"), size = a.op.integer("size");
  a.require(axis >= 0 && axis < out.rank(), rules::kAxis, fmt::format("axis {} of {}", axis, to_string(out)));
  a.require(size >= 0 && size <= out.shape[axis], rules::kSlice, fmt::format("{} of {}", size, to_string(out)));
  out.shape[axis] = size;
  return out;
}

Type infer_update(const Ask& a) {
  require_index(a, 2, 0);
  const Type &x = a.operand(0), &part = a.operand(1);
  const std::int64_t axis = a.op.integer("axis");
  a.require(axis >= 0 && axis < x.rank(), rules::kAxis, fmt::format("axis {} of {}", axis, to_string(x)));
  bool ok = part.rank() == x.rank() && part.dtype == x.dtype && part.shape[axis] <= x.shape[axis];
  for (int d = 0; ok && d < x.rank(); ++d) ok = d == axis || x.shape[d] == part.shape[d];
  a.require(ok, rules::kSlice, fmt::format("{} into {}", to_string(part), to_string(x)));
  return x;
}

using Function = Type (*)(const Ask&);
constexpr Function kFunctions[] = {
#define KILN_UNARY(...) infer_elementwise,
#define KILN_BINARY(...) infer_elementwise,
#define KILN_OP(name, operands, attributes, infer, ...) infer_##infer,
#include "kiln/tensor/ir/ops.def"
};

// So that no sum and no product of what passes reckon with is beyond 63 bits.
bool is_small(std::int64_t n) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  return n >= -kMost && n <= kMost;
}

void require_small(const Ask& a, std::string_view name, const AttrValue& value) {
  const Ints* ints = std::get_if<Ints>(&value);
  const std::int64_t* one = std::get_if<std::int64_t>(&value);
  const bool ok = (!ints || std::ranges::all_of(*ints, is_small)) && (!one || is_small(*one));
  if (!ok) a.refuse(rules::kSize, fmt::format("{} {}", name, ints ? to_string(*ints) : std::to_string(*one)));
}

bool fits(const AttrInfo& wanted, const AttrValue& value) {
  return value.index() == static_cast<std::size_t>(wanted.kind);
}

}  // namespace

Shape asked_product(const Ask& a) {
  const Type &x = a.operand(0), &y = a.operand(1);
  const auto refuse = [&] { a.refuse(rules::kMatmul, fmt::format("{} and {}", to_string(x), to_string(y))); };
  if (x.rank() == 0 || y.rank() == 0) refuse();
  Shape xs = x.shape, ys = y.shape;
  if (x.rank() == 1) xs.insert(xs.begin(), 1);
  if (y.rank() == 1) ys.push_back(1);
  if (xs.back() != ys[ys.size() - 2]) refuse();
  auto batch = broadcast(Shape(xs.begin(), xs.end() - 2), Shape(ys.begin(), ys.end() - 2));
  if (!batch) refuse();
  if (x.rank() > 1) batch->push_back(xs[xs.size() - 2]);
  if (y.rank() > 1) batch->push_back(ys.back());
  return *batch;
}

Type infer(const Graph& graph, const Op& op) {
  const Ask ask{graph, op};
  const OpInfo& row = info(op.code);
  bool ok = row.operands < 0 || static_cast<int>(op.operands.size()) == row.operands;
  ok = ok && op.attrs.size() == row.attributes.size();
  for (std::size_t i = 0; ok && i < op.attrs.size(); ++i) ok = fits(row.attributes[i], op.attrs[i]);
  if (!ok)
    raise(rules::kTable, rules::kOperands,
          {.found = fmt::format("{} operands and {} attributes", op.operands.size(), op.attrs.size()),
           .allowed = to_string(row),
           .loc = graph.loc(op),
           .context = fmt::format("op {}", name(op.code))});
  for (Value v : op.operands) {
    if (v >= graph.size()) ask.refuse(rules::kOperands, fmt::format("there is no value {}", v));
  }
  for (std::size_t i = 0; i < op.attrs.size(); ++i) require_small(ask, row.attributes[i].name, op.attrs[i]);
  if (op.operands.empty()) require_small(ask, "shape", op.type.shape);
  Type out = kFunctions[static_cast<std::size_t>(op.code)](ask);
  if (!std::ranges::all_of(out.shape, is_small) || !is_small(out.size())) ask.refuse(rules::kSize, to_string(out));
  return out;
}

DType working_dtype(const Graph& graph, const Op& op) { return working({graph, op}); }

}  // namespace kiln::tensor
