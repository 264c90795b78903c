#include "kiln/analysis/box.h"

#include <cstdlib>
#include <numeric>

namespace kiln::analysis {
using namespace isa;

bool Box::meets(const Box& other) const {
  if (step == 1 || other.step == 1) return true;
  const std::int64_t common = std::gcd(step, other.step);
  if (common <= 1) return true;
  std::int64_t apart = (other.lo[rank - 1] - lo[rank - 1]) % common;
  if (apart < 0) apart += common;
  return apart < width || common - apart < other.width;
}

std::size_t Box::hash() const {
  std::size_t h = static_cast<std::size_t>(step);
  for (int d = 0; d < rank; ++d) {
    h = h * 0x9E3779B97F4A7C15ull + static_cast<std::size_t>(lo[d]);
    h = (h ^ (h >> 29)) * 31 + static_cast<std::size_t>(hi[d] - lo[d]);
  }
  return h ^ (h >> 32);
}

BoxShape::BoxShape(const Program& program, const Access& access, bool flat) {
  const Tensor& t = program.tensors[access.tensor];
  const bool on_chip = is_on_chip(t.memory);
  const std::int64_t element = size_bytes(access.dtype);
  flat = flat || t.shape.size() > kBoxRank || t.shape.empty();
  first_ = on_chip ? 1 : 0;
  if (on_chip) {
    size_[0] = flat ? std::int64_t{1} << 40 : t.partitions();
    extent_[0] = access.rows();
  }
  if (flat) {
    rank_ = first_ + 1;
    size_[rank_ - 1] = std::int64_t{1} << 40;
    stride_[rank_ - 1] = 1;
    if (t.address) origin_[0] = t.address->partition, origin_[1] = t.address->byte_offset;
  } else {
    rank_ = static_cast<int>(t.shape.size());
    if (rank_ == first_) rank_ = first_ + 1;
    std::int64_t stride = 1;
    for (int d = rank_ - 1; d >= first_; --d) {
      size_[d] = d < static_cast<int>(t.shape.size()) ? t.shape[d] : 1;
      if (d == rank_ - 1) size_[d] *= size_bytes(t.dtype);
      stride_[d] = stride;
      stride *= size_[d];
    }
  }
  width_ = element;
  for (int i = access.rank - 1; i >= first_; --i) add_dim(access.dims[i], element);
  for (int d = first_; d < rank_; ++d) extent_[d] += d == rank_ - 1 ? element : 1;
  if (step_ <= width_) step_ = width_ = 1;
}

// Adds a dimension of the access, inner ones first, to the tensor's dimension that it runs along.
void BoxShape::add_dim(const Dim& dim, std::int64_t element) {
  if (dim.count <= 1 || dim.stride == 0) return;
  const std::int64_t stride = std::abs(dim.stride) * element;
  if (dim.stride < 0) back_ += (dim.count - 1) * stride;
  int d = first_;
  while (d < rank_ - 1 && stride_[d] > stride) ++d;
  if (stride % stride_[d] != 0) {  // across dimensions: all of what lies inside
    for (int i = first_; i < rank_; ++i) extent_[i] = size_[i];
    return;
  }
  extent_[d] += (dim.count - 1) * (stride / stride_[d]);
  if (d != rank_ - 1) return;
  if (step_ == 1 && stride == width_) {
    width_ *= dim.count;
  } else {
    step_ = step_ == 1 ? stride : std::gcd(step_, stride);
  }
}

Box BoxShape::at(std::int64_t partition, std::int64_t byte) const {
  Box b;
  b.rank = rank_;
  b.step = step_;
  b.width = width_;
  if (first_ == 1) {
    b.lo[0] = origin_[0] + partition;
    b.hi[0] = b.lo[0] + extent_[0];
  }
  byte += origin_[1] - back_;
  int full_from = rank_;  // dimensions from here on run over their end
  for (int d = first_; d < rank_; ++d) {
    b.lo[d] = d == rank_ - 1 ? byte : byte / stride_[d];
    byte -= b.lo[d] * stride_[d];
    b.hi[d] = b.lo[d] + extent_[d];
    if (b.hi[d] > size_[d] && d > first_ && full_from == rank_) full_from = d;
  }
  if (full_from < rank_) {
    b.hi[full_from - 1] += (b.hi[full_from] - 1) / size_[full_from];
    for (int d = full_from; d < rank_; ++d) b.lo[d] = 0, b.hi[d] = size_[d];
    b.step = b.width = 1;
  }
  return b;
}

Box BoxShape::everything() const {
  Box b;
  b.rank = rank_;
  for (int d = 0; d < rank_; ++d) b.hi[d] = size_[d];
  return b;
}

}  // namespace kiln::analysis
