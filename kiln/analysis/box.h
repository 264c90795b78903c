// Box: the bytes of a tensor that an access touches, as a range per dimension of the tensor. Two accesses of
// a tile here and a tile there are apart even when their addresses interleave.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "kiln/isa/program.h"

namespace kiln::analysis {

inline constexpr int kBoxRank = isa::kMaxOperandRank;

// The last dimension counts bytes. With step > width, it holds `width` bytes every `step` bytes.
struct Box {
  std::array<std::int64_t, kBoxRank> lo{}, hi{};
  std::int64_t step = 1, width = 1;
  int rank = 0;
  inline bool operator==(const Box& other) const;
  bool overlaps(const Box& other) const { return reaches(other) && meets(other); }
  std::size_t hash() const;

 private:
  inline bool reaches(const Box& other) const;  // the ranges overlap
  bool meets(const Box& other) const;           // and bytes in them do
};

// The last dimension first, in which most boxes of a tensor differ.
inline bool Box::operator==(const Box& other) const {
  if (rank != other.rank || step != other.step || width != other.width) return false;
  for (int d = rank - 1; d >= 0; --d) {
    if (lo[d] != other.lo[d] || hi[d] != other.hi[d]) return false;
  }
  return true;
}

inline bool Box::reaches(const Box& other) const {
  for (int d = rank - 1; d >= 0; --d) {
    if (lo[d] >= other.hi[d] || other.lo[d] >= hi[d]) return false;
  }
  return true;
}

// The part of a box that no loop changes.
class BoxShape {
 public:
  // `flat`: boxes by partition and byte only, from `origin` on, so that tensors that share memory can be
  // compared.
  BoxShape(const isa::Program& program, const isa::Access& access, bool flat);
  // Where the access begins: in partitions, and in bytes from the tensor's start.
  Box at(std::int64_t partition, std::int64_t byte) const;
  Box everything() const;

 private:
  void add_dim(const isa::Dim& dim, std::int64_t element);
  int rank_ = 0;
  int first_ = 0;  // dimensions before it count partitions
  std::array<std::int64_t, kBoxRank> size_{}, stride_{}, extent_{};
  std::int64_t origin_[2] = {};
  std::int64_t back_ = 0;  // bytes that dimensions which run backwards go back
  std::int64_t step_ = 1, width_ = 1;
};

}  // namespace kiln::analysis
