// Python values as values of a program: dtypes, memories, numbers, registers. The Python objects of dtypes,
// memory regions and enumerations are made by the package and registered here once.
#pragma once

#include <optional>
#include <string>

#include "kiln/isa/table.h"
#include "python/src/bindings.h"
#include "python/src/trace.h"

namespace kiln::python {

// The name of a value's type, for messages.
std::string kind_of(nb::handle value);

// nl.float32, "float32", np.float32, np.dtype("float32").
DType to_dtype(nb::handle value);
nb::object dtype_object(DType dtype);

// nl.sbuf and the others; strings are refused.
Memory to_memory(nb::handle value);
nb::object memory_object(Memory memory);

// An int (also of NumPy), or nothing. bool is no int here.
std::optional<std::int64_t> as_int(nb::handle value);
std::optional<double> as_real(nb::handle value);
std::int64_t to_int(nb::handle value, const char* what);
isa::Shape to_shape(nb::handle value, const char* what);

isa::IntOrReg to_int_or_reg(Trace& trace, nb::handle value);

// The Python class of an enumeration of nki.isa by its vendor name; null when it has not been registered.
PyObject* enum_class(isa::AttrType type);

void bind_convert(nb::module_& m);

}  // namespace kiln::python
