#include "kiln/timing/box_shapes.h"

#include <algorithm>

namespace kiln::timing {
using namespace isa;

std::uint32_t BoxShapes::add(const Access& access, bool flat) {
  shapes_.emplace_back(program_, access, flat);
  first_.push_back(&access);
  return static_cast<std::uint32_t>(shapes_.size() - 1);
}

// Tensors with an address are compared by address, each from its own.
bool BoxShapes::is_placed(const Access& access) const {
  const Tensor& t = program_.tensors[access.tensor];
  return t.address && is_on_chip(t.memory);
}

std::uint64_t BoxShapes::hash(const Access& access) const {
  const Tensor& t = program_.tensors[access.tensor];
  std::uint64_t hash = static_cast<std::uint64_t>(is_on_chip(t.memory));
  const auto mix = [&](std::int64_t v) { hash = (hash ^ static_cast<std::uint64_t>(v)) * 0x9E3779B97F4A7C15ull >> 1; };
  for (std::int64_t size : t.shape) mix(size);
  if (is_placed(access)) mix(access.tensor);
  mix(size_bytes(t.dtype) * 64 + size_bytes(access.dtype));
  for (int d = 0; d < access.rank; ++d) mix(access.dims[d].stride), mix(access.dims[d].count);
  return hash;
}

bool BoxShapes::alike(const Access& a, const Access& b) const {
  const Tensor &s = program_.tensors[a.tensor], &t = program_.tensors[b.tensor];
  if (a.tensor != b.tensor && (is_placed(a) || is_placed(b))) return false;
  return is_on_chip(s.memory) == is_on_chip(t.memory) && s.shape == t.shape &&
         size_bytes(s.dtype) == size_bytes(t.dtype) && size_bytes(a.dtype) == size_bytes(b.dtype) && a.rank == b.rank &&
         std::equal(a.dims, a.dims + a.rank, b.dims);
}

std::uint32_t BoxShapes::find(const Access& access) {
  std::vector<std::uint32_t>& known = known_[hash(access)];
  for (std::uint32_t shape : known) {
    if (alike(*first_[shape], access)) return shape;
  }
  const std::uint32_t made = add(access, is_placed(access));
  known.push_back(made);
  return made;
}

}  // namespace kiln::timing
