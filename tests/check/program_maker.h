// Small programs for the tests of kiln/check, put together from the structs themselves: every statement gets
// its own source line, counted from 1.
#pragma once

#include <string>
#include <vector>

#include "kiln/base/error.h"
#include "kiln/isa/program.h"
#include "kiln/isa/table.h"

namespace kiln::check {

class ProgramMaker {
 public:
  isa::Program program;

  isa::TensorId tensor(std::string name, Memory memory, std::vector<std::int64_t> shape, DType dtype = DType::float32,
                       std::optional<isa::Address> address = {}) {
    isa::Tensor t{.name = std::move(name), .memory = memory, .dtype = dtype, .shape = std::move(shape)};
    t.address = address;
    t.loc = next_line();
    program.tensors.push_back(std::move(t));
    const auto id = static_cast<isa::TensorId>(program.tensors.size() - 1);
    add({isa::Node::Kind::declare, id});
    return id;
  }
  isa::TensorId sbuf(std::string name, std::int64_t partitions, std::int64_t bytes,
                     std::optional<isa::Address> address = {}) {
    return tensor(std::move(name), Memory::sbuf, {partitions, bytes}, DType::uint8, address);
  }
  isa::TensorId psum(std::string name, std::int64_t partitions, std::int64_t bytes,
                     std::optional<isa::Address> address = {}) {
    return tensor(std::move(name), Memory::psum, {partitions, bytes}, DType::uint8, address);
  }

  void write(isa::TensorId dst) { write(whole(program, dst)); }
  void write(const isa::Access& dst) {
    const auto args = instruction(isa::Opcode::memset, isa::args::memset::kCount);
    set(args + isa::args::memset::dst, dst);
    program.args[args + isa::args::memset::value].kind = isa::Arg::Kind::integer;
    program.args[args + isa::args::memset::engine].kind = isa::Arg::Kind::enumerator;
  }
  void copy(isa::TensorId dst, isa::TensorId src) { copy(whole(program, dst), whole(program, src)); }
  void copy(const isa::Access& dst, const isa::Access& src) {
    const auto args = instruction(isa::Opcode::tensor_copy, isa::args::tensor_copy::kCount);
    set(args + isa::args::tensor_copy::dst, dst);
    set(args + isa::args::tensor_copy::src, src);
    program.args[args + isa::args::tensor_copy::engine].kind = isa::Arg::Kind::enumerator;
  }
  // Reads a tensor into one that nothing else uses.
  void read(const isa::Access& src) {
    if (sink_ == isa::kNone) {
      isa::Tensor t{.name = "sink", .memory = Memory::hbm, .dtype = DType::uint8, .shape = {1}};
      program.tensors.push_back(std::move(t));
      sink_ = static_cast<isa::TensorId>(program.tensors.size() - 1);
    }
    copy(whole(program, sink_), src);
  }
  void read(isa::TensorId src) { read(whole(program, src)); }

  isa::RegisterId reg() {
    program.registers.push_back({"r" + std::to_string(program.registers.size())});
    const auto id = static_cast<isa::RegisterId>(program.registers.size() - 1);
    const auto args = instruction(isa::Opcode::register_alloc, isa::args::register_alloc::kCount);
    set_register(args + isa::args::register_alloc::dst, id);
    return id;
  }
  void move(isa::RegisterId dst, isa::RegisterId src) {
    const auto args = instruction(isa::Opcode::register_move, isa::args::register_move::kCount);
    set_register(args + isa::args::register_move::dst, dst);
    set_register(args + isa::args::register_move::src, src);
  }

  // body(loop) adds the statements of the loop.
  template <class Body>
  isa::LoopId loop(std::int64_t passes, Body&& body) {
    isa::Loop l;
    l.variable = "i" + std::to_string(program.loops.size());
    l.upper.value = passes;
    l.loc = next_line();
    program.loops.push_back(l);
    const auto id = static_cast<isa::LoopId>(program.loops.size() - 1);
    add({isa::Node::Kind::loop, id});
    isa::Block outer;
    outer.swap(block_);
    body(id);
    outer.swap(block_);
    program.loops[id].body = std::move(outer);
    return id;
  }

  // Columns [first, first + count) of all partitions; `step` columns further in every pass of `loop`.
  isa::Access columns(isa::TensorId id, std::int64_t first, std::int64_t count, isa::LoopId loop = isa::kNone,
                      std::int64_t step = 0) {
    isa::Access a = whole(program, id);
    a.offset.constant = first;
    a.dims[1] = {1, count};
    if (loop != isa::kNone) {
      a.offset.first_term = static_cast<std::uint32_t>(program.terms.size());
      a.offset.term_count = 1;
      program.terms.push_back({loop, step});
    }
    return a;
  }
  // All of a tensor, gathered through an index tile.
  isa::Access gathered(isa::TensorId id, isa::TensorId index) {
    program.accesses.push_back(whole(program, index));
    program.dynamics.push_back({isa::Dynamic::Kind::indirect, static_cast<std::uint32_t>(program.accesses.size() - 1)});
    isa::Access a = whole(program, id);
    a.dynamic = static_cast<std::uint32_t>(program.dynamics.size() - 1);
    return a;
  }

  const isa::Program& finish() {
    program.body = block_;
    return program;
  }
  int line() const { return line_; }

 private:
  isa::LocId next_line() { return program.add_loc({"kernel.py", ++line_, {}}); }
  void add(isa::Node node) { block_.push_back(node); }

  std::uint32_t instruction(isa::Opcode opcode, int arg_count) {
    isa::Instruction inst{.opcode = opcode};
    inst.loc = next_line();
    inst.first_arg = static_cast<std::uint32_t>(program.args.size());
    program.args.resize(program.args.size() + static_cast<std::size_t>(arg_count));
    program.instructions.push_back(inst);
    add({isa::Node::Kind::instruction, static_cast<std::uint32_t>(program.instructions.size() - 1)});
    return inst.first_arg;
  }
  void set(std::uint32_t arg, const isa::Access& access) {
    program.accesses.push_back(access);
    program.args[arg].kind = isa::Arg::Kind::access;
    program.args[arg].index = static_cast<std::uint32_t>(program.accesses.size() - 1);
  }
  void set_register(std::uint32_t arg, isa::RegisterId id) {
    program.args[arg].kind = isa::Arg::Kind::reg;
    program.args[arg].index = id;
  }

  isa::Block block_;
  isa::TensorId sink_ = isa::kNone;
  int line_ = 0;
};

// The codes of diagnostics, for short expectations.
inline std::vector<std::string> codes(const std::vector<Diagnostic>& diagnostics) {
  std::vector<std::string> all;
  for (const Diagnostic& d : diagnostics) all.push_back(d.code);
  return all;
}
using Codes = std::vector<std::string>;

}  // namespace kiln::check
