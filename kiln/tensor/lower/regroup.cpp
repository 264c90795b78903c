// Copies from HBM to HBM that change the order of dimensions, so that runs are short: (tokens, heads, 64) to (heads,
// tokens, 64), pixels of channels to pixels. As one DMA every run is a transfer of its own. Here both sides move longer
// runs, and an engine changes the order of what lies in SBUF.
#include <algorithm>
#include <limits>

#include "kiln/tensor/lower/copies.h"

namespace kiln::tensor {

using isa::Index;
using isa::View;

namespace {

constexpr double kMoreToWaitFor = 6000;  // ns: a copy waits for one DMA alone, this for two and an engine

// A dimension of a copy, as both sides see it, and how much of it a partition has.
struct Both {
  std::int64_t count, to, from;
  std::int64_t block = 1;
  int number = 0;  // among all

  std::int64_t blocks() const { return count / block; }
};
using Side = std::int64_t Both::*;

// What the DMA engines take, all of them at work, for runs of some bytes.
double dma_ns(const DmaSpec& dma, double runs, double bytes, bool writes_hbm) {
  const double small = writes_hbm && bytes < dma.small_write_bytes ? dma.hbm_write_packet_ns : 0;
  return runs * (dma.packet_ns + small + bytes / dma.packet_bytes_per_ns) / dma.engines;
}

struct Regrouping {
  isa::Kernel& k;
  const Arch& arch;
  std::int64_t most;  // bytes of a partition, of what is loaded together
  View dst, src;
  std::vector<Both> dims;

  std::int64_t bytes() const { return size_bytes(dst.dtype()); }
  double elements() const;
  std::int64_t together() const;  // elements that a partition has
  std::vector<Both> ordered(Side side) const;
  std::int64_t run(Side side) const;
  void lengthen(Side side, std::int64_t wanted, bool evenly);
  std::vector<Both> rest() const;
  bool choose();
  double left() const;
  double predicted_ns() const;
  double direct_ns() const;
  Dims inside(const std::vector<Both>& order, Side side) const;
  Dims loaded_at(const std::vector<Both>& order) const;
  bool fits() const;
  void tile(const Both& first, std::int64_t count, const Both& second, const Index& to, const Index& from) const;
  void emit(const Index& to, const Index& from) const;
};

double Regrouping::elements() const {
  double n = 1;
  for (const Both& d : dims) n *= static_cast<double>(d.count);
  return n;
}

std::int64_t Regrouping::together() const {
  std::int64_t n = 1;
  for (const Both& d : dims) n *= d.block;
  return n;
}

// As they lie on one side, the closest last.
std::vector<Both> Regrouping::ordered(Side side) const {
  std::vector<Both> out = dims;
  std::stable_sort(out.begin(), out.end(), [&](const Both& a, const Both& b) { return a.*side > b.*side; });
  return out;
}

// Elements of a partition that follow each other on one side.
std::int64_t Regrouping::run(Side side) const {
  const std::vector<Both> order = ordered(side);
  std::int64_t n = 1;
  for (auto d = order.rbegin(); d != order.rend() && (*d).*side == n; ++d) {
    n *= d->block;
    if (d->block < d->count) break;
  }
  return n;
}

// Gives partitions more of the closest dimensions of one side; evenly: so that nothing is left, if it may be.
void Regrouping::lengthen(Side side, std::int64_t wanted, bool evenly) {
  std::int64_t n = 1;
  while (n < wanted) {
    const auto d = std::find_if(dims.begin(), dims.end(), [&](const Both& b) { return b.*side == n; });
    if (d == dims.end()) return;
    const std::int64_t block = std::max(d->block, std::min(d->count, (wanted + n - 1) / n));
    std::int64_t even = block;
    while (evenly && even < std::min(d->count, 2 * block) && d->count % even != 0) ++even;
    d->block = d->count % even == 0 ? even : block;
    if (d->block < d->count) return;
    n *= d->block;
  }
}

// The dimensions that are not inside a partition.
std::vector<Both> Regrouping::rest() const {
  std::vector<Both> out;
  for (const Both& d : dims) {
    if (d.blocks() > 1) out.push_back({d.blocks(), d.to * d.block, d.from * d.block});
  }
  if (out.empty()) out.push_back({1, 0, 0});
  return out;
}

// Values of the first dimension that lie on partitions together with all of the second.
std::int64_t rows_together(const Both& first, const Both& second) {
  return std::min(first.count, kBlock / second.count);
}

// The two dimensions that fill partitions best, and how many they fill. The same one twice: it alone.
struct OnPartitions {
  std::size_t first = 0, second = 0;
  double filled = 0;

  explicit OnPartitions(const std::vector<Both>& dims) {
    for (std::size_t a = 0; a < dims.size(); ++a) {
      for (std::size_t b = 0; b < dims.size(); ++b) {
        const std::int64_t more = a == b ? 1 : dims[b].count, n = dims[a].count;
        if (more > kBlock) continue;
        const std::int64_t together = std::min(n, kBlock / more), passes = (n + together - 1) / together;
        const double rows = static_cast<double>(n * more) / static_cast<double>(passes);
        if (rows > filled * 1.01) first = a, second = b, filled = rows;
      }
    }
  }
};

// The share that no block has.
double Regrouping::left() const {
  double whole = 1;
  for (const Both& d : dims) whole *= static_cast<double>(d.blocks() * d.block) / static_cast<double>(d.count);
  return 1 - whole;
}

double Regrouping::direct_ns() const {
  const Both& last = dims.back();
  const auto n = static_cast<double>(last.to == 1 && last.from == 1 ? last.count : 1);
  return dma_ns(arch.dma, elements() / n, n * bytes(), true);
}

double Regrouping::predicted_ns() const {
  const auto loaded = static_cast<double>(run(&Both::from)), stored = static_cast<double>(run(&Both::to));
  const double n = elements() * (1 - left()), unfilled = kBlock / OnPartitions(rest()).filled;
  const double there = dma_ns(arch.dma, n / loaded, loaded * bytes(), false);
  const double back = dma_ns(arch.dma, n / stored, stored * bytes(), true);
  return kMoreToWaitFor + (there + back) * unfilled + direct_ns() * left();
}

// What lies in a partition, in this order: where it is on one side.
Dims Regrouping::inside(const std::vector<Both>& order, Side side) const {
  Dims out;
  for (const Both& d : order) {
    if (d.block > 1) out.push_back({d.*side, d.block});
  }
  if (out.empty()) out.push_back({1, 1});
  return out;
}

// The same where it was loaded, in the order of the source.
Dims Regrouping::loaded_at(const std::vector<Both>& order) const {
  const std::vector<Both> source = ordered(&Both::from);
  Dims out;
  for (const Both& d : order) {
    if (d.block == 1) continue;
    std::int64_t stride = 1;
    for (auto s = source.rbegin(); s != source.rend() && s->number != d.number; ++s) stride *= s->block;
    out.push_back({stride, d.block});
  }
  return out;
}

std::size_t joined_rank(const Dims& dims) {
  std::vector<Dims> one{dims};
  join_together(one);
  return one[0].size();
}

// Patterns have five dimensions at most, two of which are partitions, or one in SBUF.
bool Regrouping::fits() const {
  constexpr std::size_t kHbm = isa::kMaxOperandRank - 2, kSbuf = isa::kMaxOperandRank - 1;
  const std::vector<Both> to = ordered(&Both::to), from = ordered(&Both::from);
  return together() * bytes() <= most && joined_rank(inside(to, &Both::to)) <= kHbm &&
         joined_rank(inside(from, &Both::from)) <= kHbm && joined_rank(loaded_at(to)) <= kSbuf;
}

// Blocks by predicted time; false when a single DMA takes no longer.
bool Regrouping::choose() {
  double best = 0.9 * direct_ns();
  std::optional<std::vector<Both>> chosen;
  const auto attempt = [&](std::int64_t loaded, std::int64_t stored, bool evenly) {
    Regrouping tried = *this;
    tried.lengthen(&Both::to, stored / bytes(), evenly);
    tried.lengthen(&Both::from, loaded / bytes(), evenly);
    if (!tried.fits()) return;
    const double ns = tried.predicted_ns();
    if (ns < best * 0.98) best = ns, chosen = tried.dims;
  };
  for (std::int64_t loaded = 128; loaded <= 4096; loaded *= 2) {
    for (std::int64_t stored = 128; stored <= 4096; stored *= 2) {
      attempt(loaded, stored, true);
      attempt(loaded, stored, false);
    }
  }
  if (chosen) dims = *chosen;
  return chosen.has_value();
}

// Loads what some partitions have, changes its order, stores it.
void Regrouping::tile(const Both& first, std::int64_t count, const Both& second, const Index& to,
                      const Index& from) const {
  const std::int64_t rows = count * second.count, n = together();
  const View loaded = k.sbuf({rows, n}, dst.dtype()), turned = k.sbuf({rows, n}, dst.dtype());
  const auto hbm = [&](const View& view, Side side, const Index& at) {
    std::vector<Dims> pattern{{{first.*side, count}, {second.*side, second.count}}};
    for (const isa::Dim& d : inside(ordered(side), side)) pattern[0].push_back(d);
    join_together(pattern);
    return view.ap(pattern[0], at);
  };
  std::vector<Dims> moved{loaded_at(ordered(&Both::to))};
  join_together(moved);
  moved[0].insert(moved[0].begin(), {n, rows});
  k.dma_copy({.dst = loaded, .src = hbm(src, &Both::from, from)});
  k.tensor_copy({.dst = turned, .src = loaded.ap(moved[0])});
  k.dma_copy({.dst = hbm(dst, &Both::to, to), .src = turned});
}

void Regrouping::emit(const Index& to, const Index& from) const {
  const std::vector<Both> outer = rest();
  const OnPartitions on(outer);
  const Both first = outer[on.first], second = on.first == on.second ? Both{1, 0, 0} : outer[on.second];
  std::vector<Both> loops;
  for (std::size_t d = 0; d < outer.size(); ++d) {
    if (d != on.first && d != on.second) loops.push_back(outer[d]);
  }
  const std::function<void(std::size_t, Index, Index)> each = [&](std::size_t d, const Index& t, const Index& f) {
    if (d < loops.size()) {
      return k.loop(loops[d].count, [&](Index i) { each(d + 1, t + i * loops[d].to, f + i * loops[d].from); });
    }
    k.tiles(first.count, rows_together(first, second),
            [&](Index i, std::int64_t count) { tile(first, count, second, t + i * first.to, f + i * first.from); });
  };
  each(0, to, from);
}

// Whether dimensions of which each is contiguous on one side are long: the tensor engine turns such.
bool is_matrix(DType t, const Dims& to, const Dims& from) {
  constexpr std::int64_t kLong = 32;
  if (!Turner::takes(t) || to.back().stride != 1 || to.back().count < kLong || from.back().stride == 1) return false;
  return std::any_of(from.begin(), from.end(), [](const isa::Dim& d) { return d.stride == 1 && d.count >= kLong; });
}

}  // namespace

bool Copies::regroup(const View& dst, const Strided& whole, const View& src, const Strided& source) {
  if (whole.dims.size() < 2 || dst.dtype() != src.dtype()) return false;
  if (!options.regroups_matrices && arch.features.tensor_transpose_mode &&
      is_matrix(dst.dtype(), whole.dims, source.dims))
    return false;
  Regrouping r{.k = k, .arch = arch, .most = options.regrouped_bytes, .dst = dst, .src = src, .dims = {}};
  for (std::size_t d = 0; d < whole.dims.size(); ++d)
    r.dims.push_back({.count = whole.dims[d].count,
                      .to = whole.dims[d].stride,
                      .from = source.dims[d].stride,
                      .number = static_cast<int>(d)});
  if (!r.choose()) return false;
  storage.regroups = true;
  r.emit(whole.offset, source.offset);
  // Then what no block has: along each dimension, of the whole blocks of those before.
  Strided to = whole, from = source;
  for (std::size_t d = 0; d < r.dims.size(); ++d) {
    const std::int64_t done = r.dims[d].blocks() * r.dims[d].block, left = r.dims[d].count - done;
    to.dims[d].count = from.dims[d].count = left;
    if (left > 0) {
      move(dst, {to.offset + done * to.dims[d].stride, to.dims}, src,
           {from.offset + done * from.dims[d].stride, from.dims});
    }
    to.dims[d].count = from.dims[d].count = done;
  }
  return true;
}

}  // namespace kiln::tensor
