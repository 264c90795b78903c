// FarOrigins: one numbering of the origins that bytes have which were never written, for processes that each have a
// numbering of their own (origins.h).
#pragma once

#include <array>
#include <span>

#include "kiln/isa/launch.h"
#include "kiln/sim/origins.h"
#include "kiln/sim/processes.h"

namespace kiln::sim {

class FarOrigins {
 public:
  // All processes of the run say what they know.
  FarOrigins(Processes& processes, const isa::Launch& launch, Origins& origins);

  void to_common(std::span<isa::Shadow> shadows) const { translate(shadows, common_of_); }
  void to_own(std::span<isa::Shadow> shadows) const { translate(shadows, own_of_); }

 private:
  using Table = std::array<isa::Shadow, 256>;
  static void translate(std::span<isa::Shadow> shadows, const Table& table) {
    for (isa::Shadow& s : shadows) s = table[s];
  }

  Table common_of_{}, own_of_{};
};

}  // namespace kiln::sim
