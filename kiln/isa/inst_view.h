// InstView: an instruction of a program with its arguments by parameter position
// (args::<instruction>::<param>). Check, Run, Track and CostQuery are InstViews with something added.
#pragma once

#include <string>

#include "kiln/isa/enums.h"
#include "kiln/isa/program.h"
#include "kiln/isa/table.h"
#include "kiln/num/op.h"

namespace kiln::isa {

class InstView {
 public:
  InstView(const Program& program, const Instruction& inst) : program_(program), inst_(inst) {}

  const Program& program() const { return program_; }
  const Instruction& inst() const { return inst_; }
  const InstructionInfo& row() const { return info(inst_.opcode); }
  const Facts& facts() const { return row().semantics->facts; }
  const Arg& arg(int param) const { return program_.arg(inst_, param); }

  bool has(int param) const { return arg(param).kind != Arg::Kind::none; }
  bool is_tile(int param) const { return arg(param).kind == Arg::Kind::access; }
  bool is_register(int param) const { return arg(param).kind == Arg::Kind::reg; }
  bool is_integer(int param) const { return arg(param).kind == Arg::Kind::integer; }

  // Tiles.
  const Access& access(int param) const { return program_.accesses[arg(param).index]; }
  std::span<const Access> accesses(int param) const {
    return {program_.accesses.data() + arg(param).index, arg(param).count};
  }
  const Tensor& tensor(int param) const { return program_.tensors[access(param).tensor]; }
  Memory memory(int param) const { return tensor(param).memory; }
  bool in_psum(int param) const { return memory(param) == Memory::psum; }
  bool in_hbm(int param) const { return is_hbm(memory(param)); }
  DType dtype(int param) const { return access(param).dtype; }
  std::int64_t partitions(int param) const { return access(param).rows(); }
  std::int64_t free_size(int param) const { return access(param).row_size(); }
  int rank(int param) const { return access(param).rank; }
  std::int64_t dim(int param, int i) const { return access(param).dims[i].count; }
  // The dynamic part of an access, or null.
  const Dynamic* dynamic(const Access& a) const { return a.dynamic == kNone ? nullptr : &program_.dynamics[a.dynamic]; }
  const Dynamic* dynamic(int param) const { return dynamic(access(param)); }
  bool is_indirect(int param) const {
    return is_tile(param) && dynamic(param) && dynamic(param)->kind == Dynamic::Kind::indirect;
  }
  bool is_vector_offset(int param) const {
    return is_tile(param) && dynamic(param) && dynamic(param)->kind == Dynamic::Kind::vector;
  }

  // Attributes.
  std::int64_t integer(int param) const { return arg(param).integer; }
  double real(int param) const {
    return arg(param).kind == Arg::Kind::integer ? static_cast<double>(arg(param).integer) : arg(param).real;
  }
  bool boolean(int param) const { return arg(param).integer != 0; }
  template <class E>
  E get(int param) const {
    return static_cast<E>(arg(param).integer);
  }
  AluOp alu(int param) const { return get<AluOp>(param); }
  ActFn act(int param) const { return get<ActFn>(param); }
  std::span<const std::int64_t> integers(int param) const {
    const Arg& a = arg(param);
    return a.kind == Arg::Kind::integers ? std::span(program_.integers).subspan(a.index, a.count)
                                         : std::span<const std::int64_t>{};
  }
  std::span<const double> reals(int param) const {
    const Arg& a = arg(param);
    return a.kind == Arg::Kind::reals ? std::span(program_.reals).subspan(a.index, a.count) : std::span<const double>{};
  }
  RegisterId reg(int param) const { return arg(param).index; }
  // The attribute of an enumeration that only one attribute can have, or `otherwise` when the row has none.
  template <class E>
  E get_or(AttrType type, E otherwise) const {
    const int param = row().find_param(type);
    return param >= 0 ? get<E>(param) : otherwise;
  }

  const SourceLoc& loc() const { return program_.locs[inst_.loc]; }

 protected:
  const Program& program_;
  const Instruction& inst_;
};

// The engine that executes the instruction on a generation: the `engine` argument when given, else the
// instruction's own choice, else the row's first engine.
Engine resolve_engine(const InstView& inst, const Arch& arch);

}  // namespace kiln::isa
