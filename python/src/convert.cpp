#include "python/src/convert.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include "python/src/error.h"
#include "python/src/settings.h"

namespace kiln::python {

std::string text_of(nb::handle str) {
  Py_ssize_t size = 0;
  if (const char* text = PyUnicode_AsUTF8AndSize(str.ptr(), &size)) return {text, static_cast<std::size_t>(size)};
  PyErr_Clear();
  const nb::object bytes = nb::steal(PyUnicode_AsEncodedString(str.ptr(), "utf-8", "backslashreplace"));
  if (!bytes) {
    PyErr_Clear();
    return "?";
  }
  return {PyBytes_AS_STRING(bytes.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(bytes.ptr()))};
}

std::string kind_of(nb::handle value) { return text_of(nb::type_name(value.type())); }

std::string to_name(nb::handle value, const char* what) {
  if (!PyUnicode_Check(value.ptr()))
    refuse(nki_rules::kName, fmt::format("{} is a {}", what, kind_of(value)), "pass a string");
  if (!PyUnicode_AsUTF8(value.ptr())) {
    PyErr_Clear();
    refuse(nki_rules::kName, fmt::format("{} is '{}'", what, text_of(value)),
           "leave out the lone surrogates: they come from bytes that were no UTF-8");
  }
  return text_of(value);
}

namespace {

// np.dtype("float32"), np.float32, ml_dtypes.bfloat16.
bool is_numpy_dtype(nb::handle value) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  if (nb::isinstance(value, numpy.attr("dtype"))) return true;
  const nb::object generic = numpy.attr("generic");
  return PyType_Check(value.ptr()) &&
         PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(value.ptr()), reinterpret_cast<PyTypeObject*>(generic.ptr()));
}

// The name of a dtype that is no str: its `name`, or its `__name__`; "" when it has none.
std::string name_of_dtype(nb::handle value) {
  for (const char* attribute : {"name", "__name__"}) {
    const nb::object found = nb::getattr(value, attribute, nb::none());
    if (nb::isinstance<nb::str>(found)) return text_of(found);
  }
  return "";
}

}  // namespace

DType to_dtype(nb::handle value) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (value.is(settings().dtypes[i])) return static_cast<DType>(i);
  }
  std::string text = nb::isinstance<nb::str>(value) ? text_of(value) : name_of_dtype(value);
  if (text == "bool") text = "bool_";
  DType dtype;
  const bool known = parse_dtype(text, dtype);
  if (is_numpy_dtype(value))
    refuse(nki_rules::kNumpyDtype, fmt::format("NumPy's dtype `{}`", text),
           known ? fmt::format("write nl.{}", text) : "write a dtype of nki.language; NKI has no 64-bit types");
  if (known) return dtype;
  refuse(nki_rules::kDtype, fmt::format("`{}` as a dtype", text.empty() ? kind_of(value) : text),
         "use nl.float32, nl.bfloat16, nl.int32, ...; NKI has no 64-bit types");
}

nb::object dtype_object(DType dtype) { return nb::borrow(settings().dtypes[static_cast<int>(dtype)]); }

Memory to_memory(nb::handle value) {
  for (int i = kMemoryCount - 1; i >= 0; --i) {
    if (value.is(settings().memories[i])) return static_cast<Memory>(i);
  }
  refuse(nki_rules::kBuffer,
         fmt::format("{} as a buffer",
                     nb::isinstance<nb::str>(value) ? "the string `" + text_of(value) + "`" : "a " + kind_of(value)),
         "write buffer=nl.sbuf; strings are refused since NKI 0.3.0");
}

nb::object memory_object(Memory memory) { return nb::borrow(settings().memories[static_cast<int>(memory)]); }

std::optional<std::int64_t> as_int(nb::handle value) {
  PyObject* p = value.ptr();
  if (PyLong_Check(p)) {
    if (PyBool_Check(p)) return std::nullopt;
    int overflow = 0;
    const std::int64_t v = PyLong_AsLongLongAndOverflow(p, &overflow);
    return overflow ? std::nullopt : std::optional(v);
  }
  if (PyFloat_Check(p) || !PyIndex_Check(p)) return std::nullopt;
  nb::object index = nb::steal(PyNumber_Index(p));
  if (!index) {
    PyErr_Clear();
    return std::nullopt;
  }
  return as_int(index);
}

std::string too_large(nb::handle value) {
  if (!PyLong_Check(value.ptr()) || PyBool_Check(value.ptr()) || as_int(value)) return "";
  return fmt::format("is an int of {} bits", nb::cast<std::int64_t>(value.attr("bit_length")()));
}

std::optional<double> as_real(nb::handle value) {
  PyObject* p = value.ptr();
  if (PyFloat_Check(p)) return PyFloat_AS_DOUBLE(p);
  if (nb::isinstance<Tensor>(value) || nb::isinstance<nb::str>(value) || !PyNumber_Check(p)) return std::nullopt;
  if (nb::hasattr(value, "shape") && nb::len(nb::object(value.attr("shape"))) != 0) return std::nullopt;
  nb::object real = nb::steal(PyNumber_Float(p));
  if (!real) {
    PyErr_Clear();
    return std::nullopt;
  }
  return PyFloat_AS_DOUBLE(real.ptr());
}

bool is_sequence(nb::handle value) {
  if (!PySequence_Check(value.ptr())) return false;
  if (PySequence_Size(value.ptr()) >= 0) return true;
  PyErr_Clear();
  return false;
}

std::int64_t to_int(nb::handle value, const char* what) {
  if (const auto i = as_int(value)) return *i;
  if (const std::string large = too_large(value); !large.empty())
    refuse(nki_rules::kIntegers, fmt::format("{} {}", what, large), "pass a smaller int", Category::invalid,
           kAllowedInts);
  refuse(nki_rules::kIntegers, fmt::format("{} is a {}", what, kind_of(value)),
         nb::isinstance<Register>(value) || nb::isinstance<Tensor>(value)
             ? "a value on the device cannot size a tile: use .ap(scalar_offset=...) or .select(dim, reg)"
             : "pass an int");
}

isa::Shape to_shape(nb::handle value, const char* what) {
  isa::Shape shape;
  if (as_int(value) || !too_large(value).empty()) return {to_int(value, what)};
  if (!is_sequence(value) || nb::isinstance<nb::str>(value))
    refuse(nki_rules::kIntegers, fmt::format("{} is a {}", what, kind_of(value)), "pass a tuple of ints");
  for (nb::handle item : value) shape.push_back(to_int(item, what));
  return shape;
}

isa::IntOrReg to_int_or_reg(Trace& trace, nb::handle value) {
  if (nb::isinstance<Register>(value)) {
    const auto& reg = nb::cast<const Register&>(value);
    check_owner(trace, reg.trace.get(), "register");
    return isa::Reg{reg.id};
  }
  return to_int(value, "an integer or register");
}

nb::handle enum_class(isa::AttrType type) {
  static const auto name_of = [](isa::AttrType t) -> std::string_view {
    switch (t) {
#define KILN_ENUM(type, vendor, ...) \
  case isa::AttrType::type:          \
    return #vendor;
#include "kiln/isa/enums.def"
#undef KILN_ENUM
      case isa::AttrType::Engine:
        return "engine";
      default:
        return "";
    }
  };
  const auto it = settings().enums.find(name_of(type));
  return it == settings().enums.end() ? nb::handle() : it->second;
}

void bind_convert(nb::module_& m) {
  m.def("dtype_names", [] {
    nb::list names;
    for (const DTypeInfo& i : kDTypes) names.append(nb::str(i.name.data(), i.name.size()));
    return names;
  });
  m.def("dtype_size", [](nb::handle dtype) { return size_bytes(to_dtype(dtype)); });
  m.def("enums", [] {
    nb::dict out;
#define KILN_ENUM(type, vendor, ...)                                       \
  {                                                                        \
    nb::list members;                                                      \
    for (std::string_view member : isa::enum_members(isa::AttrType::type)) \
      members.append(nb::str(member.data(), member.size()));               \
    out[#vendor] = members;                                                \
  }
#include "kiln/isa/enums.def"
#undef KILN_ENUM
    nb::list engines;
    for (std::string_view member : isa::enum_members(isa::AttrType::Engine))
      engines.append(nb::str(member.data(), member.size()));
    out["engine"] = engines;
    return out;
  });
}

}  // namespace kiln::python
