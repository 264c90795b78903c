#include "python/src/isa_function.h"

#include <nanobind/stl/string.h>
#include <structmember.h>

#include <cstddef>

#include "python/src/settings.h"

namespace kiln::python {
namespace {

struct IsaFunction {
  PyObject_HEAD  //
      vectorcallfunc call;
  IsaEntry entry;
  std::size_t number;
  PyObject* name;
  PyObject* doc;
};

IsaFunction* as_function(PyObject* self) { return reinterpret_cast<IsaFunction*>(self); }

PyObject* call(PyObject* self, PyObject* const* args, std::size_t count, PyObject* keywords) {
  const IsaFunction* f = as_function(self);
  return f->entry(f->number, args, PyVectorcall_NARGS(count), keywords);
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Py_DECREF(as_function(self)->name);
  Py_DECREF(as_function(self)->doc);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* repr(PyObject* self) { return PyUnicode_FromFormat("<function nki.isa.%U>", as_function(self)->name); }

// As a built-in function, it is no method of a class that it is an attribute of.
PyObject* get(PyObject* self, PyObject*, PyObject*) { return Py_NewRef(self); }

PyObject* get_name(PyObject* self, void*) { return Py_NewRef(as_function(self)->name); }
PyObject* get_doc(PyObject* self, void*) { return Py_NewRef(as_function(self)->doc); }
PyObject* get_module(PyObject*, void*) { return PyUnicode_FromString("nki.isa"); }
PyObject* get_signature(PyObject* self, void*) {
  if (!settings().isa_signature) Py_RETURN_NONE;
  return PyObject_CallOneArg(settings().isa_signature.ptr(), as_function(self)->name);
}
PyObject* reduce(PyObject* self, PyObject*) { return Py_NewRef(as_function(self)->name); }

PyGetSetDef attributes[] = {{"__name__", get_name, nullptr, nullptr, nullptr},
                            {"__qualname__", get_name, nullptr, nullptr, nullptr},
                            {"__doc__", get_doc, nullptr, nullptr, nullptr},
                            {"__module__", get_module, nullptr, nullptr, nullptr},
                            {"__signature__", get_signature, nullptr, nullptr, nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, static_cast<Py_ssize_t>(offsetof(IsaFunction, call)), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                       {Py_tp_repr, reinterpret_cast<void*>(repr)},
                       {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                       {Py_tp_descr_get, reinterpret_cast<void*>(get)},
                       {Py_tp_getset, attributes},
                       {Py_tp_methods, methods},
                       {Py_tp_members, members},
                       {0, nullptr}};
PyType_Spec spec = {"kiln._kiln.IsaFunction", sizeof(IsaFunction), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

}  // namespace

nb::object make_isa_function(IsaEntry entry, std::size_t number, const std::string& name, const std::string& doc) {
  static PyObject* type = PyType_FromSpec(&spec);
  if (!type) throw nb::python_error();
  PyObject* made = reinterpret_cast<PyTypeObject*>(type)->tp_alloc(reinterpret_cast<PyTypeObject*>(type), 0);
  if (!made) throw nb::python_error();
  IsaFunction* f = as_function(made);
  f->call = call;
  f->entry = entry;
  f->number = number;
  f->name = PyUnicode_InternFromString(name.c_str());
  f->doc = PyUnicode_FromString(doc.c_str());
  return nb::steal(made);
}

}  // namespace kiln::python
