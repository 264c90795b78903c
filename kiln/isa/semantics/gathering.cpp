#include "kiln/isa/semantics/gathering.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/run.h"

namespace kiln::isa {
namespace {

void reduce_chunk(AluOp op, DType dtype, std::span<const std::byte* const> from, std::span<std::byte* const> to,
                  std::int64_t first, std::size_t n, const Kernels& k) {
  alignas(64) float sum[kChunk], scratch[kChunk];
  const std::int64_t at = first * size_bytes(dtype);
  k.load(dtype, from[0] + at, 1, n, sum);
  for (const std::byte* source : from.subspan(1)) {
    const float* values = scratch;
    if (dtype == DType::float32) {
      values = reinterpret_cast<const float*>(source + at);
    } else {
      k.load(dtype, source + at, 1, n, scratch);
    }
    k.alu_vv(op, sum, values, sum, n);
  }
  for (std::byte* target : to) k.store(dtype, sum, n, target + at, 1);
}

}  // namespace

int Gathering::member_of(std::int64_t rank) const {
  for (int i = 0; i < size(); ++i) {
    if (members_[i].rank == rank) return i;
  }
  return -1;
}

void Gathering::move(const Spot& from, const Spot& to, std::int64_t count) const {
  carrier_.move(*this, from, to, count);
}

void Gathering::reduce(AluOp op, const std::vector<Spot>& from, const std::vector<Spot>& to, std::int64_t count) const {
  carrier_.reduce(*this, op, from, to, count);
}

std::vector<Gathering::Spot> Gathering::by_rank(int param, int tile, std::int64_t element) const {
  std::vector<Spot> spots;
  for (int i = 0; i < size(); ++i) spots.push_back({i, param, tile, element});
  std::ranges::sort(spots, {}, [&](const Spot& s) { return members_[s.member].rank; });
  return spots;
}

void Gathering::fail(int member, const Rule& rule, std::string found) const {
  throw Error(broken(members_[member].view, arch_, rule,
                     {.found = fmt::format("on rank {}: {}", members_[member].rank, found)}));
}

void copy_elements(const Parcel& src, std::int64_t from, const Parcel& dst, std::int64_t to, std::int64_t count) {
  const std::int64_t size = size_bytes(src.dtype);
  std::memcpy(dst.data + to * size, src.data + from * size, count * size);
  if (!dst.shadow) return;
  if (src.shadow) {
    std::copy_n(src.shadow + from, count, dst.shadow + to);
  } else {
    std::fill_n(dst.shadow + to, count, Shadow{0});
  }
}

void reduce_elements(AluOp op, DType dtype, std::span<const std::byte* const> from, std::span<std::byte* const> to,
                     std::int64_t count, const Kernels& kernels) {
  for (std::int64_t first = 0; first < count; first += kChunk)
    reduce_chunk(op, dtype, from, to, first, std::min<std::int64_t>(kChunk, count - first), kernels);
}

void reduce_shadows(std::span<const Shadow* const> from, std::span<Shadow* const> to, std::int64_t count) {
  for (std::int64_t e = 0; e < count; ++e) {
    Shadow missing = 0;
    for (std::size_t i = 0; i < from.size() && !missing; ++i) missing = from[i] ? from[i][e] : Shadow{0};
    for (Shadow* target : to) target[e] = missing;
  }
}

}  // namespace kiln::isa
