#include "kiln/isa/semantics/gathering.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/run.h"

namespace kiln::isa {
namespace {

bool is_wide_integer(DType t) { return is_integer(t) && size_bytes(t) == 4; }

const std::byte* at(const Parcel& p, std::int64_t element) { return p.data + element * size_bytes(p.dtype); }

}  // namespace

int Gathering::member_of(std::int64_t rank) const {
  for (int i = 0; i < size(); ++i) {
    if (members_[i].rank == rank) return i;
  }
  return -1;
}

void Gathering::move(const Spot& from, const Spot& to, std::int64_t count) const {
  const Parcel &src = parcel(from), &dst = parcel(to);
  const std::int64_t size = size_bytes(src.dtype);
  std::memcpy(dst.data + to.element * size, src.data + from.element * size, count * size);
  if (!dst.shadow) return;
  if (src.shadow) {
    std::copy_n(src.shadow + from.element, count, dst.shadow + to.element);
  } else {
    std::fill_n(dst.shadow + to.element, count, Shadow{0});
  }
}

void Gathering::reduce(AluOp op, const std::vector<Spot>& from, const std::vector<Spot>& to, std::int64_t count) const {
  const DType dtype = parcel(from[0]).dtype;
  const bool wide = is_wide_integer(dtype);
  alignas(64) float sum[kChunk], scratch[kChunk];
  alignas(64) std::uint32_t bits[kChunk];
  for (std::int64_t first = 0; first < count; first += kChunk) {
    const std::size_t n = std::min<std::int64_t>(kChunk, count - first);
    for (std::size_t i = 0; i < from.size(); ++i) {
      const std::byte* x = at(parcel(from[i]), from[i].element + first);
      if (wide) {
        const auto* values = reinterpret_cast<const std::uint32_t*>(x);
        if (i == 0) std::copy_n(values, n, bits);
        if (i > 0) k_.int_vv(op, dtype == DType::int32, bits, values, bits, n);
      } else {
        float* into = i == 0 ? sum : scratch;
        k_.load(dtype, x, 1, n, into);
        if (i > 0) k_.alu_vv(op, sum, scratch, sum, n);
      }
    }
    for (const Spot& t : to) {
      std::byte* out = parcel(t).data + (t.element + first) * size_bytes(dtype);
      if (wide) {
        std::memcpy(out, bits, n * sizeof(bits[0]));
      } else {
        k_.store(dtype, sum, n, out, 1);
      }
    }
  }
  for (const Spot& t : to) {
    if (!parcel(t).shadow) continue;
    for (std::int64_t e = 0; e < count; ++e) {
      Shadow s = 0;
      for (std::size_t i = 0; i < from.size() && !s; ++i) {
        if (const Parcel& p = parcel(from[i]); p.shadow) s = p.shadow[from[i].element + e];
      }
      parcel(t).shadow[t.element + e] = s;
    }
  }
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

}  // namespace kiln::isa
