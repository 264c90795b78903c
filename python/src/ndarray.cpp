// nl.ndarray: the type of the class, which makes tensors when the class is called. Kernels make a tile for every other
// instruction, so the usual call binds its arguments here; all others go through __new__ of the class.
#include <algorithm>
#include <optional>

#include "python/src/instance.h"
#include "python/src/tensor.h"

namespace kiln::python {
namespace {

struct Given {
  PyObject* value[3] = {};  // shape, dtype, buffer
};
PyObject* names[3];

// False for a call that is not the usual one.
bool bind(PyObject* args, PyObject* kwargs, Given& given) {
  const Py_ssize_t count = PyTuple_GET_SIZE(args);
  if (count > 3) return false;
  for (Py_ssize_t i = 0; i < count; ++i) given.value[i] = PyTuple_GET_ITEM(args, i);
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; kwargs && PyDict_Next(kwargs, &at, &key, &value);) {
    PyObject** const slot = std::find(std::begin(names), std::end(names), key) - std::begin(names) + given.value;
    if (slot == std::end(given.value) || *slot) return false;
    *slot = value;
  }
  return given.value[0] && given.value[1];
}

PyObject* call(PyObject* cls, PyObject* args, PyObject* kwargs) {
  Given given;
  if (!bind(args, kwargs, given)) return PyType_Type.tp_call(cls, args, kwargs);
  const auto& [shape, dtype, buffer] = given.value;
  return returned([&] {
    current_trace("nl.ndarray");
    const Memory memory = buffer ? to_memory(buffer) : Memory::sbuf;
    return new_tensor(memory, isa::Role::internal, shape, dtype, nb::none(), std::nullopt);
  });
}

PyObject* is_instance(PyObject*, PyObject* value) { return PyBool_FromLong(nb::isinstance<Tensor>(nb::handle(value))); }

PyMethodDef methods[] = {{"__instancecheck__", is_instance, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};
PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(call)}, {Py_tp_methods, methods}, {0, nullptr}};
PyType_Spec spec = {"kiln._kiln.NdarrayType", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

}  // namespace

void bind_ndarray(nb::module_& m) {
  const char* const words[] = {"shape", "dtype", "buffer"};
  for (std::size_t i = 0; i < std::size(words); ++i) names[i] = PyUnicode_InternFromString(words[i]);
  const nb::object bases = nb::make_tuple(nb::handle(reinterpret_cast<PyObject*>(&PyType_Type)));
  const nb::object type = nb::steal(PyType_FromSpecWithBases(&spec, bases.ptr()));
  if (!type) throw nb::python_error();
  m.attr("NdarrayType") = type;
}

}  // namespace kiln::python
