#include "kiln/analysis/shared_bytes.h"

#include <algorithm>

namespace kiln::analysis {
using namespace isa;
namespace {

std::int64_t begin_of(const Tensor& t) { return t.address->byte_offset; }
std::int64_t end_of(const Tensor& t) { return begin_of(t) + t.bytes_per_partition(); }

}  // namespace

std::vector<bool> may_share_bytes(const Program& program) {
  std::vector<bool> shares(program.tensors.size());
  std::vector<TensorId> placed;
  for (TensorId id = 0; id < program.tensors.size(); ++id) {
    if (is_on_chip(program.tensors[id].memory) && program.tensors[id].address) placed.push_back(id);
  }
  const auto memory_then_begin = [&](TensorId id) {
    return std::pair(program.tensors[id].memory, begin_of(program.tensors[id]));
  };
  std::ranges::sort(placed, {}, memory_then_begin);
  TensorId last = kNone;  // of those so far, the one that ends last
  for (const TensorId id : placed) {
    const Tensor& t = program.tensors[id];
    const Tensor* before = last == kNone ? nullptr : &program.tensors[last];
    const bool is_near = before && before->memory == t.memory;
    if (is_near && begin_of(t) < end_of(*before)) shares[id] = shares[last] = true;
    if (!is_near || end_of(t) > end_of(*before)) last = id;
  }
  return shares;
}

}  // namespace kiln::analysis
