#include "kiln/isa/text/print.h"

#include <algorithm>

#include "kiln/isa/text/append.h"
#include "kiln/isa/text/print_values.h"
#include "kiln/isa/text/text_words.h"

namespace kiln::isa {
namespace {

class Printer {
 public:
  Printer(const Program& program, const PrintOptions& options)
      : program_(program), options_(options), values_(program), labels_(program.instructions.size(), kNone) {}

  std::string run() {
    name_loops();
    label(program_.body);
    header();
    block(program_.body, 0);
    return std::move(out_);
  }

 private:
  // An inner loop whose variable hides an outer one gets a suffix, so that every name means one loop.
  void name_loops() {
    std::vector<std::string> names(program_.loops.size());
    std::vector<std::string> scope;
    name_block(program_.body, names, scope);
    values_.rename_loops(std::move(names));
  }

  void name_block(const Block& block, std::vector<std::string>& names, std::vector<std::string>& scope) {
    for (const Node& node : block) {
      if (node.kind != Node::Kind::loop) continue;
      const Loop& loop = program_.loops[node.index];
      const bool named = loop.kind == Loop::Kind::static_for;
      if (named) {
        names[node.index] = unused(loop.variable, scope);
        scope.push_back(names[node.index]);
      }
      name_block(loop.body, names, scope);
      if (named) scope.pop_back();
    }
  }

  static std::string unused(const std::string& name, const std::vector<std::string>& scope) {
    std::string candidate = name;
    for (int i = 1; std::find(scope.begin(), scope.end(), candidate) != scope.end(); ++i) {
      candidate = fmt::format("{}_{}", name, i);
    }
    return candidate;
  }

  // Labels count instructions in the order of the text; only those that somebody waits for keep one.
  void label(const Block& body) {
    std::vector<bool> wanted(program_.instructions.size());
    for (const auto& inst : program_.instructions) {
      for (std::uint32_t d = 0; d < inst.dep_count; ++d) wanted[program_.deps[inst.first_dep + d]] = true;
    }
    std::uint32_t position = 0;
    label(body, wanted, position);
  }

  void label(const Block& body, const std::vector<bool>& wanted, std::uint32_t& position) {
    for (const Node& node : body) {
      if (node.kind == Node::Kind::loop) label(program_.loops[node.index].body, wanted, position);
      if (node.kind != Node::Kind::instruction) continue;
      if (wanted[node.index]) labels_[node.index] = position;
      ++position;
    }
  }

  void header() {
    append(out_, "kiln 1\nprogram {} target {}", string_text(program_.name), arch(program_.target).name);
    if (program_.nki != kNewestNki) append(out_, " nki {}", program_.nki);
    if (program_.lnc != 1) append(out_, " lnc {}", program_.lnc);
    if (program_.fragment) out_ += " fragment";
    out_ += '\n';
    for (const Register& r : program_.registers) {
      append(out_, "register {}{}\n", name_text(r.name), r.frozen ? " frozen" : "");
    }
  }

  void block(const Block& body, int depth) {
    for (const Node& node : body) {
      out_.append(2 * depth, ' ');
      switch (node.kind) {
        case Node::Kind::declare:
          tensor(program_.tensors[node.index]);
          break;
        case Node::Kind::instruction:
          instruction(node.index);
          break;
        case Node::Kind::loop:
          loop(node.index, depth);
          break;
      }
      out_ += '\n';
    }
  }

  void tensor(const Tensor& t) {
    append(out_, "tensor {}: ", name_text(t.name));
    if (t.role != Role::internal) append(out_, "{} ", name(t.role));
    append(out_, "{} {} [{}]", name(t.memory), name(t.dtype), fmt::join(t.shape, ", "));
    if (t.address) append(out_, " at ({}, {})", t.address->partition, t.address->byte_offset);
    location(t.loc);
  }

  void instruction(InstructionId id) {
    const Instruction& inst = program_.instructions[id];
    if (labels_[id] != kNone) append(out_, "%{}: ", labels_[id]);
    values_.call(out_, inst);
    for (std::uint32_t d = 0; d < inst.dep_count; ++d) {
      append(out_, "{}%{}", d ? ", " : " after(", labels_[program_.deps[inst.first_dep + d]]);
    }
    if (inst.dep_count) out_ += ')';
    location(inst.loc);
  }

  void loop(LoopId id, int depth) {
    const Loop& loop = program_.loops[id];
    switch (loop.kind) {
      case Loop::Kind::static_for:
        append(out_, "loop {}", values_.loop_name(id));
        break;
      case Loop::Kind::dynamic_for:
        append(out_, "for {}", values_.register_name(loop.reg));
        break;
      case Loop::Kind::dynamic_while:
        append(out_, "while {}", values_.register_name(loop.reg));
        break;
    }
    if (loop.kind != Loop::Kind::dynamic_while) {
      append(out_, " = {} .. {}", bound(loop.lower), bound(loop.upper));
      if (loop.step != 1) append(out_, " step {}", loop.step);
    }
    if (loop.usual != Loop::kUnsaid) append(out_, " usually {}", loop.usual);
    location(loop.loc);
    out_ += " {\n";
    block(loop.body, depth + 1);
    out_.append(2 * depth, ' ');
    out_ += '}';
  }

  std::string bound(const Bound& b) const {
    return b.is_register ? values_.register_name(b.value) : fmt::format("{}", b.value);
  }

  void location(LocId id) {
    const SourceLoc& loc = program_.locs[id];
    if (!options_.locations || !loc.known()) return;
    append(out_, " @ {}:{}", string_text(loc.file), loc.line);
    for (std::size_t i = 0; i < loc.stack.size(); ++i)
      append(out_, "{}{}", i ? ", " : " from ", string_text(loc.stack[i]));
  }

  const Program& program_;
  const PrintOptions& options_;
  ValuePrinter values_;
  std::vector<std::uint32_t> labels_;
  std::string out_;
};

}  // namespace

std::string print(const Program& program, const PrintOptions& options) { return Printer(program, options).run(); }

std::string print(const Program& program, const Instruction& instruction) {
  std::string out;
  ValuePrinter(program).call(out, instruction);
  return out;
}

std::string print(const Program& program, const Access& access) {
  std::string out;
  ValuePrinter(program).access(out, access);
  return out;
}

}  // namespace kiln::isa
