#include "kiln/isa/program.h"

#include <algorithm>

namespace kiln::isa {

const char* name(Role role) {
  constexpr const char* kNames[] = {"internal", "input", "output", "inout"};
  return kNames[static_cast<int>(role)];
}

std::int64_t Tensor::size() const {
  std::int64_t n = 1;
  for (auto d : shape) n *= d;
  return n;
}

std::int64_t Tensor::partitions() const { return is_on_chip(memory) && !shape.empty() ? shape[0] : 1; }

std::int64_t Tensor::free_size() const {
  std::int64_t n = 1;
  for (std::size_t i = is_on_chip(memory) ? 1 : 0; i < shape.size(); ++i) n *= shape[i];
  return n;
}

std::int64_t Access::count() const {
  std::int64_t n = 1;
  for (int i = 0; i < rank; ++i) n *= dims[i].count;
  return n;
}

std::int64_t Access::row_size() const {
  std::int64_t n = 1;
  for (int i = 1; i < rank; ++i) n *= dims[i].count;
  return n;
}

std::int64_t Loop::trip_count() const {
  if (upper.value <= lower.value) return 0;
  return (upper.value - lower.value + step - 1) / step;
}

LocId Program::add_loc(const SourceLoc& loc) {
  if (!loc.known()) return 0;
  if (!(locs.back() == loc)) locs.push_back(loc);
  return static_cast<LocId>(locs.size() - 1);
}

Access whole(const Program& program, TensorId id) {
  const Tensor& t = program.tensors[id];
  Access a;
  a.tensor = id;
  a.dtype = t.dtype;
  a.rank = static_cast<std::uint8_t>(t.shape.size());
  std::int64_t stride = 1;
  for (int i = a.rank - 1; i >= 0; --i) {
    a.dims[i] = {i == 0 && is_on_chip(t.memory) ? 1 : stride, t.shape[i]};
    stride *= t.shape[i];
  }
  return a;
}

Range range_of(const Program& program, const Affine& affine) {
  Range r{affine.constant, affine.constant};
  for (const Term& term : program.terms_of(affine)) {
    const Loop& loop = program.loops[term.loop];
    const std::int64_t first = loop.lower.value;
    const std::int64_t last = first + std::max<std::int64_t>(loop.trip_count() - 1, 0) * loop.step;
    const std::int64_t a = term.coefficient * first, b = term.coefficient * last;
    r.min += std::min(a, b);
    r.max += std::max(a, b);
  }
  return r;
}

Range element_range(const Program& program, const Access& access) {
  Range r = range_of(program, access.offset);
  const bool on_chip = is_on_chip(program.tensors[access.tensor].memory);
  for (int i = on_chip ? 1 : 0; i < access.rank; ++i) {
    const std::int64_t reach = access.dims[i].stride * (access.dims[i].count - 1);
    (reach < 0 ? r.min : r.max) += reach;
  }
  return r;
}

}  // namespace kiln::isa
