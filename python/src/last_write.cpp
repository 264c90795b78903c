// What wrote a tensor last, asked while the kernel's Python runs: whether a condition on the tensor would be one on
// values that only the device knows.
#include <nanobind/stl/string.h>

#include "kiln/isa/inst_view.h"
#include "kiln/isa/uses.h"
#include "python/src/bindings.h"
#include "python/src/trace.h"

namespace kiln::python {
namespace {

struct LastWrite {
  std::string instruction;
  SourceLoc loc;
  bool is_result;  // the call that made the tensor wrote it: a function of nki.language returned it
  bool computes;   // new values; not a copy, a transpose, a constant
  bool is_truth;   // 1 for true and 0 for false
};

// The operator that made the result: the last of op, op0 and op1 that is given.
bool gives_truth(const isa::InstView& view) {
  bool truth = false;
  const auto& params = view.row().params;
  for (std::size_t i = 0; i < params.size(); ++i) {
    const bool is_operator = params[i].name.starts_with("op") &&
                             (params[i].type == isa::AttrType::AluOp || params[i].type == isa::AttrType::OptAlu);
    if (params[i].is_tile() || !is_operator || !view.has(static_cast<int>(i))) continue;
    const AluOp op = view.alu(static_cast<int>(i));
    truth = is_comparison(op) || (op >= AluOp::logical_and && op <= AluOp::logical_xor);
  }
  return truth;
}

bool computes(const isa::InstView& view) {
  const isa::InstructionInfo& row = view.row();
  if (view.facts().copies >= 0 || view.facts().product || row.engines.front() == Engine::dma) return false;
  for (const isa::ParamInfo& param : row.params) {
    if (param.is_input()) return true;
  }
  return false;
}

nb::object last_write(const Tensor& tensor) {
  const isa::Program& program = tensor.trace->kernel.program();
  const isa::InstructionId id = tensor.trace->last_writer(tensor.view.tensor());
  if (id == isa::kNone) return nb::none();
  const isa::InstView view(program, program.instructions[id]);
  const isa::LocId made_at = program.tensors[tensor.view.tensor()].loc;
  return nb::cast(LastWrite{std::string(view.row().name), view.loc(), view.inst().loc == made_at, computes(view),
                            gives_truth(view)});
}

}  // namespace

isa::InstructionId Trace::last_writer(isa::TensorId tensor) {
  const isa::Program& program = kernel.program();
  last_writers_.resize(program.tensors.size(), isa::kNone);
  for (; looked_at_ < program.instructions.size(); ++looked_at_) {
    for_each_use(program, program.instructions[looked_at_], [&](const isa::Access& access, isa::Use use) {
      if (use != isa::Use::read) last_writers_[access.tensor] = looked_at_;
    });
  }
  return last_writers_[tensor];
}

void bind_last_write(nb::module_& m) {
  nb::class_<LastWrite>(m, "LastWrite")
      .def_ro("instruction", &LastWrite::instruction)
      .def_ro("loc", &LastWrite::loc)
      .def_ro("is_result", &LastWrite::is_result)
      .def_ro("computes", &LastWrite::computes)
      .def_ro("is_truth", &LastWrite::is_truth);
  m.def("last_write", &last_write, nb::arg("tensor"),
        "The instruction that wrote a tensor of the running kernel last, or None.");
}

}  // namespace kiln::python
