// Objects of Python from values of C++, for what is made once or more for each instruction of a kernel.
#pragma once

#include <exception>
#include <new>
#include <utility>

#include "kiln/base/error.h"
#include "python/src/bindings.h"
#include "python/src/error.h"

namespace kiln::python {

// As nb::cast of a value, without asking first whether it has an object already.
template <class T>
nb::object instance_of(T value) {
  static const nb::handle type = nb::type<T>();
  nb::object made = nb::inst_alloc(type);
  new (nb::inst_ptr<T>(made)) T(std::move(value));
  nb::inst_mark_ready(made);
  return made;
}

// What a C function gives back to Python: the object that `fn` returns, or null with the error set.
template <class Fn>
PyObject* returned(Fn&& fn) noexcept {
  try {
    return fn().release().ptr();
  } catch (const Error& e) {
    set_python_error(e.diagnostics());
  } catch (nb::python_error& e) {
    e.restore();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  }
  return nullptr;
}

}  // namespace kiln::python
