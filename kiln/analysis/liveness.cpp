#include "kiln/analysis/liveness.h"

#include <algorithm>

#include "kiln/analysis/statements.h"
#include "kiln/isa/inst_view.h"
#include "kiln/isa/uses.h"

namespace kiln::analysis {
namespace {

using isa::kNone;
using isa::Program;

// Intervals of one kind of thing while the program is walked.
class Lives {
 public:
  Lives(std::size_t count, std::vector<Interval>& out) : out_(out), depth_(count, 0), held_by_(count, kNone) {
    out_.assign(count, {});
  }

  void declare(std::uint32_t id) { depth_[id] = static_cast<std::uint32_t>(loops_.size()); }

  void touch(std::uint32_t id, Position now) {
    Position begin = now;
    if (depth_[id] < loops_.size()) {  // used in a loop that it was declared outside of
      OpenLoop& loop = loops_[depth_[id]];
      begin = loop.head;
      if (held_by_[id] != loop.head) loop.holds.push_back(id);
      held_by_[id] = loop.head;
    }
    Interval& live = out_[id];
    if (live.empty()) live = {begin, now};
    live.begin = std::min(live.begin, begin);
    live.end = std::max(live.end, now);
  }

  void open_loop(Position head) { loops_.push_back({head, {}}); }
  void close_loop(Position last) {
    for (auto id : loops_.back().holds) out_[id].end = std::max(out_[id].end, last);
    loops_.pop_back();
  }

 private:
  struct OpenLoop {
    Position head;
    std::vector<std::uint32_t> holds;  // what lives to the end of this loop
  };
  std::vector<Interval>& out_;
  std::vector<std::uint32_t> depth_;  // loops around the declaration
  std::vector<Position> held_by_;     // head of the last loop that holds it
  std::vector<OpenLoop> loops_;
};

class Walk {
 public:
  Walk(const Program& program, Liveness& out)
      : program_(program),
        out_(out),
        tensors_(program.tensors.size(), out.tensors),
        registers_(program.registers.size(), out.registers) {
    out_.read_first.assign(program.tensors.size(), false);
    out_.is_read.assign(program.tensors.size(), false);
    std::size_t statements = program.body.size();
    for (const isa::Loop& loop : program.loops) statements += loop.body.size();
    out_.nodes.reserve(statements);
    for_each_statement(
        program, kNone, [&](const Statement& s) { enter(s.node); },
        [&](const Statement&) {
          const auto last = static_cast<Position>(out_.nodes.size() - 1);
          tensors_.close_loop(last);
          registers_.close_loop(last);
        });
  }

 private:
  void enter(const isa::Node& node) {
    const auto now = static_cast<Position>(out_.nodes.size());
    out_.nodes.push_back(node);
    switch (node.kind) {
      case isa::Node::Kind::declare:
        tensors_.declare(node.index);
        break;
      case isa::Node::Kind::instruction:
        instruction(program_.instructions[node.index], now);
        break;
      case isa::Node::Kind::loop:
        open_loop(program_.loops[node.index], now);
        break;
    }
  }

  void instruction(const isa::Instruction& inst, Position now) {
    isa::for_each_use(program_, inst, [&](const isa::Access& access, isa::Use use) {
      if (out_.tensors[access.tensor].empty()) out_.read_first[access.tensor] = use == isa::Use::read;
      if (use == isa::Use::read) out_.is_read[access.tensor] = true;
      tensors_.touch(access.tensor, now);
    });
    const isa::InstView view(program_, inst);
    if (view.facts().declares_register) registers_.declare(view.reg(view.facts().sets_register));
    isa::for_each_register(program_, inst, [&](isa::RegisterId reg) { registers_.touch(reg, now); });
  }

  void open_loop(const isa::Loop& loop, Position now) {
    // The induction register is the loop's own; every pass looks at it and at the bounds.
    if (loop.kind == isa::Loop::Kind::dynamic_for && loop.reg != kNone) registers_.declare(loop.reg);
    tensors_.open_loop(now);
    registers_.open_loop(now);
    if (loop.reg != kNone) registers_.touch(loop.reg, now);
    for (const isa::Bound& bound : {loop.lower, loop.upper}) {
      if (bound.is_register) registers_.touch(static_cast<isa::RegisterId>(bound.value), now);
    }
  }

  const Program& program_;
  Liveness& out_;
  Lives tensors_, registers_;
};

// What enters or leaves a fragment on chip is there before the first or after the last statement.
void extend_interface(const Program& program, Liveness& out) {
  using isa::Role;
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    Interval& live = out.tensors[i];
    const Role role = program.tensors[i].role;
    if (live.empty()) continue;
    if (role == Role::input || role == Role::inout) live.begin = 0;
    if (role == Role::output || role == Role::inout) live.end = static_cast<Position>(out.nodes.size() - 1);
  }
}

}  // namespace

Liveness use_intervals(const Program& program) {
  Liveness out;
  Walk(program, out);
  return out;
}

Liveness live_intervals(const Program& program) {
  Liveness out = use_intervals(program);
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    if (is_on_chip(program.tensors[i].memory)) continue;
    out.tensors[i] = {};
    out.read_first[i] = false;
  }
  extend_interface(program, out);
  return out;
}

const SourceLoc& loc_of(const Program& program, const isa::Node& node) {
  switch (node.kind) {
    case isa::Node::Kind::instruction:
      return program.locs[program.instructions[node.index].loc];
    case isa::Node::Kind::loop:
      return program.locs[program.loops[node.index].loc];
    case isa::Node::Kind::declare:
      break;
  }
  return program.locs[program.tensors[node.index].loc];
}

}  // namespace kiln::analysis
