// NkiTensor: how it is made, its attributes, and what its views must keep to.
#include "python/src/tensor.h"

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include "kiln/isa/text/print.h"
#include "python/src/convert.h"
#include "python/src/error.h"
#include "python/src/instance.h"

namespace kiln::python {
namespace {

using isa::View;

nb::tuple tuple_of(int count, auto&& item) {
  nb::tuple out = nb::steal<nb::tuple>(PyTuple_New(count));
  if (!out) throw nb::python_error();
  for (int i = 0; i < count; ++i) PyTuple_SET_ITEM(out.ptr(), i, nb::int_(item(i)).release().ptr());
  return out;
}

nb::tuple shape_of(const Tensor& t) {
  return tuple_of(t.view.rank(), [&](int i) { return i == t.empty_dim ? 0 : t.view.dim(i); });
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

std::optional<isa::Address> to_address(nb::handle value, Memory memory) {
  if (value.is_none()) return std::nullopt;
  const isa::Shape pair = to_shape(value, "an address");
  if (pair.size() != 2)
    refuse(nki_rules::kAddress, fmt::format("address={}", nb::repr(value).c_str()),
           "write address=(partition, byte offset)");
  if (is_hbm(memory))
    refuse(nki_rules::kAddress, fmt::format("an address of a tensor in {}", kiln::name(memory)),
           "leave address out: tensors in HBM have no place of their own");
  return isa::Address{pair[0], pair[1]};
}

void bind_attributes(nb::class_<Tensor>& cls) {
  cls.def_prop_ro(
         "shape", [](const Tensor& t) { return shape_of(t); },
         "The size of every dimension; on chip the first one counts partitions.")
      .def_prop_ro(
          "strides", [](const Tensor& t) { return tuple_of(t.view.rank(), [&](int i) { return t.view.stride(i); }); },
          "Elements from one index of a dimension to the next.")
      .def_prop_ro(
          "offset", [](const Tensor& t) { return t.view.offset(); },
          "Where the view starts, in elements of the tensor; without run-time parts.")
      .def_prop_ro(
          "dtype", [](const Tensor& t) { return dtype_object(t.view.dtype()); },
          "The dtype that the bytes are seen in.")
      .def_prop_ro(
          "buffer", [](const Tensor& t) { return memory_object(t.view.memory()); },
          "The memory: nl.sbuf, nl.psum, nl.private_hbm or nl.shared_hbm.")
      .def_prop_ro(
          "name", [](const Tensor& t) { return base_of(t).name; },
          "The name of the tensor, from name= or from the variable that it was assigned to.")
      .def_prop_ro(
          "ndim", [](const Tensor& t) { return t.view.rank(); }, "The number of dimensions.")
      .def_prop_ro(
          "size", [](const Tensor& t) { return t.empty_dim < 0 ? t.view.access().count() : 0; },
          "The number of elements.")
      .def_prop_ro(
          "address",
          [](const Tensor& t) -> nb::object {
            const auto& address = base_of(t).address;
            if (!address) return nb::none();
            return nb::make_tuple(address->partition, address->byte_offset);
          },
          "(partition, byte) of a tensor that was placed by hand, else None.")
      .def_prop_ro("tensor_id", [](const Tensor& t) { return t.view.tensor(); })
      .def_prop_ro("trace", [](const Tensor& t) { return t.trace; })
      .def(
          "get_pattern",
          [](const Tensor& t) {
            nb::list out;
            for (int i = 0; i < t.view.rank(); ++i) {
              nb::list pair;
              pair.append(t.view.stride(i));
              pair.append(t.view.dim(i));
              out.append(pair);
            }
            return out;
          },
          "[[stride, size], ...] of the dimensions, as ap takes them.")
      .def(
          "is_contiguous", [](const Tensor& t) { return is_contiguous(t.view); },
          "Whether the elements lie one after the other.")
      .def(
          "is_indirect", [](const Tensor& t) { return t.view.access().dynamic != isa::kNone; },
          "Whether the address has a part that is known at run time only.");
}

}  // namespace

void bad_index(std::string found, std::string help) { refuse(nki_rules::kIndexing, std::move(found), std::move(help)); }

int to_dim(const Tensor& t, std::int64_t dim) {
  if (dim < 0) dim += t.view.rank();
  if (dim < 0 || dim >= t.view.rank())
    bad_index(fmt::format("dimension {} of a tensor that has {} dimensions", dim, t.view.rank()),
              fmt::format("dimensions are 0 to {}", t.view.rank() - 1));
  return static_cast<int>(dim);
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

void check_inside(const Tensor& t) {
  if (t.empty_dim >= 0)
    bad_index(fmt::format("a view of `{}` without elements", base_of(t).name),
              "an operand has elements: leave the instruction out when there is nothing to do");
  if (!t.outside) return;
  const isa::Program& program = t.trace->kernel.program();
  const isa::Access& a = t.view.access();
  const isa::Tensor& base = program.tensors[a.tensor];
  const isa::Range range = element_range(program, a);
  refuse(nki_rules::kPattern,
         fmt::format("elements {} to {} of `{}`, which has {}{}", range.min, range.max, base.name,
                     base.bytes_per_partition() / size_bytes(a.dtype),
                     t.view.on_chip() ? fmt::format(" per partition, partitions {} to {} of {}", a.partition.constant,
                                                    a.partition.constant + a.rows() - 1, base.partitions())
                                      : ""),
         "the last element is offset + sum of step * (num - 1)");
}

nb::object new_tensor(Memory memory, isa::Role role, nb::handle shape, nb::handle dtype, nb::handle name,
                      std::optional<isa::Address> address) {
  Trace& trace = current_trace("nl.ndarray");
  return instance_of(trace.tensor(memory, role, to_shape(shape, "a shape"), to_dtype(dtype),
                                  name.is_none() ? "" : to_name(name, "the name of a tensor"), address));
}

void bind_tensor(nb::module_& m) {
  bind_dynamic_slice(m);
  nb::class_<Tensor> cls(m, "NkiTensor", "A tensor of a kernel: storage seen through shape, strides and offset.");
  cls.def("__init__", [](Tensor*, nb::args, nb::kwargs) {
    refuse(nki_rules::kNotBuilt, "NkiTensor(shape, dtype, storage)",
           "make tensors with nl.ndarray(shape, dtype, buffer), and views of them with their methods",
           Category::not_yet);
  });
  bind_attributes(cls);
  bind_views(cls);
  bind_ndarray(m);
  m.def(
      "new_tensor",
      [](nb::handle shape, nb::handle dtype, nb::handle buffer, nb::handle name, nb::handle address, nb::str role) {
        current_trace("nl.ndarray");
        const bool is_inout = PyUnicode_CompareWithASCIIString(role.ptr(), "inout") == 0;
        const isa::Role r = is_inout ? isa::Role::inout : isa::Role::internal;
        Memory memory = to_memory(buffer);
        const std::optional<isa::Address> place = to_address(address, memory);
        if (r == isa::Role::inout && memory == Memory::private_hbm) memory = Memory::hbm;  // one word in Python
        return new_tensor(memory, r, shape, dtype, name, place);
      },
      nb::arg("shape").none(), nb::arg("dtype").none(), nb::arg("buffer").none(), nb::arg("name").none() = "",
      nb::arg("address") = nb::none(), nb::arg("role") = "internal");
}

}  // namespace kiln::python
