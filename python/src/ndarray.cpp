// nl.ndarray: the type of the class, which makes tensors when the class is called. Kernels make a tile for every other
// instruction, so the usual call binds its arguments here; all others go through __new__ of the class.
#include <structmember.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>

#include "python/src/instance.h"
#include "python/src/tensor.h"

namespace kiln::python {
namespace {
namespace ndarrays {  // other types of Python have slots, too

struct Given {
  PyObject* value[3] = {};  // shape, dtype, buffer
};
PyObject* names[3];

// False for a call that is not the usual one.
bool bind(PyObject* const* args, Py_ssize_t count, PyObject* keywords, Given& given) {
  if (count > 3) return false;
  std::copy_n(args, count, given.value);
  const Py_ssize_t named = keywords ? PyTuple_GET_SIZE(keywords) : 0;
  for (Py_ssize_t i = 0; i < named; ++i) {
    const auto* const name = std::find(std::begin(names), std::end(names), PyTuple_GET_ITEM(keywords, i));
    if (name == std::end(names) || given.value[name - names]) return false;
    given.value[name - names] = args[count + i];
  }
  return given.value[0] && given.value[1];
}

// As type.__call__ takes it.
nb::object call_type(PyObject* cls, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  nb::list positional;
  nb::dict named;
  for (Py_ssize_t i = 0; i < count; ++i) positional.append(nb::handle(args[i]));
  for (Py_ssize_t i = 0; keywords && i < PyTuple_GET_SIZE(keywords); ++i)
    named[nb::handle(PyTuple_GET_ITEM(keywords, i))] = nb::handle(args[count + i]);
  nb::object made = nb::steal(PyType_Type.tp_call(cls, nb::tuple(positional).ptr(), named.ptr()));
  if (!made) throw nb::python_error();
  return made;
}

PyObject* call(PyObject* cls, PyObject* const* args, std::size_t flags, PyObject* keywords) {
  const Py_ssize_t count = PyVectorcall_NARGS(flags);
  return returned([&] {
    Given given;
    if (!bind(args, count, keywords, given)) return call_type(cls, args, count, keywords);
    const auto& [shape, dtype, buffer] = given.value;
    current_trace("nl.ndarray");
    const Memory memory = buffer ? to_memory(buffer) : Memory::sbuf;
    return new_tensor(memory, isa::Role::internal, shape, dtype, nb::none(), std::nullopt);
  });
}

// Of the class: it is called as C functions are.
int init(PyObject* cls, PyObject* args, PyObject* kwargs) {
  const int result = PyType_Type.tp_init(cls, args, kwargs);
  reinterpret_cast<PyTypeObject*>(cls)->tp_vectorcall = call;
  return result;
}

PyObject* is_instance(PyObject*, PyObject* value) { return PyBool_FromLong(nb::isinstance<Tensor>(nb::handle(value))); }

PyMethodDef methods[] = {{"__instancecheck__", is_instance, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};
PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET,
                          static_cast<Py_ssize_t>(offsetof(PyTypeObject, tp_vectorcall)), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};
PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                       {Py_tp_init, reinterpret_cast<void*>(init)},
                       {Py_tp_methods, methods},
                       {Py_tp_members, members},
                       {0, nullptr}};
PyType_Spec spec = {"kiln._kiln.NdarrayType", 0, 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_VECTORCALL, slots};

}  // namespace ndarrays
}  // namespace

void bind_ndarray(nb::module_& m) {
  const char* const words[] = {"shape", "dtype", "buffer"};
  for (std::size_t i = 0; i < std::size(words); ++i) ndarrays::names[i] = PyUnicode_InternFromString(words[i]);
  const nb::object bases = nb::make_tuple(nb::handle(reinterpret_cast<PyObject*>(&PyType_Type)));
  const nb::object type = nb::steal(PyType_FromSpecWithBases(&ndarrays::spec, bases.ptr()));
  if (!type) throw nb::python_error();
  m.attr("NdarrayType") = type;
}

}  // namespace kiln::python
