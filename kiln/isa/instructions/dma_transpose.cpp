#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "kiln/isa/instructions/shared/dma.h"
#include "kiln/isa/instructions/shared/rule_words.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::dma_transpose {
namespace {
using namespace args::dma_transpose;

constexpr Rule kRank{1, "dst and src have the same rank: 2, 3 or 4", "reshape the views to one rank"};
constexpr Rule kAxes{
    2, "axes is (1, 0), (2, 1, 0) or (3, 1, 2, 0), by rank: the first and the last dimension change places",
    "leave axes out, or reorder the other dimensions with views"};
constexpr Rule kDstShape{3, "dst.shape[i] is src.shape[axes[i]]",
                         "allocate dst with the first and last dimension of src swapped"};
constexpr Rule kSameDtype{4, "dst and src have the same dtype", "convert with tensor_copy before or after"};
constexpr Rule kElementSize{5, "elements have 2 or 4 bytes",
                            "transpose 1-byte data in pairs through .view(), or use nc_transpose", Mark::undocumented};
constexpr Rule kDstMemory{6, "dst is in SBUF; documents disagree about HBM", "transpose into SBUF and copy from there",
                          Mark::undocumented};
constexpr Rule kHardwareDge{7, "hardware DGE exists from gen3 on", "leave dge_mode out"};
constexpr Rule kHardwareDgeElements{8, "hardware DGE transposes 2-byte elements", "leave dge_mode out"};
constexpr Rule kHardwareDgeRows{9,
                                "with hardware DGE src.shape[0] is 16 (2-D), or 1, 2, 4, 8 or 16 with src.shape[0] * "
                                "src.shape[-2] a multiple of 16 (3-D, 4-D)",
                                "split the leading dimension, or leave dge_mode out"};
constexpr Rule kHardwareDgeColumns{10, "with hardware DGE src.shape[-1] is at most 128",
                                   "split the last dimension, or leave dge_mode out"};
constexpr Rule kSoftwareDge{11, "dge_mode swdge belongs to a vector offset",
                            "leave dge_mode out, or use dge_mode.hwdge"};
constexpr Rule kKnownDgeMode{12, "dge_mode is unknown or hwdge; documents disagree about none", "leave dge_mode out",
                             Mark::undocumented};
constexpr Rule kPrebuiltStatic{13, "prebuilt descriptors (dge_mode none) have no run-time address",
                               "leave dge_mode out", Mark::undocumented};
constexpr Rule kVectorOffsetDge{14, words::kVectorOffsetDge};
constexpr Rule kVectorOffsetGeneration{15, "a vector offset exists from gen3 on", "gather with dma_copy first"};
constexpr Rule kVectorOffsetSrc{16, "only src has a vector offset", "transpose first, then scatter with dma_copy"};
constexpr Rule kVectorOffsetElements{17, "with a vector offset elements have 2 bytes", "gather with dma_copy first"};
constexpr Rule kVectorOffsetShape{18,
                                  "with a vector offset src.shape[0] is a multiple of 16 and src.shape[-1] at most 128",
                                  "pad the indices to a multiple of 16, split the last dimension"};
constexpr Rule kVectorOffsetMiddle{19, "with a vector offset src.shape[1] or src.shape[2] of a 4-D src is 1",
                                   "split one of the dimensions"};
constexpr Rule kIndexTile{20,
                          "the index tile is 2-D uint32 with 16 to 128 partitions, a multiple of 16 (128 when it has "
                          "several columns), and at least src.shape[0] indices",
                          "lay the indices out column by column in a (128, n) uint32 tile"};
constexpr Rule kSkipNeedsOffset{21, "oob_mode skip needs a scalar or vector offset",
                                "drop oob_mode, or use a dynamic offset"};
constexpr Rule kPriorityRange{22, words::kPriorityRange};
constexpr Rule kPriorityGeneration{23, words::kPriorityGeneration};
constexpr Rule kDstStart{24, "from gen3 on the destination of a transpose starts at a multiple of 32 bytes",
                         "start the slice at a multiple of 32 bytes", Mark::external};

constexpr Rule kRules[] = {kRank,
                           kAxes,
                           kDstShape,
                           kSameDtype,
                           kElementSize,
                           kDstMemory,
                           kHardwareDge,
                           kHardwareDgeElements,
                           kHardwareDgeRows,
                           kHardwareDgeColumns,
                           kSoftwareDge,
                           kKnownDgeMode,
                           kPrebuiltStatic,
                           kVectorOffsetDge,
                           kVectorOffsetGeneration,
                           kVectorOffsetSrc,
                           kVectorOffsetElements,
                           kVectorOffsetShape,
                           kVectorOffsetMiddle,
                           kIndexTile,
                           kSkipNeedsOffset,
                           kPriorityRange,
                           kPriorityGeneration,
                           kDstStart};

Dim last(const Access& a) { return a.dims[a.rank - 1]; }

void check_shape(Check& c) {
  const int rank = c.rank(src);
  c.require(kRank, c.rank(dst) == rank && rank >= 2 && rank <= 4,
            [&] { return fmt::format("{}; {}", c.describe(dst), c.describe(src)); });
  if (c.rank(dst) != rank || rank < 2 || rank > 4) return;
  const auto source_of = [&](int i) { return i == 0 ? rank - 1 : i == rank - 1 ? 0 : i; };
  const auto given = c.integers(axes);
  bool known = given.empty() || static_cast<int>(given.size()) == rank;
  bool swapped = true;
  for (int i = 0; i < rank; ++i) {
    known = known && (given.empty() || given[i] == source_of(i));
    swapped = swapped && c.dim(dst, i) == c.dim(src, source_of(i));
  }
  c.require(kAxes, known, axes, [&] { return fmt::format("axes is ({}) for rank {}", fmt::join(given, ", "), rank); });
  c.require(kDstShape, swapped,
            [&] { return fmt::format("dst is {}, src is {}", shape_text(c.access(dst)), shape_text(c.access(src))); });
}

void check_hwdge(Check& c) {
  if (c.get<DgeMode>(dge_mode) != DgeMode::hwdge) return;
  const std::int64_t rows = c.dim(src, 0), rank = c.rank(src);
  const auto found = [&] { return c.describe(src); };
  c.require(kHardwareDge, c.arch().features.hwdge, dge_mode, [&] { return "dge_mode is hwdge"; });
  c.require(kHardwareDgeElements, size_bytes(c.dtype(src)) == 2, found);
  const bool power = rows >= 1 && rows <= 16 && (rows & (rows - 1)) == 0;
  c.require(kHardwareDgeRows, rank == 2 ? rows == 16 : power && rows * c.dim(src, static_cast<int>(rank) - 2) % 16 == 0,
            found);
  c.require(kHardwareDgeColumns, last(c.access(src)).count <= c.arch().partitions, found);
}

void check_vector(Check& c) {
  c.require(kVectorOffsetSrc, !c.is_vector_offset(dst), dst, [&] { return "dst has a vector offset"; });
  if (!c.is_vector_offset(src)) return;
  const auto found = [&] { return c.describe(src); };
  const Access& s = c.access(src);
  const Access& index = c.program().accesses[c.dynamic(src)->source];
  const DgeMode mode = c.get<DgeMode>(dge_mode);
  c.require(kVectorOffsetDge, mode == DgeMode::unknown || mode == DgeMode::swdge,
            [&] { return "a vector offset with dge_mode hwdge or none"; });
  c.require(kVectorOffsetGeneration, c.arch().features.dma_indirect_transpose, src,
            [&] { return "src has a vector offset"; });
  c.require(kVectorOffsetElements, size_bytes(s.dtype) == 2, found);
  c.require(kVectorOffsetShape, s.rows() % 16 == 0 && last(s).count <= c.arch().partitions, found);
  c.require(kVectorOffsetMiddle, s.rank != 4 || s.dims[1].count == 1 || s.dims[2].count == 1, found);
  const std::int64_t partitions = index.rows(), columns = index.row_size();
  const bool whole = columns == 1 ? partitions >= 16 && partitions % 16 == 0 : partitions == c.arch().partitions;
  c.require(kIndexTile, index.rank == 2 && index.dtype == DType::uint32 && whole && index.count() >= s.rows(), [&] {
    return fmt::format("indices are {} {} for {} rows", name(index.dtype), shape_text(index), s.rows());
  });
}

void check_modes(Check& c) {
  const DgeMode mode = c.get<DgeMode>(dge_mode);
  const bool moves = c.dynamic(dst) || c.dynamic(src);
  if (!c.is_vector_offset(src)) {
    c.require(kSoftwareDge, mode != DgeMode::swdge, dge_mode, [&] { return "dge_mode is swdge"; });
    c.advise(kKnownDgeMode, mode != DgeMode::none || moves, dge_mode, [&] { return "dge_mode is none"; });
    c.require(kPrebuiltStatic, mode != DgeMode::none || !moves, [&] { return "a scalar offset with dge_mode none"; });
  }
  c.require(kSkipNeedsOffset, c.get<OobMode>(oob_mode) != OobMode::skip || moves, oob_mode,
            [&] { return "oob_mode is skip and every address is static"; });
  if (!c.has(priority)) return;
  c.require(kPriorityRange, c.integer(priority) >= 0 && c.integer(priority) <= 3, priority,
            [&] { return fmt::format("priority is {}", c.integer(priority)); });
  c.require(kPriorityGeneration, c.arch().features.dma_priority, priority, [&] { return "priority is given"; });
}

void check_alignment(Check& c) {
  if (!c.arch().features.dma_indirect_transpose) return;  // no crossbar
  const std::int64_t base = c.tensor(dst).address ? c.tensor(dst).address->byte_offset : 0;
  const std::int64_t first = base + c.access(dst).offset.constant * size_bytes(c.dtype(dst));
  c.advise(kDstStart, first % 32 == 0, dst, [&] { return fmt::format("`dst` starts at byte {}", first); });
}

void check(Check& c) {
  check_shape(c);
  c.require(kSameDtype, c.dtype(dst) == c.dtype(src),
            [&] { return fmt::format("dst is {}, src is {}", name(c.dtype(dst)), name(c.dtype(src))); });
  c.require(kElementSize, size_bytes(c.dtype(src)) > 1, src,
            [&] { return fmt::format("src is {}", name(c.dtype(src))); });
  c.advise(kDstMemory, !c.in_hbm(dst), dst);
  check_hwdge(c);
  check_vector(c);
  check_modes(c);
  check_alignment(c);
}

bool is_skipped(const Tile& t, std::int64_t row) { return t.row_offset && t.row_offset[row] == kSkipRow; }

// A side of the transfer: rows, up to two dimensions between, and the last one. Strides count elements.
struct Side {
  Tile tile;
  Dim between[2] = {{0, 1}, {0, 1}};
  std::int64_t stride;

  Side(const Tile& t, const Access& a) : tile(t), stride(last(a).stride) {
    for (int i = 1; i + 1 < a.rank; ++i) between[i - 1] = a.dims[i];
  }
  std::int64_t offset(std::int64_t i, std::int64_t j) const { return i * between[0].stride + j * between[1].stride; }
};

// One matrix: element (w, c) of src goes to (c, w) of dst.
void swap_plane(const Run& r, const Side& to, std::int64_t to_offset, const Side& from, std::int64_t from_offset) {
  const Tile &d = to.tile, &s = from.tile;
  const std::int64_t size = s.element_bytes();
  const bool regular = !d.row_offset && !s.row_offset && d.row_bytes % size == 0 && s.row_bytes % size == 0;
  if (regular && to.stride == 1 && from.stride == 1)
    return r.k.transpose(static_cast<int>(size), s.data + from_offset * size, s.row_bytes / size,
                         d.data + to_offset * size, d.row_bytes / size, s.rows, d.rows);
  for (std::int64_t w = 0; w < s.rows; ++w) {
    if (is_skipped(s, w)) continue;
    for (std::int64_t c = 0; c < d.rows; ++c) {
      if (is_skipped(d, c)) continue;
      std::memcpy(d.row(c) + (to_offset + w * to.stride) * size, s.row(w) + (from_offset + c * from.stride) * size,
                  size);
    }
  }
}

// Moves a side's elements into a buffer of its own: a transpose in place reads everything first.
void detach(const Run& r, Side& side, std::vector<std::byte>& buffer) {
  Tile copy = side.tile;
  buffer.resize(copy.count() * copy.element_bytes());
  copy.data = buffer.data();
  copy.row_bytes = copy.free_size * copy.element_bytes();
  copy.free_rank = 1;
  copy.free[0] = {1, copy.free_size};
  copy_elements(r, copy, side.tile);
  side.tile = copy;
  const std::int64_t columns = copy.free_size / (side.between[0].count * side.between[1].count);
  side.stride = 1;
  side.between[1].stride = columns;
  side.between[0].stride = columns * side.between[1].count;
}

void run(Run& r) {
  const Side to(r.tile(dst), r.access(dst));
  Side from(r.tile(src), r.access(src));
  std::vector<std::byte> buffer;
  if (r.access(dst).tensor == r.access(src).tensor && !from.tile.row_offset) detach(r, from, buffer);
  for (std::int64_t i = 0; i < from.between[0].count; ++i) {
    for (std::int64_t j = 0; j < from.between[1].count; ++j)
      swap_plane(r, to, to.offset(i, j), from, from.offset(i, j));
  }
}

// dst[c, …, w] from src[w, …, c]; columns of rows that were left out stay as they are.
void track(Track& t) {
  const std::vector<std::uint8_t> skipped = t.skipped_rows(src);
  if (skipped.empty() && t.is_clean(src)) return t.write_clean(dst);
  const std::vector<Shadow> in = t.read(src);
  const std::int64_t rows = t.dim(src, 0), columns = last(t.access(src)).count;
  const std::int64_t between = static_cast<std::int64_t>(in.size()) / (rows * columns);
  std::vector<Shadow> out(in.size());
  std::vector<std::uint8_t> moved(in.size());
  for (std::int64_t w = 0; w < rows; ++w) {
    for (std::int64_t m = 0; m < between; ++m) {
      for (std::int64_t c = 0; c < columns; ++c) {
        const std::int64_t to = (c * between + m) * rows + w;
        out[to] = in[(w * between + m) * columns + c];
        moved[to] = skipped.empty() || !skipped[w];
      }
    }
  }
  t.write_where(dst, out, moved);
}

Cost cost(const CostQuery& q) {
  const DmaSpec& dma = q.arch().dma;
  return dma_cost(q, q.access(dst), std::span(&q.access(src), 1),
                  q.in_hbm(src) ? dma.transpose_rate_hbm : dma.transpose_rate_sbuf);
}

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "dst[j] = src[i] with j_k = i_axes[k], bit for bit: the first and the last dimension change places. With a "
        "vector offset on src: row w of src is row flat[w] of its tensor, flat being the index tile read column by "
        "column; rows out of bounds are an error, or with oob_mode skip their places in dst stay as they are.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track,
    .cost_text = "as dma_copy at a share of its rate: from gen3 on 90 % from HBM and 50 % from SBUF, 10 % on gen2",
    .facts = {.takes_index_tiles = true},
};

}  // namespace kiln::isa::instruction::dma_transpose
