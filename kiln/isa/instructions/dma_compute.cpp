#include <fmt/format.h>

#include <algorithm>

#include "kiln/isa/instructions/shared/dma.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/overlap.h"
#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::dma_compute {
namespace {
using namespace args::dma_compute;

constexpr int kMaxSources = 16;

constexpr Rule kSourceCount{1, "srcs has 1 to 16 sources", "add in several steps"};
constexpr Rule kSourceSize{2, "every source has as many elements as dst", "slice or reshape the sources"};
constexpr Rule kReduceAdd{3, "reduce_op is add", "use tensor_tensor for other operators"};
constexpr Rule kScalesOne{4, "scales is None or 1.0 for every source", "scale with tensor_scalar first"};
constexpr Rule kSkipNeedsOffset{5, "oob_mode skip needs a vector offset", "drop oob_mode"};
constexpr Rule kStaticAddresses{6, "addresses are static, except for a vector offset on dst or on one source",
                                "copy with dma_copy, which takes scalar offsets, and add afterwards"};
constexpr Rule kScatterSources{
    7, "a scatter (vector offset on dst) has two sources: the same access as dst, and data in SBUF",
    "pass srcs=[dst, data] with the very view that dst is"};
constexpr Rule kGatherSources{8,
                              "a gather (vector offset on a source) has two sources, the other one being dst, in SBUF",
                              "pass srcs=[dst, gathered] with dst in SBUF"};
constexpr Rule kUniqueFlag{9, "with a vector offset unique_indices is True", "make the indices unique and say so"};
constexpr Rule kSingleSource{10,
                             "a single source is copied: dst is not added to, although the migration guide suggests it",
                             "pass srcs=[dst, src] to accumulate, or use dma_copy", Mark::undocumented};
constexpr Rule kUniqueIndices{11, "the indices of a scatter are unique", "merge the rows with equal indices first",
                              Mark::undocumented};
constexpr Rule kSourceOverlap{
    12, "a source is the same elements as dst or shares none with it",
    "copy through another tile; the order of reads and writes inside an instruction is not defined",
    Mark::undocumented};

constexpr Rule kRules[] = {kSourceCount,     kSourceSize,      kReduceAdd,      kScalesOne,
                           kSkipNeedsOffset, kStaticAddresses, kScatterSources, kGatherSources,
                           kUniqueFlag,      kSingleSource,    kUniqueIndices,  kSourceOverlap};

bool same_affine(const Program& p, const Affine& a, const Affine& b) {
  const auto x = p.terms_of(a), y = p.terms_of(b);
  return a.constant == b.constant && std::equal(x.begin(), x.end(), y.begin(), y.end());
}

bool same_access(const Program& p, const Access& a, const Access& b) {
  if (a.tensor != b.tensor || a.dtype != b.dtype || !same_affine(p, a.partition, b.partition) ||
      !same_affine(p, a.offset, b.offset) || !std::equal(a.dims, a.dims + a.rank, b.dims, b.dims + b.rank))
    return false;
  if (a.dynamic == kNone || b.dynamic == kNone) return a.dynamic == b.dynamic;
  const Dynamic &x = p.dynamics[a.dynamic], &y = p.dynamics[b.dynamic];
  return x.kind == y.kind && x.scale == y.scale && same_access(p, p.accesses[x.source], p.accesses[y.source]);
}

bool has_vector(const InstView& v, const Access& a) {
  return v.dynamic(a) && v.dynamic(a)->kind == Dynamic::Kind::vector;
}

// The forms that read, add and write back rows of an HBM tensor, or add such rows to a tile.
void check_vector(Check& c) {
  const Access& to = c.access(dst);
  const auto from = c.accesses(srcs);
  const bool scatter = has_vector(c, to);
  const bool gather = !scatter && std::any_of(from.begin(), from.end(), [&](auto& a) { return has_vector(c, a); });
  const auto in_sbuf = [&](const Access& a) { return c.program().tensors[a.tensor].memory == Memory::sbuf; };
  const auto is_dst = [&](const Access& a) { return same_access(c.program(), a, to); };
  const auto pair = [&](auto&& a, auto&& b) {
    return from.size() == 2 && ((a(from[0]) && b(from[1])) || (a(from[1]) && b(from[0])));
  };
  const auto found = [&] { return fmt::format("{} sources; {}", from.size(), c.describe(dst)); };
  c.require(kScatterSources, !scatter || pair(is_dst, [&](auto& a) { return in_sbuf(a) && !has_vector(c, a); }), found);
  c.require(kGatherSources, !gather || (in_sbuf(to) && pair(is_dst, [&](auto& a) { return has_vector(c, a); })), found);
  c.require(kUniqueFlag, !(scatter || gather) || c.boolean(unique_indices), unique_indices,
            [&] { return "unique_indices is False"; });
  c.require(kSkipNeedsOffset, scatter || gather || c.get<OobMode>(oob_mode) != OobMode::skip, oob_mode,
            [&] { return "oob_mode is skip and every address is static"; });
}

void check(Check& c) {
  const Access& to = c.access(dst);
  const auto from = c.accesses(srcs);
  const auto factors = c.reals(scales);
  c.require(kSourceCount, !from.empty() && from.size() <= kMaxSources,
            [&] { return fmt::format("{} sources", from.size()); });
  const auto scalar = [&](const Access& a) { return a.dynamic != kNone && !has_vector(c, a); };
  bool moves = scalar(to);
  for (std::size_t i = 0; i < from.size(); ++i) {
    c.require(kSourceSize, from[i].count() == to.count(), dst,
              [&] { return fmt::format("dst has {} elements, source {} has {}", to.count(), i, from[i].count()); });
    c.require(kSourceOverlap, !overlaps_partially(c.program(), to, from[i]), dst,
              [&] { return fmt::format("dst and source {} overlap in part", i); });
    moves = moves || scalar(from[i]);
  }
  c.require(kReduceAdd, c.alu(reduce_op) == AluOp::add, reduce_op,
            [&] { return fmt::format("reduce_op is {}", info(c.alu(reduce_op)).name); });
  c.require(kScalesOne,
            factors.empty() || (factors.size() == from.size() &&
                                std::all_of(factors.begin(), factors.end(), [](double x) { return x == 1; })),
            scales, [&] { return fmt::format("scales is [{}]", fmt::join(factors, ", ")); });
  c.require(kStaticAddresses, !moves, [&] { return "a scalar offset"; });
  check_vector(c);
  c.advise(kSingleSource, from.size() != 1, [&] { return "one source"; });
}

// Elements of all tiles in step, in pieces that lie in one row of each.
void add_all(const Run& r) {
  std::vector<Tile> tiles{r.tile(dst)};
  for (const Tile& s : r.tiles(srcs)) tiles.push_back(s);
  for (Tile& t : tiles) {
    if (!t.is_dense()) continue;
    t.free_size *= t.rows;
    t.rows = 1;
    t.free_rank = 1;
    t.free[0] = {1, t.free_size};
  }
  alignas(64) float scratch[kChunk], sum[kChunk];
  const std::int64_t total = tiles[0].count();
  for (std::int64_t at = 0; at < total;) {
    std::int64_t n = std::min<std::int64_t>(kChunk, total - at);
    bool skip = false;
    for (const Tile& t : tiles) {
      n = std::min(n, t.free_size - at % t.free_size);
      skip = skip || (t.row_offset && t.row_offset[at / t.free_size] == kSkipRow);
    }
    for (std::size_t i = 1; i < tiles.size() && !skip; ++i) {
      const Tile& t = tiles[i];
      const float* x = load_row(r, t, at / t.free_size, at % t.free_size, n, scratch);
      if (i == 1) {
        std::copy_n(x, n, sum);
      } else {
        r.k.alu_vv(AluOp::add, sum, x, sum, n);
      }
    }
    if (!skip) store_row(r, tiles[0], at / tiles[0].free_size, at % tiles[0].free_size, n, sum);
    at += n;
  }
}

void run(Run& r) {
  const RowPair twice = find_duplicate_row(r.tile(dst), [](auto, auto) { return true; });
  if (twice.first >= 0)
    r.fail(kUniqueIndices, fmt::format("rows {} and {} have the same index", twice.first, twice.second));
  r.tiles(srcs).size() == 1 ? copy_elements(r, r.tile(dst), r.tiles(srcs)[0]) : add_all(r);
}

void track(Track& t) { track_transfer(t, dst, srcs); }

Cost cost(const CostQuery& q) { return dma_cost(q, q.access(dst), q.accesses(srcs), q.arch().dma.compute_rate); }

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "dst.flat[i] = cvt(Σ_j srcs[j].flat[i]) in float32, j ascending; one source is copied. With a vector offset v: "
        "base[v[w], …] += data[w, …] (dst scattered) or dst[w, …] += base[v[w], …] (a source gathered); rows out of "
        "bounds are an error, or left alone with oob_mode skip.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track,
    .cost_text = "bytes of all sources at the DMA's compute rate: 50 % of the copy rate, the full rate on gen4",
};

}  // namespace kiln::isa::instruction::dma_compute
