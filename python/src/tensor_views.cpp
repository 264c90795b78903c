// The methods of NkiTensor that make views.
#include <fmt/format.h>
#include <nanobind/stl/optional.h>

#include "python/src/instance.h"
#include "python/src/tensor.h"

namespace kiln::python {
namespace {

Tensor vector_select(const Tensor& t, IntArg dim, const Tensor& index) {
  const int d = to_dim(t, dim);
  if (d != 0 || t.view.on_chip())
    bad_index(fmt::format("vector_select of dimension {}{}", d, t.view.on_chip() ? " on chip" : ""),
              "vector_select takes rows of dimension 0 of a tensor in HBM");
  for (int i = 1; i < t.view.rank(); ++i) {
    if (t.view.dim(i) > 1 && t.view.stride(i) > t.view.stride(0))
      bad_index(fmt::format("vector_select of dimension 0 with stride {}, dimension {} has {}", t.view.stride(0), i,
                            t.view.stride(i)),
                "rows have the largest stride: select them before permute");
  }
  check_owner(*t.trace, index.trace.get(), "tensor");
  return with(t, t.view.vector_offset(index.view));
}

Tensor permute(const Tensor& t, nb::handle dims) {
  std::vector<int> order;
  for (const std::int64_t d : to_shape(dims, "a permutation")) order.push_back(to_dim(t, d));
  return with(t, t.view.permute(order));
}

Tensor broadcast(const Tensor& t, IntArg dim, IntArg size) {
  return with(t, t.view.broadcast(to_dim(t, dim), to_int(size, "a size")));
}

Tensor expand_dim(const Tensor& t, IntArg dim) {
  const std::int64_t rank = t.view.rank(), d = to_int(dim, "a dimension"), at = d < 0 ? d + rank + 1 : d;
  if (at < 0 || at > rank)
    bad_index(fmt::format("a new dimension at {} of a tensor of {}", d, rank),
              fmt::format("it comes at {} to {}", -rank - 1, rank));
  return with(t, t.view.expand_dim(static_cast<int>(at)));
}

Tensor squeeze_dim(const Tensor& t, IntArg dim) { return with(t, t.view.squeeze_dim(to_dim(t, dim))); }

Tensor reshape_dim(const Tensor& t, IntArg dim, nb::handle shape) {
  const int d = to_dim(t, dim);
  isa::Shape sizes = to_shape(shape, "a shape");
  if (d == 0 && t.view.on_chip() && sizes.size() == 1 && (sizes[0] == t.view.dim(0) || sizes[0] == -1)) return t;
  std::int64_t known = 1, unknown = 0;
  for (const std::int64_t s : sizes) s == -1 ? ++unknown : known *= s;
  for (std::int64_t& s : sizes) {
    if (s == -1 && unknown == 1 && known > 0) s = t.view.dim(d) / known;
  }
  return with(t, t.view.reshape_dim(d, sizes));
}

Tensor flatten_dims(const Tensor& t, IntArg start, IntArg end) {
  return with(t, t.view.flatten_dims(to_dim(t, start), to_dim(t, end)));
}

// t.reshape(2, 3) or t.reshape((2, 3)).
Tensor reshape(const Tensor& t, nb::args shape) {
  const nb::object sizes = nb::len(shape) == 1 ? nb::object(shape[0]) : nb::object(shape);
  return with(t, t.view.reshape(to_shape(sizes, "a shape")));
}

Tensor view(const Tensor& t, nb::handle dtype) { return with(t, t.view.view(to_dtype(dtype))); }

Tensor indirect(const Tensor& t, const Tensor& index, std::optional<IntArg> count) {
  check_owner(*t.trace, index.trace.get(), "tensor");
  if (!t.view.on_chip())
    bad_index("indirect on a tensor in HBM",
              "indirect gathers free elements on chip; rows of HBM are gathered by vector_select");
  const std::int64_t n = count ? to_int(*count, "num_elem") : index.view.access().count();
  return with(t, t.view.indirect(index.view, n));
}

PyObject* subscript(PyObject* self, PyObject* key) {
  return returned([&] { return instance_of(get_item(*nb::inst_ptr<Tensor>(self), key)); });
}

}  // namespace

void bind_views(nb::class_<Tensor>& cls) {
  cls.def("__getitem__", &get_item, nb::arg("key").none())
      .def("slice", &slice, nb::arg("dim"), nb::arg("start"), nb::arg("end"), nb::arg("step") = 1,
           "Elements start, start + step, ... below end of a dimension.")
      .def("select", &select, nb::arg("dim"), nb::arg("index"),
           "One index of a dimension, which goes; an int, a register or a (1, 1) tile.")
      .def("vector_select", &vector_select, nb::arg("dim"), nb::arg("vector_offset"),
           "Rows of a tensor in HBM by the indices in a (P, 1) tile: partition p sees row vector_offset[p].")
      .def("permute", &permute, nb::arg("dims"),
           "The dimensions in another order; on chip the partition dimension stays first.")
      .def("broadcast", &broadcast, nb::arg("dim"), nb::arg("size"),
           "A dimension of size 1 repeated: every index sees the same elements.")
      .def("expand_dim", &expand_dim, nb::arg("dim"), "A new dimension of size 1.")
      .def("squeeze_dim", &squeeze_dim, nb::arg("dim"), "Without a dimension of size 1.")
      .def("reshape_dim", &reshape_dim, nb::arg("dim"), nb::arg("shape"),
           "One dimension split into several; one size may be -1.")
      .def("flatten_dims", &flatten_dims, nb::arg("start_dim"), nb::arg("end_dim"), "Neighbouring dimensions as one.")
      .def("reshape", &reshape, "Another shape of the same elements, where that needs no copy.")
      .def("rearrange", &rearrange, nb::arg("src"), nb::arg("dst"), nb::arg("fixed_sizes") = nb::none(),
           "Dimensions by name, split, permuted and merged: rearrange(('p', ('a', 'b')), ('p', 'b', 'a'), "
           "{'a': 4}).")
      .def("view", &view, nb::arg("dtype"), "The same bytes in another dtype; the last dimension scales.")
      .def("reinterpret_cast", &view, nb::arg("dtype"), "view, under its old name.")
      .def("ap", &ap, nb::arg("pattern"), nb::arg("offset") = nb::none(), nb::arg("scalar_offset") = nb::none(),
           nb::arg("vector_offset") = nb::none(), nb::arg("indirect_dim") = 0, nb::arg("dtype") = nb::none(),
           "Any pattern over the storage: [[step, size], ...] from an offset, in elements; a scalar_offset "
           "or vector_offset is added at run time, in steps of dimension indirect_dim.")
      .def("indirect", &indirect, nb::arg("index"), nb::arg("num_elem") = nb::none(),
           "Free elements by the indices in a tile, per group of partitions (trn3).");
  // t[key] itself goes without looking the method up, which takes longer than the rest.
  reinterpret_cast<PyTypeObject*>(cls.ptr())->tp_as_mapping->mp_subscript = subscript;
}

}  // namespace kiln::python
