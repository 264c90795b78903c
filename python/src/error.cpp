#include "python/src/error.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "kiln/base/terminal.h"
#include "python/src/convert.h"
#include "python/src/location.h"
#include "python/src/settings.h"

namespace kiln::python {
namespace {

Category category_named(const std::string& text) {
  for (int c = 0; c <= static_cast<int>(Category::internal); ++c) {
    if (text == name(static_cast<Category>(c))) return static_cast<Category>(c);
  }
  return Category::invalid;
}

using Facts = std::vector<std::pair<std::string, std::string>>;

// Without a file the place is the user's line that is running; an empty file means none.
Diagnostic make_diagnostic(const std::string& category, std::string code, std::string rule, TextArg found, TextArg help,
                           std::optional<TextArg> file, int line, const std::string& severity, std::string allowed,
                           const Facts& facts, int column, TextArg source, std::string mark) {
  Diagnostic d{.severity = severity == name(Severity::warning) ? Severity::warning : Severity::error,
               .category = category_named(category),
               .code = std::move(code),
               .rule = std::move(rule),
               .column = column,
               .found = std::move(found.value),
               .allowed = std::move(allowed),
               .help = std::move(help.value),
               .source = std::move(source.value),
               .mark = std::move(mark)};
  for (const auto& [label, text] : facts) d.facts.push_back({label, text});
  if (file) {
    d.loc = {std::move(file->value), line, {}};
  } else {
    locate_here(d);
  }
  return d;
}

// Adds what Python knows of the line: its text, where no file has it, and which operand is meant.
void complete(nb::handle diagnostic) {
  if (settings().complete_diagnostic) settings().complete_diagnostic(diagnostic);
}

std::string shown(nb::handle self, bool colour) {
  complete(self);
  return to_text(nb::cast<const Diagnostic&>(self), {.colour = colour});
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
      .def(
          "add_note",
          [](Diagnostic& d, std::string text, std::string file, int line) {
            d.notes.push_back({.text = std::move(text), .loc = {.file = std::move(file), .line = line}});
          },
          nb::arg("text"), nb::arg("file"), nb::arg("line"))
      .def_rw("source", &Diagnostic::source, "The line, where it is not to be read from the file.")
      .def_prop_ro("facts",
                   [](const Diagnostic& d) {
                     Facts facts;
                     for (const Fact& fact : d.facts) facts.emplace_back(fact.label, fact.text);
                     return facts;
                   })
      .def("to_json",
           [](nb::handle self) {
             complete(self);
             return to_json(nb::cast<const Diagnostic&>(self));
           })
      .def("text", &shown, nb::arg("colour") = false, "What everything that shows a diagnostic shows.")
      .def("__str__", [](nb::handle self) { return shown(self, false); });
  m.def("wants_colour", &wants_colour, nb::arg("fd"), "Whether text for this file descriptor is to be coloured.");
  m.def("diagnostic", &make_diagnostic, nb::arg("category"), nb::arg("code"), nb::arg("rule"), nb::arg("found"),
        nb::arg("help"), nb::kw_only(), nb::arg("file") = nb::none(), nb::arg("line") = 0,
        nb::arg("severity") = name(Severity::error), nb::arg("allowed") = "", nb::arg("facts") = Facts(),
        nb::arg("column") = 0, nb::arg("source") = "", nb::arg("mark") = "");
  m.def(
      "rules",
      [] {
        nb::dict rules;
        for (const Rule& rule : nki_rules::kRules)
          rules[nb::str(code_of(nki_rules::kTable, rule).c_str())] = nb::str(rule.text);
        return rules;
      },
      "The rules that native code raises, by label.");
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const Error& e) {
      set_python_error(e.diagnostics());
    }
  });
}

}  // namespace kiln::python
