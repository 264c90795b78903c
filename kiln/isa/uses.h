// Which tensors and registers an instruction touches, index tiles of run-time addresses included.
#pragma once

#include "kiln/isa/program.h"
#include "kiln/isa/table.h"

namespace kiln::isa {

enum class Use : std::uint8_t { read, write, read_write };

// Calls fn(access, use) for `access` and, before it, for the tile that holds its index.
template <class Fn>
void for_each_use(const Program& program, const Access& access, Use use, Fn&& fn) {
  if (access.dynamic != kNone) {
    const Dynamic& dynamic = program.dynamics[access.dynamic];
    if (dynamic.kind != Dynamic::Kind::scalar_register) {
      for_each_use(program, program.accesses[dynamic.source], Use::read, fn);
    }
  }
  fn(access, use);
}

// Calls fn(access, use) for every tile of an instruction: first what is only read, then what is written.
template <class Fn>
void for_each_use(const Program& program, const Instruction& inst, Fn&& fn) {
  const auto& params = info(inst.opcode).params;
  for (const bool outputs : {false, true}) {
    for (std::size_t i = 0; i < params.size(); ++i) {
      if (params[i].is_output() != outputs) continue;
      const Arg& arg = program.arg(inst, static_cast<int>(i));
      const bool one = arg.kind == Arg::Kind::access;
      if (!one && arg.kind != Arg::Kind::accesses) continue;
      const Use use = !outputs ? Use::read : params[i].kind == ParamKind::inout ? Use::read_write : Use::write;
      for (std::uint32_t k = 0; k < (one ? 1 : arg.count); ++k) {
        for_each_use(program, program.accesses[arg.index + k], use, fn);
      }
    }
  }
}

// Calls fn(register) for every register of an instruction.
template <class Fn>
void for_each_register(const Program& program, const Instruction& inst, Fn&& fn) {
  if (program.registers.empty()) return;
  const auto& params = info(inst.opcode).params;
  for (std::size_t i = 0; i < params.size(); ++i) {
    const Arg& arg = program.arg(inst, static_cast<int>(i));
    if (arg.kind == Arg::Kind::reg) fn(arg.index);
  }
  for_each_use(program, inst, [&](const Access& access, Use) {
    if (access.dynamic == kNone) return;
    const Dynamic& dynamic = program.dynamics[access.dynamic];
    if (dynamic.kind == Dynamic::Kind::scalar_register) fn(dynamic.source);
  });
}

}  // namespace kiln::isa
