// BoxShapes: the boxes of all accesses of a program without what loops move. Accesses of the same shape to tensors of
// the same shape share one.
#pragma once

#include <unordered_map>
#include <vector>

#include "kiln/analysis/box.h"

namespace kiln::timing {

using analysis::BoxShape;

class BoxShapes {
 public:
  explicit BoxShapes(const isa::Program& program) : program_(program) {}
  // The position of the access's shape among all().
  std::uint32_t find(const isa::Access& access);
  std::vector<BoxShape>& all() { return shapes_; }

 private:
  std::uint32_t add(const isa::Access& access, bool flat);
  bool is_placed(const isa::Access& access) const;
  std::uint64_t hash(const isa::Access& access) const;
  bool alike(const isa::Access& a, const isa::Access& b) const;

  const isa::Program& program_;
  std::vector<BoxShape> shapes_;
  std::vector<const isa::Access*> first_;  // by shape: its first access
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> known_;
};

}  // namespace kiln::timing
