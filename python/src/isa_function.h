// The type of the functions of nki.isa: called like a built-in function, and with a signature that `inspect` can ask
// for, whose defaults are the objects of the package.
#pragma once

#include <string>

#include "python/src/bindings.h"

namespace kiln::python {

// What a call does: the function's number, then arguments as METH_FASTCALL | METH_KEYWORDS has them.
using IsaEntry = PyObject* (*)(std::size_t number, PyObject* const* args, Py_ssize_t count, PyObject* keywords);

// A function of nki.isa.
nb::object make_isa_function(IsaEntry entry, std::size_t number, const std::string& name, const std::string& doc);

}  // namespace kiln::python
