// Pieces of programs: what has run up to an instruction, with tensors of the inside as outputs.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "kiln/isa/text/print.h"
#include "kiln/isa/uses.h"
#include "python/src/bindings.h"

namespace kiln::python {
namespace {

using isa::InstructionId;
using isa::Node;
using isa::Program;
using ProgramRef = std::shared_ptr<Program>;

bool holds(const Program& program, const Node& node, InstructionId id) {
  if (node.kind == Node::Kind::instruction) return node.index == id;
  if (node.kind != Node::Kind::loop) return false;
  const isa::Block& body = program.loops[node.index].body;
  return std::any_of(body.begin(), body.end(), [&](const Node& n) { return holds(program, n, id); });
}

// How many instructions of a statement wait for the other core, those of a loop's body counted once.
int meetings(const Program& program, const Node& node) {
  if (node.kind == Node::Kind::instruction) {
    const isa::Opcode op = program.instructions[node.index].opcode;
    return op == isa::Opcode::sendrecv || op == isa::Opcode::core_barrier;
  }
  if (node.kind != Node::Kind::loop) return 0;
  int sum = 0;
  for (const Node& n : program.loops[node.index].body) sum += meetings(program, n);
  return sum;
}

// Takes away the statements from the first one on for which `ends` is true; declarations stay.
template <class Fn>
void cut(Program& program, Fn&& ends) {
  bool behind = false;
  std::erase_if(program.body, [&](const Node& node) {
    behind = behind || ends(node);
    return behind && node.kind != Node::Kind::declare;
  });
}

// Keeps what runs up to instruction `last`, and that one too unless `before`.
ProgramRef cut_at(const Program& whole, InstructionId last, bool before) {
  auto program = std::make_shared<Program>(whole);
  bool found = false;
  cut(*program, [&](const Node& node) {
    const bool ends = found;
    found = found || holds(whole, node, last);
    return before ? found : ends;
  });
  return program;
}

// Keeps what a core runs before it waits for the other one for the time `count` + 1.
ProgramRef cut_at_meeting(const Program& whole, int count) {
  auto program = std::make_shared<Program>(whole);
  cut(*program, [&](const Node& node) { return (count -= meetings(whole, node)) < 0; });
  return program;
}

// The first pass through the loops that are still open, innermost last: a counting loop ends after it, a
// while loop's body stands for itself.
ProgramRef first_pass(const Program& whole, int open_loops) {
  constexpr std::int64_t kBeyondAnyBound = std::int64_t{1} << 40;
  auto program = std::make_shared<Program>(whole);
  std::vector<isa::Block*> blocks{&program->body};
  for (int i = 0; i < open_loops; ++i) blocks.push_back(&program->loops[blocks.back()->back().index].body);
  for (int i = open_loops; i > 0; --i) {
    isa::Block& outer = *blocks[i - 1];
    isa::Loop& loop = program->loops[outer.back().index];
    loop.step = kBeyondAnyBound;
    if (loop.kind != isa::Loop::Kind::dynamic_while) continue;
    outer.pop_back();
    outer.insert(outer.end(), loop.body.begin(), loop.body.end());
  }
  return program;
}

// The program with these tensors as outputs. They begin with what the caller's buffer holds, so that bytes
// nobody writes can be told. Those that only this core sees get the prefix: the other core may have the name
// too.
ProgramRef fragment(const Program& whole, const std::vector<isa::TensorId>& outputs, const std::string& prefix,
                    int lnc) {
  auto program = std::make_shared<Program>(whole);
  program->fragment = true;
  program->lnc = lnc;
  for (isa::Tensor& t : program->tensors) {
    if (t.role == isa::Role::output) t.role = isa::Role::internal;
  }
  for (const isa::TensorId id : outputs) {
    isa::Tensor& t = program->tensors.at(id);
    if (t.role != isa::Role::internal) continue;
    t.role = isa::Role::inout;
    if (t.memory != Memory::shared_hbm) t.name = prefix + t.name;
  }
  return program;
}

std::vector<InstructionId> writers(const Program& program, isa::TensorId tensor) {
  std::vector<InstructionId> out;
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    bool writes = false;
    isa::for_each_use(program, program.instructions[i], [&](const isa::Access& access, isa::Use use) {
      writes |= use != isa::Use::read && access.tensor == tensor;
    });
    if (writes) out.push_back(static_cast<InstructionId>(i));
  }
  return out;
}

}  // namespace

void bind_fragments(nb::module_& m) {
  m.def("fragment", &fragment, nb::arg("program"), nb::arg("outputs"), nb::arg("prefix") = "", nb::arg("lnc") = 1);
  m.def("cut_at", &cut_at, nb::arg("program"), nb::arg("last"), nb::arg("before") = false);
  m.def("cut_at_meeting", &cut_at_meeting, nb::arg("program"), nb::arg("count"));
  m.def("first_pass", &first_pass, nb::arg("program"), nb::arg("open_loops"));
  m.def("meetings", [](const Program& program) {
    int sum = 0;
    for (const Node& node : program.body) sum += meetings(program, node);
    return sum;
  });
  m.def("writers", &writers, nb::arg("program"), nb::arg("tensor"));
  m.def("instruction_text",
        [](const Program& program, InstructionId id) { return print(program, program.instructions.at(id)); });
  m.def("instruction_location",
        [](const Program& program, InstructionId id) { return program.locs[program.instructions.at(id).loc]; });
}

}  // namespace kiln::python
