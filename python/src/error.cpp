#include "python/src/error.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/src/location.h"
#include "python/src/settings.h"

namespace kiln::python {
namespace {

Diagnostic make_diagnostic(const std::string& category, std::string code, std::string rule, std::string found,
                           std::string help) {
  Diagnostic d;
  for (int c = 0; c <= static_cast<int>(Category::internal); ++c) {
    if (category == name(static_cast<Category>(c))) d.category = static_cast<Category>(c);
  }
  d.code = std::move(code);
  d.rule = std::move(rule);
  d.found = std::move(found);
  d.help = std::move(help);
  return d;
}

}  // namespace

void refuse(const Rule& rule, std::string found, std::string help, Category category, std::string allowed) {
  raise(nki_rules::kTable, rule,
        {.found = std::move(found), .allowed = std::move(allowed), .help = std::move(help), .category = category});
}

// The builder names the C++ line that called it, which is ours: the user's line is the Python one.
void locate_here(Diagnostic& diagnostic) {
  if (!diagnostic.loc.known() || diagnostic.loc.file.ends_with(".cpp")) diagnostic.loc = current_location();
}

void set_python_error(std::vector<Diagnostic> diagnostics) {
  for (Diagnostic& d : diagnostics) locate_here(d);
  if (!settings().make_error) {
    PyErr_SetString(PyExc_RuntimeError, to_text(diagnostics).c_str());
    return;
  }
  try {
    nb::object exception = settings().make_error(nb::cast(std::move(diagnostics)));
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  } catch (nb::python_error& e) {
    e.restore();
  }
}

void bind_errors(nb::module_& m) {
  nb::class_<SourceLoc>(m, "SourceLoc")
      .def_ro("file", &SourceLoc::file)
      .def_ro("line", &SourceLoc::line)
      .def_ro("stack", &SourceLoc::stack)
      .def("__str__", [](const SourceLoc& l) { return to_string(l); });
  nb::class_<Note>(m, "Note").def_ro("text", &Note::text).def_ro("loc", &Note::loc);
  nb::class_<Diagnostic>(m, "Diagnostic")
      .def_prop_ro("severity", [](const Diagnostic& d) { return std::string(name(d.severity)); })
      .def_prop_ro("category", [](const Diagnostic& d) { return std::string(name(d.category)); })
      .def_ro("code", &Diagnostic::code)
      .def_ro("rule", &Diagnostic::rule)
      .def_ro("loc", &Diagnostic::loc)
      .def_ro("column", &Diagnostic::column)
      .def_ro("context", &Diagnostic::context)
      .def_ro("operand", &Diagnostic::operand)
      .def_ro("found", &Diagnostic::found)
      .def_ro("allowed", &Diagnostic::allowed)
      .def_ro("help", &Diagnostic::help)
      .def_ro("notes", &Diagnostic::notes)
      .def(
          "underline",
          [](Diagnostic& d, int column, int width) {
            d.column = column;
            d.width = width;
          },
          nb::arg("column"), nb::arg("width"), "Says which bytes of the source line are wrong, from column 1 on.")
      .def("to_json", [](const Diagnostic& d) { return to_json(d); })
      .def("__str__", [](const Diagnostic& d) { return to_text(d); });
  m.def("diagnostic_at", [](std::string category, std::string code, std::string rule, std::string found,
                            std::string help, std::string file, int line) {
    Diagnostic d = make_diagnostic(category, std::move(code), std::move(rule), std::move(found), std::move(help));
    d.loc = {std::move(file), line, {}};
    return d;
  });
  m.def(
      "rules",
      [] {
        nb::dict rules;
        for (const Rule& rule : nki_rules::kRules)
          rules[nb::str(code_of(nki_rules::kTable, rule).c_str())] = nb::str(rule.text);
        return rules;
      },
      "The rules that native code raises, by label.");
  m.def(
      "diagnostic",
      [](std::string category, std::string code, std::string rule, std::string found, std::string help) {
        Diagnostic d = make_diagnostic(category, std::move(code), std::move(rule), std::move(found), std::move(help));
        locate_here(d);
        return d;
      },
      nb::arg("category"), nb::arg("code"), nb::arg("rule"), nb::arg("found"), nb::arg("help"));
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const Error& e) {
      set_python_error(e.diagnostics());
    }
  });
}

}  // namespace kiln::python
