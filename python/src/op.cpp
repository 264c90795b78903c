#include "python/src/op.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include "python/src/error.h"

namespace kiln::python {
namespace {

Op make_op(std::string name) {
  Op op;
  AluOp alu;
  ActFn act;
  if (parse_alu(name, alu)) op.alu = static_cast<int>(alu);
  if (parse_act(name, act)) op.act = static_cast<int>(act);
  op.name = std::move(name);
  op.function = nb::none();
  return op;
}

nb::object call_op(const Op& op, nb::args args, nb::kwargs kwargs) {
  if (op.function.is_none())
    refuse(nki_rules::kTokenArgument, fmt::format("a call of `nl.{}`", op.name),
           "pass it as `op=` of an nki.isa function");
  return op.function(*args, **kwargs);
}

int op_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (nb::inst_ready(self)) Py_VISIT(nb::inst_ptr<Op>(self)->function.ptr());
  return 0;
}
int op_clear(PyObject* self) {
  nb::inst_ptr<Op>(self)->function.reset();
  return 0;
}
PyType_Slot op_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(op_traverse)},
                          {Py_tp_clear, reinterpret_cast<void*>(op_clear)},
                          {0, nullptr}};

}  // namespace

void bind_ops(nb::module_& m) {
  nb::class_<Op>(m, "Op", nb::type_slots(op_slots), nb::dynamic_attr())
      .def_ro("name", &Op::name)
      .def_rw("function", &Op::function, nb::arg().none())
      .def("__call__", &call_op)
      .def("__repr__", [](const Op& op) { return fmt::format("nl.{}", op.name); })
      .def("__reduce__", [](const Op& op) { return fmt::format("{}", op.name); });
  m.def("op", &make_op);
  m.def("alu_ops", [] {
    nb::list names;
    for (const AluInfo& i : kAluOps) names.append(nb::str(i.name.data(), i.name.size()));
    return names;
  });
  m.def("activations", [] {
    nb::list names;
    for (const ActInfo& i : kActFns) names.append(nb::str(i.name.data(), i.name.size()));
    return names;
  });
}

}  // namespace kiln::python
