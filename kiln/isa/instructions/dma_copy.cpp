#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "kiln/isa/instructions/shared/dma.h"
#include "kiln/isa/instructions/shared/rule_words.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::dma_copy {
namespace {
using namespace args::dma_copy;

constexpr Rule kSameSize{1, "dst and src have the same number of elements", "slice or reshape one of them"};
constexpr Rule kPackedCopied{2, words::kPackedCopied};
constexpr Rule kHardwareDge{3, "hardware DGE exists from gen3 on", "leave dge_mode out, or use dge_mode.swdge"};
constexpr Rule kHardwareDgeDtype{4, "hardware DGE does not convert dtypes",
                                 "match the dtypes with .view(), or use swdge or none"};
constexpr Rule kVectorOffsetDge{5, words::kVectorOffsetDge};
constexpr Rule kPrebuiltStatic{6, "prebuilt descriptors (dge_mode none) have no run-time address",
                               "leave dge_mode out, or use dge_mode.swdge"};
constexpr Rule kSequencer{7, "engine chooses the sequencer of a hardware DGE: sync or scalar, with dge_mode.hwdge only",
                          "leave engine out, or set dge_mode=dge_mode.hwdge and engine sync or scalar"};
constexpr Rule kPriorityRange{8, words::kPriorityRange};
constexpr Rule kPriorityGeneration{9, words::kPriorityGeneration};
constexpr Rule kSkipNeedsOffset{10, "oob_mode skip belongs to copies with a run-time address",
                                "drop oob_mode, or use a dynamic offset", Mark::undocumented};
constexpr Rule kScatterOnce{
    11, "a scatter writes a row once, or the same values again; of equal indices the last one wins here",
    "make the indices unique", Mark::undocumented};

constexpr Rule kRules[] = {kSameSize,           kPackedCopied,    kHardwareDge, kHardwareDgeDtype,
                           kVectorOffsetDge,    kPrebuiltStatic,  kSequencer,   kPriorityRange,
                           kPriorityGeneration, kSkipNeedsOffset, kScatterOnce};

void check(Check& c) {
  const DgeMode mode = c.get<DgeMode>(dge_mode);
  const bool converts = c.dtype(dst) != c.dtype(src);
  c.require(kSameSize, c.access(dst).count() == c.access(src).count(),
            [&] { return fmt::format("dst has {} elements, src {}", c.access(dst).count(), c.access(src).count()); });
  c.require(kPackedCopied, !converts || (!is_packed(c.dtype(dst)) && !is_packed(c.dtype(src))),
            [&] { return fmt::format("{} to {}", name(c.dtype(src)), name(c.dtype(dst))); });
  if (mode == DgeMode::hwdge) {
    c.require(kHardwareDge, c.arch().features.hwdge, dge_mode, [&] { return "dge_mode is hwdge"; });
    c.require(kHardwareDgeDtype, !converts,
              [&] { return fmt::format("{} to {}", name(c.dtype(src)), name(c.dtype(dst))); });
  }
  const bool vector = c.is_vector_offset(dst) || c.is_vector_offset(src);
  c.require(kVectorOffsetDge, !vector || mode == DgeMode::unknown || mode == DgeMode::swdge,
            [&] { return "a vector offset with dge_mode hwdge or none"; });
  c.require(kPrebuiltStatic, mode != DgeMode::none || !(c.dynamic(dst) || c.dynamic(src)) || vector,
            [&] { return "a scalar offset with dge_mode none"; });
  const Engine queue = c.get<Engine>(engine);
  c.require(kSequencer,
            queue == Engine::unknown || (mode == DgeMode::hwdge && (queue == Engine::sync || queue == Engine::scalar)),
            engine, [&] { return fmt::format("engine is {}", name(queue)); });
  if (c.has(priority)) {
    c.require(kPriorityRange, c.integer(priority) >= 0 && c.integer(priority) <= 3, priority,
              [&] { return fmt::format("priority is {}", c.integer(priority)); });
    c.require(kPriorityGeneration, c.arch().features.dma_priority, priority, [&] { return "priority is given"; });
  }
  c.advise(kSkipNeedsOffset, c.get<OobMode>(oob_mode) != OobMode::skip || c.dynamic(dst) || c.dynamic(src), oob_mode,
           [&] { return "oob_mode is skip and every address is static"; });
}

// Padded rows are often sent to one spare row, all with the same values: their order does not matter.
bool rows_differ(const Run& r, std::int64_t a, std::int64_t b) {
  const Tile& from = r.tile(src);
  const std::int64_t size = r.tile(dst).free_size;
  if (from.rows != r.tile(dst).rows || from.free_size != size || from.row_offset) return true;
  std::vector<std::uint32_t> bits(2 * size);
  load_row_bits(r, from, a, 0, size, bits.data());
  load_row_bits(r, from, b, 0, size, bits.data() + size);
  return !std::equal(bits.begin(), bits.begin() + size, bits.begin() + size);
}

void run(Run& r) {
  if (r.is_vector_offset(dst)) {
    const RowPair twice = find_duplicate_row(r.tile(dst), [&](auto a, auto b) { return rows_differ(r, a, b); });
    if (twice.first >= 0)
      r.warn(kScatterOnce, fmt::format("rows {} and {} have the same index", twice.first, twice.second));
  }
  copy_elements(r, r.tile(dst), r.tile(src));
}

void track(Track& t) { track_transfer(t, dst, src); }

Cost cost(const CostQuery& q) { return dma_cost(q, q.access(dst), std::span(&q.access(src), 1)); }

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "Both views in row-major order: dst.flat[i] = cvt(src.flat[i]); equal dtypes move bytes unchanged, others go "
        "through float32. With a vector offset v: dst[w, …] = base[v[w], …] (gather) or base[v[w], …] = src[w, …] "
        "(scatter); rows out of bounds are an error, or left alone with oob_mode skip.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track,
    .cost_text = "bytes / (16 engines x rate) after a fixed start; one descriptor per contiguous run",
    .facts = {.copies = src},
};

}  // namespace kiln::isa::instruction::dma_copy
