// Frames of lines that are not running any more, so that a traceback can show them. It is how extension modules put
// lines of their own into tracebacks: a code object that has a place and no instructions, and a frame that never runs.
#include <nanobind/stl/string.h>

#include "python/src/bindings.h"

namespace kiln::python {
namespace {

nb::object frame_at(const std::string& file, const std::string& function, int line) {
  const nb::object code = nb::steal(reinterpret_cast<PyObject*>(PyCode_NewEmpty(file.c_str(), function.c_str(), line)));
  if (!code) throw nb::python_error();
  const nb::dict globals;
  PyFrameObject* frame =
      PyFrame_New(PyThreadState_Get(), reinterpret_cast<PyCodeObject*>(code.ptr()), globals.ptr(), nullptr);
  if (!frame) throw nb::python_error();
  return nb::steal(reinterpret_cast<PyObject*>(frame));
}

}  // namespace

void bind_frames(nb::module_& m) {
  m.def("frame_at", &frame_at, nb::arg("file"), nb::arg("function"), nb::arg("line"),
        "A frame that stands at a line of a function and never runs, for tracebacks.");
}

}  // namespace kiln::python
