// Plain copies: DMAs that carry bytes from one view to another and do nothing else. They may be left out when the bytes
// are already where they are needed.
#pragma once

#include "kiln/isa/inst_view.h"

namespace kiln::sim {

inline bool is_plain_copy(const isa::InstView& inst) {
  return inst.facts().copies >= 0 && inst.row().engines[0] == Engine::dma;
}
// Of a plain copy: its parameters.
inline int from_of(const isa::InstView& copy) { return copy.facts().copies; }
inline int to_of(const isa::InstView& copy) { return copy.row().result; }

}  // namespace kiln::sim
