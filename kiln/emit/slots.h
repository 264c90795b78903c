// The one order in which an instruction's arguments are walked: who builds an outline and who writes one agree by it.
#pragma once

#include "kiln/isa/program.h"
#include "kiln/isa/table.h"

namespace kiln::emit {

// Calls on.number(affine) and on.ref(kind, id) for what may differ between passes of a loop, and on.fixed(value) for
// what may not.
template <class On>
void walk_access(const isa::Program& program, const isa::Access& a, On& on) {
  on.tensor(a.tensor);
  on.fixed(a.rank);
  on.fixed(a.dtype);
  for (int i = 0; i < a.rank; ++i) {
    on.fixed(a.dims[i].stride);
    on.fixed(a.dims[i].count);
  }
  on.number(a.partition);
  on.number(a.offset);
  on.fixed(a.dynamic != isa::kNone);
  if (a.dynamic == isa::kNone) return;
  const isa::Dynamic& d = program.dynamics[a.dynamic];
  on.fixed(d.kind);
  on.fixed(d.scale);
  if (d.kind == isa::Dynamic::Kind::scalar_register) {
    on.reg(d.source);
  } else {
    walk_access(program, program.accesses[d.source], on);
  }
}

template <class On>
void walk_argument(const isa::Program& program, const isa::Arg& arg, On& on) {
  using Kind = isa::Arg::Kind;
  on.fixed(arg.kind);
  on.fixed(arg.count);
  switch (arg.kind) {
    case Kind::none:
      break;
    case Kind::access:
      walk_access(program, program.accesses[arg.index], on);
      break;
    case Kind::accesses:
      for (std::uint32_t i = 0; i < arg.count; ++i) walk_access(program, program.accesses[arg.index + i], on);
      break;
    case Kind::integer:
      on.number({arg.integer, 0, 0});
      break;
    case Kind::boolean:
    case Kind::enumerator:
      on.fixed(arg.integer);
      break;
    case Kind::real:
      on.fixed(arg.integer);  // its bits
      break;
    case Kind::integers:
      for (std::uint32_t i = 0; i < arg.count; ++i) on.number({program.integers[arg.index + i], 0, 0});
      break;
    case Kind::reals:
      for (std::uint32_t i = 0; i < arg.count; ++i) on.fixed(program.reals[arg.index + i]);
      break;
    case Kind::reg:
      on.reg(arg.index);
      break;
  }
}

}  // namespace kiln::emit
