#include "python/src/settings.h"

#include <nanobind/stl/string.h>

namespace kiln::python {
namespace {

Settings current;

nb::handle kept(nb::handle object) { return object.inc_ref(); }

void configure(std::string package_folder, nb::handle root_code, nb::handle assigned_name, nb::handle make_error,
               nb::handle complete_diagnostic, nb::handle call_hint, nb::handle older_call, nb::handle isa_signature,
               nb::sequence dtypes, nb::dict memories, nb::dict enums) {
  current.package_folder = std::move(package_folder);
  current.root_code = kept(root_code);
  current.assigned_name = kept(assigned_name);
  current.make_error = kept(make_error);
  current.complete_diagnostic = kept(complete_diagnostic);
  current.call_hint = kept(call_hint);
  current.older_call = kept(older_call);
  current.isa_signature = kept(isa_signature);
  int i = 0;
  for (nb::handle dtype : dtypes) current.dtypes[i++] = kept(dtype);
  for (auto [name, object] : memories) {
    Memory memory;
    if (parse_memory(nb::cast<std::string>(name), memory)) current.memories[static_cast<int>(memory)] = kept(object);
  }
  for (auto [name, cls] : enums) current.enums[nb::cast<std::string>(name)] = kept(cls);
}

}  // namespace

const Settings& settings() { return current; }

void bind_settings(nb::module_& m) {
  m.def("configure", &configure, nb::kw_only(), nb::arg("package_folder"), nb::arg("root_code"),
        nb::arg("assigned_name"), nb::arg("make_error"), nb::arg("complete_diagnostic"), nb::arg("call_hint"),
        nb::arg("older_call"), nb::arg("isa_signature"), nb::arg("dtypes"), nb::arg("memories"), nb::arg("enums"),
        "Tells the native half what it needs of Python: once, before the first kernel is traced.");
}

}  // namespace kiln::python
