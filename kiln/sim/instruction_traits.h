// What the machine has to know of single instructions beyond their `run` and `track`. This is the only place
// where it tells them apart by name.
#pragma once

#include "kiln/isa/inst_view.h"

namespace kiln::sim {

// The core waits in it for its peer.
inline bool meets_other_core(const isa::Instruction& inst) {
  return inst.opcode == isa::Opcode::sendrecv || inst.opcode == isa::Opcode::core_barrier;
}

// A meeting in which tiles are exchanged.
inline bool exchanges_tiles(const isa::Instruction& inst) { return inst.opcode == isa::Opcode::sendrecv; }

// It works on registers and is executed at once, by the thread that issues.
inline bool is_register_instruction(const isa::InstView& inst) { return inst.row().group == "register"; }

// Of a register instruction: whether its first argument is a register that it writes.
inline bool writes_register(const isa::InstView& inst) { return inst.inst().opcode != isa::Opcode::register_store; }

// Of one that writes a register: whether the register has a value then.
inline bool gives_register_value(const isa::InstView& inst) {
  return inst.inst().opcode != isa::Opcode::register_alloc || inst.has(isa::args::register_alloc::x);
}

// A DMA that copies args::dma_copy::src to dst and does nothing else: one that may be left out when the bytes
// are already where they are needed.
inline bool is_dma_copy(const isa::Instruction& inst) { return inst.opcode == isa::Opcode::dma_copy; }

// It carries bytes along without looking at them: the padding of a scale tile stays padding.
inline bool carries_bytes(const isa::Instruction& inst) {
  return inst.opcode == isa::Opcode::dma_copy || inst.opcode == isa::Opcode::tensor_copy;
}

// It fills its dst with 0.
inline bool fills_with_zeros(const isa::InstView& inst) {
  return inst.inst().opcode == isa::Opcode::memset && inst.real(isa::args::memset::value) == 0;
}

// Rows at an address out of bounds are left out instead of being an error.
inline bool skips_out_of_bounds(const isa::InstView& inst) {
  const int param = inst.row().find_param("oob_mode");
  return param >= 0 && inst.get<isa::OobMode>(param) == isa::OobMode::skip;
}

}  // namespace kiln::sim
