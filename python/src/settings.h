// What the package tells the native half when it is set up, in one call of _kiln.configure: its folder, and objects and
// functions of Python, which live as long as the interpreter.
#pragma once

#include <map>
#include <string>

#include "kiln/arch/arch.h"
#include "kiln/base/dtype.h"
#include "python/src/bindings.h"

namespace kiln::python {

struct Settings {
  std::string package_folder;         // frames of files below it are ours
  nb::handle root_code;               // of what calls kernels: the user's stack ends there
  nb::handle assigned_name;           // (code, byte in it) -> the variable that a call's result goes to
  nb::handle make_error;              // (diagnostics) -> the exception
  nb::handle complete_diagnostic;     // (diagnostic): adds the line and the operand
  nb::handle call_hint;               // (kind of mistake, function, parameter, value) -> help or None
  nb::handle older_call;              // (function, args, kwargs) -> what a call gives in an older NKI
  nb::handle isa_signature;           // (function) -> the inspect.Signature of a function of nki.isa
  nb::handle dtypes[kDTypeCount];     // in the order of DType
  nb::handle memories[kMemoryCount];  // in the order of Memory
  std::map<std::string, nb::handle, std::less<>> enums;  // the classes of nki.isa by their names
};

// Empty until the package has been set up.
const Settings& settings();

}  // namespace kiln::python
