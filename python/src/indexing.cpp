// t[...], select and slice: ints, slices, nl.ds, an ellipsis, and addresses that are known at run time.
#include <fmt/format.h>

#include "python/src/tensor.h"

namespace kiln::python {
namespace {

using isa::View;

// nl.ds(register, size).
struct DynamicSlice {
  nb::object start;
  std::int64_t size;
};

// The view moved by `stride` elements times a register or 1 x 1 tile.
View moved(const Tensor& t, const View& v, nb::handle index, std::int64_t stride) {
  if (nb::isinstance<Register>(index)) {
    const auto& reg = nb::cast<const Register&>(index);
    check_owner(*t.trace, reg.trace.get(), "register");
    return v.scalar_offset(isa::Reg{reg.id}, stride);
  }
  const auto& tile = nb::cast<const Tensor&>(index);
  check_owner(*t.trace, tile.trace.get(), "tensor");
  return v.scalar_offset(tile.view, stride);
}

// A register or 1 x 1 tile as an address along a dimension, which then goes away.
View select_dynamic(const Tensor& t, int dim, nb::handle index) {
  const View& v = t.view;
  if (v.on_chip() && dim == 0)
    bad_index("a run-time index of the partition dimension", "partitions are chosen while the kernel is traced");
  const std::int64_t stride = v.access().dims[dim].stride;
  if (stride == 0 && v.dim(dim) > 1)
    bad_index(fmt::format("a run-time index of dimension {}, which is broadcast", dim),
              "its elements are one and the same: select(dim, 0) has no run-time address");
  return moved(t, v.select(dim, 0), index, stride);
}

// start, stop and step of a slice or a range.
struct Bounds {
  nb::object start, stop, step;
};
Bounds bounds_of(nb::handle slice) {
  if (!PySlice_Check(slice.ptr())) return {slice.attr("start"), slice.attr("stop"), slice.attr("step")};
  const auto* s = reinterpret_cast<const PySliceObject*>(slice.ptr());  // looking names up takes longer than the rest
  return {nb::borrow(s->start), nb::borrow(s->stop), nb::borrow(s->step)};
}

// start:stop:step of a dimension of `size`, without clipping. The size is 0 for start == stop.
isa::Slice to_slice(nb::handle slice, std::int64_t size, int dim) {
  const auto part = [](const nb::object& value, std::int64_t missing) {
    return value.is_none() ? missing : to_int(value, "a slice bound");
  };
  const auto from_end = [&](std::int64_t bound) { return bound < 0 ? bound + size : bound; };
  const Bounds bounds = bounds_of(slice);
  const std::int64_t step = part(bounds.step, 1);
  const std::int64_t start = from_end(part(bounds.start, 0)), stop = from_end(part(bounds.stop, size));
  if (step < 1) bad_index(fmt::format("a step of {}", step), "steps are positive");
  if (start == stop && start >= 0 && stop < size) return {start, 0, step};
  if (start < 0 || start >= stop || stop > size)
    bad_index(fmt::format("slice {}:{} of dimension {}, which has {} elements", start, stop, dim, size),
              "slices are not empty and stay inside the dimension; there is no clipping as in NumPy");
  return {start, (stop - start - 1) / step + 1, step};
}

struct Indexing {
  std::vector<isa::Slice> slices;
  int empty_dim = -1;  // of the slices
  int dynamic_dim = -1;
  nb::handle dynamic;
  std::optional<std::int64_t> dynamic_size;
};

void add_index(Indexing& out, const View& v, nb::handle item) {
  const int dim = static_cast<int>(out.slices.size());
  if (dim >= v.rank()) bad_index(fmt::format("more than {} indices", v.rank()), "one index per dimension");
  const std::int64_t size = v.dim(dim);
  if (PySlice_Check(item.ptr()) || PyRange_Check(item.ptr())) {
    out.slices.push_back(to_slice(item, size, dim));
    if (out.slices.back().size == 0) {
      out.empty_dim = dim;
      out.slices.back().size = 1;
    }
  } else if (nb::isinstance<DynamicSlice>(item) || nb::isinstance<Register>(item) || nb::isinstance<Tensor>(item)) {
    if (out.dynamic_dim >= 0)
      bad_index("two run-time indices", "a view has one run-time address: compute the sum first");
    out.dynamic_dim = dim;
    out.dynamic = item;
    if (nb::isinstance<DynamicSlice>(item)) {
      const auto& ds = nb::cast<const DynamicSlice&>(item);
      out.dynamic = ds.start;
      out.dynamic_size = ds.size;
    }
    out.slices.push_back(out.dynamic_size ? isa::Slice(0, *out.dynamic_size) : isa::Slice(isa::Slice::Kind::whole));
  } else if (as_int(item) || !too_large(item).empty()) {
    const std::int64_t i = to_int(item, "an index"), at = i < 0 ? i + size : i;
    if (at < 0 || at >= size)
      bad_index(fmt::format("index {} of dimension {}, which has {} elements", i, dim, size),
                "indices stay inside the dimension");
    out.slices.push_back(isa::Slice(at));
  } else {
    bad_index(fmt::format("an index of type {}", kind_of(item)),
              item.is_none() ? "use .expand_dim(dim) to add a dimension"
                             : "use ints, slices, nl.ds(start, size) or ...; strided access is .ap(pattern)");
  }
}

Indexing parse_index(const View& v, nb::handle key) {
  Indexing out;
  nb::tuple items = nb::isinstance<nb::tuple>(key) ? nb::borrow<nb::tuple>(key) : nb::make_tuple(key);
  const auto count = static_cast<int>(nb::len(items));
  out.slices.reserve(v.rank());
  bool ellipsis = false;
  for (nb::handle item : items) {
    if (item.ptr() != Py_Ellipsis) {
      add_index(out, v, item);
      continue;
    }
    if (ellipsis) bad_index("two ellipses", "write ... once");
    ellipsis = true;
    for (int n = v.rank() - (count - 1); n > 0; --n) out.slices.push_back(isa::Slice(isa::Slice::Kind::whole));
  }
  return out;
}

// Dimensions may go away; counts those in front of one that stay.
int kept_before(const View& v, const Indexing& index, int end) {
  int dim = 0;
  for (int i = 0; i < end; ++i) dim += index.slices[i].kind != isa::Slice::Kind::index || (v.on_chip() && i == 0);
  return dim;
}

}  // namespace

Tensor get_item(const Tensor& t, nb::handle key) {
  Indexing index = parse_index(t.view, key);
  if (index.dynamic_dim < 0) {
    Tensor out = with(t, t.view.index(index.slices));
    if (index.empty_dim >= 0) out.empty_dim = kept_before(t.view, index, index.empty_dim);
    return out;
  }
  if (index.dynamic_size) {
    const std::int64_t stride = t.view.access().dims[index.dynamic_dim].stride;
    if (t.view.on_chip() && index.dynamic_dim == 0)
      bad_index("a run-time index of the partition dimension", "partitions are chosen while the kernel is traced");
    return with(t, moved(t, t.view.index(index.slices), index.dynamic, stride));
  }
  const int dim = kept_before(t.view, index, index.dynamic_dim);
  const Tensor narrowed = with(t, t.view.index(index.slices));
  return with(t, select_dynamic(narrowed, dim, index.dynamic));
}

Tensor select(const Tensor& t, IntArg dim, nb::handle index) {
  const int d = to_dim(t, dim);
  if (nb::isinstance<Register>(index) || nb::isinstance<Tensor>(index)) return with(t, select_dynamic(t, d, index));
  const std::int64_t i = to_int(index, "the index of select");
  if (i < 0 || i >= t.view.dim(d))
    bad_index(fmt::format("select of element {} of dimension {}, which has {} elements", i, d, t.view.dim(d)),
              "0 <= index < size");
  return with(t, t.view.select(d, i));
}

Tensor slice(const Tensor& t, IntArg dim, nb::handle start, nb::handle end, nb::handle step) {
  const int d = to_dim(t, dim);
  const std::int64_t a = to_int(start, "start"), b = to_int(end, "end"), s = to_int(step, "step");
  if (a < 0 || a >= b || b > t.view.dim(d) || s < 1)
    bad_index(fmt::format("slice {}:{}:{} of dimension {}, which has {} elements", a, b, s, d, t.view.dim(d)),
              "0 <= start < end <= size and step >= 1");
  return with(t, t.view.slice(d, a, (b - a - 1) / s + 1, s));
}

void bind_dynamic_slice(nb::module_& m) {
  nb::class_<DynamicSlice>(m, "DynamicSlice").def("__init__", [](DynamicSlice* s, nb::object start, IntArg size) {
    new (s) DynamicSlice{std::move(start), to_int(size, "the size of nl.ds")};
  });
}

}  // namespace kiln::python
