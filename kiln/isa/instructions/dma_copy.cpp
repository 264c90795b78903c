#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "kiln/isa/instructions/shared/dma.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa {
namespace {
using namespace args::dma_copy;

constexpr Rule kRules[] = {
    /* R1 */ {"dst and src have the same number of elements", "slice or reshape one of them"},
    /* R2 */
    {"packed dtypes are copied, never converted", "give dst the dtype of src, or reinterpret with .view()"},
    /* R3 */ {"hardware DGE exists from gen3 on", "leave dge_mode out, or use dge_mode.swdge"},
    /* R4 */ {"hardware DGE does not convert dtypes", "match the dtypes with .view(), or use swdge or none"},
    /* R5 */ {"a vector offset needs software DGE", "leave dge_mode out, or use dge_mode.swdge"},
    /* R6 */
    {"prebuilt descriptors (dge_mode none) have no run-time address", "leave dge_mode out, or use dge_mode.swdge"},
    /* R7 */
    {"engine chooses the sequencer of a hardware DGE: sync or scalar, with dge_mode.hwdge only",
     "leave engine out, or set dge_mode=dge_mode.hwdge and engine sync or scalar"},
    /* R8 */ {"priority is 0 to 3", "0 is the highest priority, 3 the lowest"},
    /* R9 */ {"priority exists from gen4 on", "leave priority out below trn3"},
    /* R10 */
    {"oob_mode skip belongs to copies with a run-time address", "drop oob_mode, or use a dynamic offset",
     Mark::undocumented},
    /* R11 */
    {"a scatter writes a row once, or the same values again; of equal indices the last one wins here",
     "make the indices unique", Mark::undocumented},
};

void check(Check& c) {
  const DgeMode mode = c.get<DgeMode>(dge_mode);
  const bool converts = c.dtype(dst) != c.dtype(src);
  c.require(1, c.access(dst).count() == c.access(src).count(),
            [&] { return fmt::format("dst has {} elements, src {}", c.access(dst).count(), c.access(src).count()); });
  c.require(2, !converts || (!is_packed(c.dtype(dst)) && !is_packed(c.dtype(src))),
            [&] { return fmt::format("{} to {}", name(c.dtype(src)), name(c.dtype(dst))); });
  if (mode == DgeMode::hwdge) {
    c.require(3, c.arch().features.hwdge, [&] { return "dge_mode is hwdge"; });
    c.require(4, !converts, [&] { return fmt::format("{} to {}", name(c.dtype(src)), name(c.dtype(dst))); });
  }
  const bool vector = c.is_vector_offset(dst) || c.is_vector_offset(src);
  c.require(5, !vector || mode == DgeMode::unknown || mode == DgeMode::swdge,
            [&] { return "a vector offset with dge_mode hwdge or none"; });
  c.require(6, mode != DgeMode::none || !(c.dynamic(dst) || c.dynamic(src)) || vector,
            [&] { return "a scalar offset with dge_mode none"; });
  const Engine queue = c.get<Engine>(engine);
  c.require(7,
            queue == Engine::unknown || (mode == DgeMode::hwdge && (queue == Engine::sync || queue == Engine::scalar)),
            [&] { return fmt::format("engine is {}", name(queue)); });
  if (c.has(priority)) {
    c.require(8, c.integer(priority) >= 0 && c.integer(priority) <= 3,
              [&] { return fmt::format("priority is {}", c.integer(priority)); });
    c.require(9, c.arch().features.dma_priority, [&] { return "priority is given"; });
  }
  c.advise(10, c.get<OobMode>(oob_mode) != OobMode::skip || c.dynamic(dst) || c.dynamic(src),
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
    if (twice.first >= 0) r.warn(11, fmt::format("rows {} and {} have the same index", twice.first, twice.second));
  }
  copy_elements(r, r.tile(dst), r.tile(src));
}

void track(Track& t) { track_transfer(t, dst, src); }

Cost cost(const CostQuery& q) { return dma_cost(q, q.access(dst), std::span(&q.access(src), 1)); }

}  // namespace

extern const Semantics semantics_dma_copy = {
    .rules = kRules,
    .description =
        "Both views in row-major order: dst.flat[i] = cvt(src.flat[i]); equal dtypes move bytes unchanged, "
        "others "
        "go through float32. With a vector offset v: dst[w, …] = base[v[w], …] (gather) or base[v[w], …] = "
        "src[w, …] (scatter); rows out of bounds are an error, or left alone with oob_mode skip.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track,
    .cost_text = "bytes / (16 engines x rate) after a fixed start; one descriptor per contiguous run",
};

}  // namespace kiln::isa
