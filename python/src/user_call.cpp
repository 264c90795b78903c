// Callables that stand between the user's code and ours. Python adds a line to a traceback for each frame
// that an exception leaves, but none for a C function: what passes through here shows the user's frames only.
#include "python/src/bindings.h"

namespace kiln::python {
namespace {

// self is (function, trim): trim(exception) returns the traceback to show, or None.
PyObject* call_user(PyObject* self, PyObject* args, PyObject* kwargs) {
  PyObject* result = PyObject_Call(PyTuple_GET_ITEM(self, 0), args, kwargs);
  if (result) return result;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback) PyException_SetTraceback(value, traceback);
  PyObject* trimmed = PyObject_CallOneArg(PyTuple_GET_ITEM(self, 1), value);
  if (trimmed) {
    Py_XSETREF(traceback, trimmed == Py_None ? nullptr : Py_NewRef(trimmed));
    PyException_SetTraceback(value, trimmed);
    Py_DECREF(trimmed);
  } else {
    PyErr_Clear();  // the error itself matters more than how it is shown
  }
  PyErr_Restore(type, value, traceback);
  return nullptr;
}

PyMethodDef call_def = {"call", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call_user)),
                        METH_VARARGS | METH_KEYWORDS, nullptr};

}  // namespace

void bind_user_call(nb::module_& m) {
  m.def(
      "user_call",
      [](nb::object function, nb::object trim) {
        nb::tuple self = nb::make_tuple(function, trim);
        nb::object plain = nb::steal(PyCFunction_New(&call_def, self.ptr()));
        return nb::steal(PyInstanceMethod_New(plain.ptr()));
      },
      nb::arg("function"), nb::arg("trim"),
      "The function as a method of a class, whose exceptions carry the traceback that trim(exception) "
      "returns.");
}

}  // namespace kiln::python
