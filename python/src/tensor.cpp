// NkiTensor: attributes, indexing and view methods. Every view is arithmetic on a builder's View.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include "kiln/isa/print.h"
#include "python/src/convert.h"
#include "python/src/error.h"
#include "python/src/trace.h"

namespace kiln::python {
namespace {

using isa::View;

// nl.ds(register, size).
struct DynamicSlice {
  nb::object start;
  std::int64_t size;
};

nb::tuple tuple_of(int count, auto&& item) {
  nb::list out;
  for (int i = 0; i < count; ++i) out.append(item(i));
  return nb::tuple(out);
}

nb::tuple shape_of(const Tensor& t) {
  return tuple_of(t.view.rank(), [&](int i) { return i == t.empty_dim ? 0 : t.view.dim(i); });
}

bool reaches_outside(const Tensor& t, const View& v) {
  const isa::Program& program = t.trace->kernel.program();
  const isa::Access& a = v.access();
  const isa::Tensor& base = program.tensors[a.tensor];
  const isa::Range range = element_range(program, a);
  const bool inside =
      range.min >= 0 && range.max < base.bytes_per_partition() / size_bytes(a.dtype) &&
      (!v.on_chip() || (a.partition.constant >= 0 && a.partition.constant + a.rows() <= base.partitions()));
  return !inside;
}

Tensor with(const Tensor& t, View view) {
  Tensor out{t.trace, std::move(view)};
  out.outside = t.outside && reaches_outside(t, out.view);
  out.empty_dim = std::min(t.empty_dim, out.view.rank() - 1);
  return out;
}

[[noreturn]] void bad_index(std::string found, std::string help) {
  refuse("nki.R11", std::move(found), std::move(help));
}

int to_dim(const Tensor& t, std::int64_t dim) {
  if (dim < 0) dim += t.view.rank();
  if (dim < 0 || dim >= t.view.rank())
    bad_index(fmt::format("dimension {} of {}", dim, t.view.rank()), "dimensions count from 0");
  return static_cast<int>(dim);
}

// A register or 1 x 1 tile as an address along a dimension, which then goes away.
View select_dynamic(const Tensor& t, int dim, nb::handle index) {
  const View& v = t.view;
  if (v.on_chip() && dim == 0)
    bad_index("a run-time index of the partition dimension",
              "partitions are chosen while the kernel is traced");
  if (v.access().dynamic != isa::kNone)
    bad_index("a second run-time index", "a view has one run-time address: compute the sum first");
  const std::int64_t stride = v.access().dims[dim].stride;
  View w = v.select(dim, 0);
  if (nb::isinstance<Register>(index)) {
    const auto& reg = nb::cast<const Register&>(index);
    check_owner(*t.trace, reg.trace.get(), "register");
    return w.scalar_offset(isa::Reg{reg.id}, stride);
  }
  const auto& tile = nb::cast<const Tensor&>(index);
  check_owner(*t.trace, tile.trace.get(), "tensor");
  return w.scalar_offset(tile.view, stride);
}

// start:stop:step of a dimension of `size`, without clipping. The size is 0 for start == stop.
isa::Slice to_slice(nb::handle slice, std::int64_t size, int dim) {
  const auto part = [&](const char* name, std::int64_t missing) {
    nb::object value = slice.attr(name);
    if (value.is_none()) return missing;
    const std::int64_t v = to_int(value, "a slice bound");
    return v < 0 && name[2] != 'e' ? v + size : v;  // negative bounds count from the end; a step does not
  };
  const std::int64_t step = part("step", 1);
  const std::int64_t start = part("start", 0), stop = part("stop", size);
  if (step < 1) bad_index(fmt::format("a step of {}", step), "steps are positive");
  if (start == stop && start >= 0 && stop < size) return {start, 0, step};
  if (start < 0 || start >= stop || stop > size)
    bad_index(fmt::format("slice {}:{} of dimension {}, which has {} elements", start, stop, dim, size),
              "slices are not empty and stay inside the dimension; there is no clipping as in NumPy");
  return {start, (stop - start + step - 1) / step, step};
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
  } else if (nb::isinstance<DynamicSlice>(item) || nb::isinstance<Register>(item) ||
             nb::isinstance<Tensor>(item)) {
    if (out.dynamic_dim >= 0)
      bad_index("two run-time indices", "a view has one run-time address: compute the sum first");
    out.dynamic_dim = dim;
    out.dynamic = item;
    if (nb::isinstance<DynamicSlice>(item)) {
      const auto& ds = nb::cast<const DynamicSlice&>(item);
      out.dynamic = ds.start;
      out.dynamic_size = ds.size;
    }
    out.slices.push_back(out.dynamic_size ? isa::Slice(0, *out.dynamic_size)
                                          : isa::Slice(isa::Slice::Kind::whole));
  } else if (const auto i = as_int(item)) {
    const std::int64_t at = *i < 0 ? *i + size : *i;
    if (at < 0 || at >= size)
      bad_index(fmt::format("index {} of dimension {}, which has {} elements", *i, dim, size),
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
  bool ellipsis = false;
  for (nb::handle item : items) {
    if (item.ptr() != Py_Ellipsis) {
      add_index(out, v, item);
      continue;
    }
    if (ellipsis) bad_index("two ellipses", "write ... once");
    ellipsis = true;
    for (int n = v.rank() - (count - 1); n > 0; --n)
      out.slices.push_back(isa::Slice(isa::Slice::Kind::whole));
  }
  return out;
}

// Dimensions may go away; counts those in front of one that stay.
int kept_before(const View& v, const Indexing& index, int end) {
  int dim = 0;
  for (int i = 0; i < end; ++i)
    dim += index.slices[i].kind != isa::Slice::Kind::index || (v.on_chip() && i == 0);
  return dim;
}

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
      bad_index("a run-time index of the partition dimension",
                "partitions are chosen while the kernel is traced");
    View v = t.view.index(index.slices);
    if (nb::isinstance<Register>(index.dynamic))
      return with(t, v.scalar_offset(isa::Reg{nb::cast<const Register&>(index.dynamic).id}, stride));
    return with(t, v.scalar_offset(nb::cast<const Tensor&>(index.dynamic).view, stride));
  }
  const int dim = kept_before(t.view, index, index.dynamic_dim);
  const Tensor narrowed = with(t, t.view.index(index.slices));
  return with(t, select_dynamic(narrowed, dim, index.dynamic));
}

Tensor select(const Tensor& t, std::int64_t dim, nb::handle index) {
  const int d = to_dim(t, dim);
  if (nb::isinstance<Register>(index) || nb::isinstance<Tensor>(index))
    return with(t, select_dynamic(t, d, index));
  const std::int64_t i = to_int(index, "the index of select");
  return with(t, t.view.select(d, i));
}

Tensor slice(const Tensor& t, std::int64_t dim, nb::handle start, nb::handle end, nb::handle step) {
  const int d = to_dim(t, dim);
  const std::int64_t a = to_int(start, "start"), b = to_int(end, "end"), s = to_int(step, "step");
  if (a < 0 || a >= b || b > t.view.dim(d) || s < 1)
    bad_index(fmt::format("slice {}:{}:{} of dimension {}, which has {} elements", a, b, s, d, t.view.dim(d)),
              "0 <= start < end <= size and step >= 1");
  return with(t, t.view.slice(d, a, (b - a + s - 1) / s, s));
}

std::vector<isa::Dim> to_pattern(nb::handle pattern) {
  std::vector<isa::Dim> out;
  for (nb::handle pair : pattern) {
    const isa::Shape two = to_shape(pair, "a pair of the pattern");
    if (two.size() != 2) bad_index("a pattern that is not made of pairs", "write [[step, num], ...]");
    if (two[1] < 1) bad_index(fmt::format("a pattern with num {}", two[1]), "every num is at least 1");
    out.push_back({two[0], two[1]});
  }
  return out;
}

// A pattern over a view of a tile may step through partitions by the view's own free size. Makes it step by
// the storage's, and gives back the offset in those steps.
std::int64_t on_rows_of_storage(const View& v, std::vector<isa::Dim>& pattern, std::int64_t offset,
                                DType as) {
  const std::int64_t storage = v.stride(0) * size_bytes(v.dtype()) / size_bytes(as);
  std::int64_t own = size_bytes(v.dtype());
  for (int i = 1; i < v.rank(); ++i) own *= v.dim(i);
  own /= size_bytes(as);
  if (pattern.empty() || own == storage || own < 1 || pattern[0].stride != own) return offset;
  pattern[0].stride = storage;
  return offset / own * storage + offset % own;
}

Tensor ap(const Tensor& t, nb::handle pattern, nb::handle offset, nb::handle scalar_offset,
          nb::handle vector_offset, std::int64_t indirect_dim, nb::handle dtype) {
  const View& v = t.view;
  const DType as = dtype.is_none() ? v.dtype() : to_dtype(dtype);
  const std::int64_t from = size_bytes(v.dtype()), to = size_bytes(as);
  const std::int64_t base = v.offset() * from;
  if (base % to) bad_index("an offset inside an element of the new dtype", "align the view first");
  std::int64_t start = base / to + (offset.is_none() ? 0 : to_int(offset, "offset"));
  if (start < 0) bad_index(fmt::format("offset {}", start), "offsets are not negative");
  std::vector<isa::Dim> pairs = to_pattern(pattern);
  if (v.on_chip()) start = on_rows_of_storage(v, pairs, start - base / to, as) + base / to;
  View w = v.ap(pairs, start, as);
  if (!scalar_offset.is_none() && !vector_offset.is_none())
    bad_index("scalar_offset and vector_offset together", "pass at most one of them");
  if (scalar_offset.is_none() && vector_offset.is_none()) {
    Tensor out = with(t, w);
    out.outside = reaches_outside(t, w);
    return out;
  }
  const int d = to_dim(t, indirect_dim);
  std::int64_t scale = from;
  for (int i = d + 1; i < v.rank(); ++i) scale *= v.dim(i);
  if (scale % to)
    bad_index("a run-time offset that cuts elements of the new dtype", "choose another indirect_dim");
  scale /= to;
  if (!vector_offset.is_none()) {
    if (d != 0)
      bad_index(fmt::format("vector_offset with indirect_dim {}", d), "vector_offset indexes dimension 0");
    if (!nb::isinstance<Tensor>(vector_offset))
      bad_index(fmt::format("vector_offset of type {}", kind_of(vector_offset)),
                "pass a (P, 1) tile in SBUF");
    const auto& indices = nb::cast<const Tensor&>(vector_offset);
    check_owner(*t.trace, indices.trace.get(), "tensor");
    return with(t, w.vector_offset(indices.view, scale));
  }
  if (nb::isinstance<Register>(scalar_offset)) {
    const auto& reg = nb::cast<const Register&>(scalar_offset);
    check_owner(*t.trace, reg.trace.get(), "register");
    return with(t, w.scalar_offset(isa::Reg{reg.id}, scale));
  }
  if (!nb::isinstance<Tensor>(scalar_offset))
    bad_index(fmt::format("scalar_offset of type {}", kind_of(scalar_offset)),
              "pass a (1, 1) tile in SBUF or a register; an int belongs into offset=");
  const auto& tile = nb::cast<const Tensor&>(scalar_offset);
  check_owner(*t.trace, tile.trace.get(), "tensor");
  return with(t, w.scalar_offset(tile.view, scale));
}

const isa::Tensor& base_of(const Tensor& t) { return t.trace->kernel.program().tensors[t.view.tensor()]; }

bool is_contiguous(const View& v) {
  std::int64_t expected = 1;
  for (int i = v.rank() - 1; i >= (v.on_chip() ? 1 : 0); --i) {
    if (v.dim(i) == 1) continue;
    if (v.stride(i) != expected) return false;
    expected *= v.dim(i);
  }
  return true;
}

void bind_attributes(nb::class_<Tensor>& cls) {
  cls.def_prop_ro("shape", [](const Tensor& t) { return shape_of(t); })
      .def_prop_ro(
          "strides",
          [](const Tensor& t) { return tuple_of(t.view.rank(), [&](int i) { return t.view.stride(i); }); })
      .def_prop_ro("offset", [](const Tensor& t) { return t.view.offset(); })
      .def_prop_ro("dtype", [](const Tensor& t) { return dtype_object(t.view.dtype()); })
      .def_prop_ro("buffer", [](const Tensor& t) { return memory_object(t.view.memory()); })
      .def_prop_ro("name", [](const Tensor& t) { return base_of(t).name; })
      .def_prop_ro("ndim", [](const Tensor& t) { return t.view.rank(); })
      .def_prop_ro("size", [](const Tensor& t) { return t.empty_dim < 0 ? t.view.access().count() : 0; })
      .def_prop_ro("address",
                   [](const Tensor& t) -> nb::object {
                     const auto& address = base_of(t).address;
                     if (!address) return nb::none();
                     return nb::make_tuple(address->partition, address->byte_offset);
                   })
      .def_prop_ro("tensor_id", [](const Tensor& t) { return t.view.tensor(); })
      .def_prop_ro("trace", [](const Tensor& t) { return t.trace; })
      .def("get_pattern",
           [](const Tensor& t) {
             nb::list out;
             for (int i = 0; i < t.view.rank(); ++i) {
               nb::list pair;
               pair.append(t.view.stride(i));
               pair.append(t.view.dim(i));
               out.append(pair);
             }
             return out;
           })
      .def("is_contiguous", [](const Tensor& t) { return is_contiguous(t.view); })
      .def("is_indirect", [](const Tensor& t) { return t.view.access().dynamic != isa::kNone; });
}

void bind_views(nb::class_<Tensor>& cls) {
  cls.def("__getitem__", &get_item)
      .def("slice", &slice, nb::arg("dim"), nb::arg("start"), nb::arg("end"), nb::arg("step") = 1)
      .def("select", &select, nb::arg("dim"), nb::arg("index"))
      .def(
          "vector_select",
          [](const Tensor& t, std::int64_t dim, const Tensor& index) {
            if (to_dim(t, dim) != 0 || t.view.on_chip())
              bad_index(
                  fmt::format("vector_select of dimension {}{}", dim, t.view.on_chip() ? " on chip" : ""),
                  "vector_select takes rows of dimension 0 of a tensor in HBM");
            if (t.view.access().dynamic != isa::kNone)
              bad_index("a second run-time index", "a view has one run-time address");
            check_owner(*t.trace, index.trace.get(), "tensor");
            return with(t, t.view.vector_offset(index.view));
          },
          nb::arg("dim"), nb::arg("vector_offset"))
      .def(
          "permute",
          [](const Tensor& t, nb::handle dims) {
            std::vector<int> order;
            for (const std::int64_t d : to_shape(dims, "a permutation")) order.push_back(to_dim(t, d));
            return with(t, t.view.permute(order));
          },
          nb::arg("dims"))
      .def(
          "broadcast",
          [](const Tensor& t, std::int64_t dim, std::int64_t size) {
            return with(t, t.view.broadcast(to_dim(t, dim), size));
          },
          nb::arg("dim"), nb::arg("size"))
      .def(
          "expand_dim",
          [](const Tensor& t, std::int64_t dim) {
            return with(t, t.view.expand_dim(static_cast<int>(dim < 0 ? dim + t.view.rank() + 1 : dim)));
          },
          nb::arg("dim"))
      .def(
          "squeeze_dim",
          [](const Tensor& t, std::int64_t dim) { return with(t, t.view.squeeze_dim(to_dim(t, dim))); },
          nb::arg("dim"))
      .def(
          "reshape_dim",
          [](const Tensor& t, std::int64_t dim, nb::handle shape) {
            const int d = to_dim(t, dim);
            isa::Shape sizes = to_shape(shape, "a shape");
            if (d == 0 && t.view.on_chip() && sizes.size() == 1 &&
                (sizes[0] == t.view.dim(0) || sizes[0] == -1))
              return t;
            std::int64_t known = 1, unknown = 0;
            for (const std::int64_t s : sizes) s == -1 ? ++unknown : known *= s;
            for (std::int64_t& s : sizes) {
              if (s == -1 && unknown == 1 && known > 0) s = t.view.dim(d) / known;
            }
            return with(t, t.view.reshape_dim(d, sizes));
          },
          nb::arg("dim"), nb::arg("shape"))
      .def(
          "flatten_dims",
          [](const Tensor& t, std::int64_t start, std::int64_t end) {
            return with(t, t.view.flatten_dims(to_dim(t, start), to_dim(t, end)));
          },
          nb::arg("start_dim"), nb::arg("end_dim"))
      .def("reshape",
           [](const Tensor& t, nb::args shape) {
             return with(t, t.view.reshape(to_shape(
                                nb::len(shape) == 1 ? nb::object(shape[0]) : nb::object(shape), "a shape")));
           })
      .def(
          "view", [](const Tensor& t, nb::handle dtype) { return with(t, t.view.view(to_dtype(dtype))); },
          nb::arg("dtype"))
      .def(
          "reinterpret_cast",
          [](const Tensor& t, nb::handle dtype) { return with(t, t.view.view(to_dtype(dtype))); },
          nb::arg("dtype"))
      .def("ap", &ap, nb::arg("pattern"), nb::arg("offset") = nb::none(),
           nb::arg("scalar_offset") = nb::none(), nb::arg("vector_offset") = nb::none(),
           nb::arg("indirect_dim") = 0, nb::arg("dtype") = nb::none())
      .def(
          "indirect",
          [](const Tensor& t, const Tensor& index, std::optional<std::int64_t> count) {
            check_owner(*t.trace, index.trace.get(), "tensor");
            if (!t.view.on_chip())
              bad_index("indirect on a tensor in HBM",
                        "indirect gathers free elements on chip; rows of HBM are "
                        "gathered by vector_select");
            return with(t, t.view.indirect(index.view, count.value_or(index.view.access().count())));
          },
          nb::arg("index"), nb::arg("num_elem") = nb::none());
}

}  // namespace

void check_inside(const Tensor& t) {
  if (t.empty_dim >= 0)
    bad_index(fmt::format("a view of `{}` without elements", base_of(t).name),
              "an operand has elements: leave the instruction out when there is nothing to do");
  if (!t.outside) return;
  const isa::Program& program = t.trace->kernel.program();
  const isa::Access& a = t.view.access();
  const isa::Tensor& base = program.tensors[a.tensor];
  const isa::Range range = element_range(program, a);
  refuse("nki.R12",
         fmt::format("elements {} to {} of `{}`, which has {}{}", range.min, range.max, base.name,
                     base.bytes_per_partition() / size_bytes(a.dtype),
                     t.view.on_chip()
                         ? fmt::format(" per partition, partitions {} to {} of {}", a.partition.constant,
                                       a.partition.constant + a.rows() - 1, base.partitions())
                         : ""),
         "the last element is offset + sum of step * (num - 1)");
}

void bind_tensor(nb::module_& m) {
  nb::class_<DynamicSlice>(m, "DynamicSlice")
      .def("__init__", [](DynamicSlice* s, nb::object start, std::int64_t size) {
        new (s) DynamicSlice{std::move(start), size};
      });
  nb::class_<Tensor> cls(m, "NkiTensor",
                         "A tensor of a kernel: storage seen through shape, strides and offset.");
  bind_attributes(cls);
  bind_views(cls);
  m.def(
      "new_tensor",
      [](nb::handle shape, nb::handle dtype, nb::handle buffer, std::string name, nb::handle address,
         const std::string& role) {
        Trace& trace = current_trace("nl.ndarray");
        std::optional<isa::Address> place;
        if (!address.is_none()) {
          const isa::Shape two = to_shape(address, "an address");
          if (two.size() != 2) bad_index("an address that is no pair", "address=(partition, byte offset)");
          place = isa::Address{two[0], two[1]};
        }
        const isa::Role r = role == "inout" ? isa::Role::inout : isa::Role::internal;
        Memory memory = to_memory(buffer);
        if (r == isa::Role::inout && memory == Memory::private_hbm)
          memory = Memory::hbm;  // one word in Python
        return trace.tensor(memory, r, to_shape(shape, "a shape"), to_dtype(dtype), std::move(name), place);
      },
      nb::arg("shape"), nb::arg("dtype"), nb::arg("buffer"), nb::arg("name") = "",
      nb::arg("address") = nb::none(), nb::arg("role") = "internal");
}

}  // namespace kiln::python
