// Python values as values of a program: dtypes, memories, numbers, registers. The Python objects of dtypes,
// memory regions and enumerations are made by the package (settings.h).
#pragma once

#include <optional>
#include <string>

#include "kiln/isa/table.h"
#include "python/src/bindings.h"
#include "python/src/trace.h"

namespace kiln::python {

// The name of a value's type, for messages.
std::string kind_of(nb::handle value);

// A str as UTF-8. Lone surrogates, which UTF-8 has not, become the escapes that Python writes for them.
std::string text_of(nb::handle str);

// What a user names something; refuses what is no str, and lone surrogates.
std::string to_name(nb::handle value, const char* what);

// nl.float32 or "float32". NumPy's dtypes are refused, as in the vendor's compiler.
DType to_dtype(nb::handle value);
nb::object dtype_object(DType dtype);

// nl.sbuf and the others; strings are refused.
Memory to_memory(nb::handle value);
nb::object memory_object(Memory memory);

// An int (also of NumPy) of at most 64 bits, or nothing. bool is no int here.
std::optional<std::int64_t> as_int(nb::handle value);
// "is an int of 71 bits" for an int that 64 bits do not hold, and what is allowed instead; else empty.
std::string too_large(nb::handle value);
inline constexpr const char* kAllowedInts = "ints from -2^63 to 2^63 - 1";
std::optional<double> as_real(nb::handle value);
// Whether it has a length and elements; an array of no dimensions has not, though Python calls it a sequence.
bool is_sequence(nb::handle value);
std::int64_t to_int(nb::handle value, const char* what);
isa::Shape to_shape(nb::handle value, const char* what);

// A parameter that Python's signatures show as an int. `to_int` converts it, so that what is none is refused
// as elsewhere.
struct IntArg {
  nb::handle value;
};
inline std::int64_t to_int(IntArg arg, const char* what) { return to_int(arg.value, what); }

// A parameter that Python's signatures show as a str: the text of any.
struct TextArg {
  std::string value;
};

isa::IntOrReg to_int_or_reg(Trace& trace, nb::handle value);

// The Python class of an enumeration of nki.isa; null when the package has none.
nb::handle enum_class(isa::AttrType type);

void bind_convert(nb::module_& m);

}  // namespace kiln::python

template <>
struct nanobind::detail::type_caster<kiln::python::IntArg> {
  NB_TYPE_CASTER(kiln::python::IntArg, const_name("int"))
  bool from_python(handle source, std::uint8_t, cleanup_list*) noexcept {
    value.value = source;
    return true;
  }
};

template <>
struct nanobind::detail::type_caster<kiln::python::TextArg> {
  NB_TYPE_CASTER(kiln::python::TextArg, const_name("str"))
  bool from_python(handle source, std::uint8_t, cleanup_list*) noexcept {
    if (!PyUnicode_Check(source.ptr())) return false;
    value.value = kiln::python::text_of(source);
    return true;
  }
};
