// Operands: where the accesses of an instruction lie in storage when it is issued.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kiln/isa/program.h"
#include "kiln/isa/semantics/tile.h"
#include "kiln/sim/storage.h"

namespace kiln::sim {

struct Operand {
  int param;  // -1: an index tile, which belongs to another operand
  const isa::Access* access;
  Storage* storage;
  isa::Tile tile;  // addresses relative to the storage's data
};

// The rectangle of its storage that an operand lies in.
Region region_of(const Operand& operand);

// The index of an element in the view, as text; elements count in row-major order.
std::string index_text(const isa::Access& access, std::int64_t element);

// Those of one instruction.
struct Operands {
  std::vector<Operand> list;                // in parameter order
  std::vector<std::shared_ptr<void>> keep;  // what tiles point to besides storages: alive until the values are there
  bool may_overlap = false;  // one of them moves, or lies where another tensor may: not all was compared before the run

  void clear() {
    list.clear();
    keep.clear();
    may_overlap = false;
  }
};

}  // namespace kiln::sim
