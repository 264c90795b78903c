// Statements of a program in the order they are written: one walk for all who ask about them.
#pragma once

#include <type_traits>

#include "kiln/isa/program.h"

namespace kiln::analysis {

struct Statement {
  isa::Node node;
  isa::LoopId loop;     // in whose body it stands; isa::kNone: the program's own
  std::uint32_t index;  // there
  int depth;            // loops around it, from where the walk began

  bool is_declaration() const { return node.kind == isa::Node::Kind::declare; }
  bool is_instruction() const { return node.kind == isa::Node::Kind::instruction; }
  bool is_loop() const { return node.kind == isa::Node::Kind::loop; }
};

// Calls enter(statement) for each statement of the body of `loop`, a loop before its own body, and leave(statement)
// after the body of each loop. When enter returns false, the walk ends there. Returns whether it came to the end.
template <class Enter, class Leave>
bool for_each_statement(const isa::Program& program, isa::LoopId loop, Enter&& enter, Leave&& leave, int depth = 0) {
  const isa::Block& block = loop == isa::kNone ? program.body : program.loops[loop].body;
  for (std::uint32_t i = 0; i < block.size(); ++i) {
    const Statement s{block[i], loop, i, depth};
    if constexpr (std::is_same_v<decltype(enter(s)), bool>) {
      if (!enter(s)) return false;
    } else {
      enter(s);
    }
    if (!s.is_loop()) continue;
    if (!for_each_statement(program, s.node.index, enter, leave, depth + 1)) return false;
    leave(s);
  }
  return true;
}

// The same without leave. The body of a loop, or all of a program.
template <class Enter>
bool for_each_statement(const isa::Program& program, isa::LoopId loop, Enter&& enter) {
  return for_each_statement(program, loop, enter, [](const Statement&) {});
}
template <class Enter>
bool for_each_statement(const isa::Program& program, Enter&& enter) {
  return for_each_statement(program, isa::kNone, enter);
}

// Calls fn(id) for each instruction of a statement, those of loops included; false ends the walk as above.
template <class Fn>
bool for_each_instruction(const isa::Program& program, const isa::Node& node, Fn&& fn) {
  const auto call = [&](isa::InstructionId id) {
    if constexpr (std::is_same_v<decltype(fn(id)), bool>) return fn(id);
    return fn(id), true;
  };
  if (node.kind == isa::Node::Kind::instruction) return call(node.index);
  if (node.kind != isa::Node::Kind::loop) return true;
  return for_each_statement(program, node.index,
                            [&](const Statement& s) { return !s.is_instruction() || call(s.node.index); });
}

}  // namespace kiln::analysis
