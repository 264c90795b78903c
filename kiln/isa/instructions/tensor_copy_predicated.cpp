#include <fmt/format.h>

#include <algorithm>

#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::tensor_copy_predicated {
namespace {
using namespace args::tensor_copy_predicated;

constexpr Rule kNotBothPsum{1, "src and predicate are not both in PSUM",
                            "copy one of them to SBUF with tensor_copy first"};
constexpr Rule kSameShape{2, "src, predicate and dst have the same number of partitions and of free elements",
                          "slice them to one shape; broadcast in the free dimension with a stride-0 view"};
constexpr Rule kSrcDtype{3, "src has the dtype of dst",
                         "convert src with tensor_copy first, or reinterpret with .view()"};

constexpr Rule kRules[] = {kNotBothPsum, kSameShape, kSrcDtype};

void check(Check& c) {
  c.require(kSameShape, c.same_shape(dst, predicate) && (!c.is_tile(src) || c.same_shape(dst, src)), [&] {
    return fmt::format("dst is {}, src is {}, predicate is {}", shape_text(c.access(dst)),
                       c.is_tile(src) ? shape_text(c.access(src)) : "a number", shape_text(c.access(predicate)));
  });
  if (!c.is_tile(src)) return;
  c.require(kNotBothPsum, !(c.in_psum(src) && c.in_psum(predicate)),
            [] { return "src and predicate are both in PSUM"; });
  c.require(kSrcDtype, c.dtype(src) == c.dtype(dst),
            [&] { return fmt::format("src is {}, dst is {}", name(c.dtype(src)), name(c.dtype(dst))); });
}

void run(Run& r) {
  Tile d = r.tile(dst), p = r.tile(predicate), s = r.is_tile(src) ? r.tile(src) : d;
  if (d.is_dense() && p.is_dense() && s.is_dense()) flatten(d), flatten(p), flatten(s);
  const std::uint32_t keep_false = r.boolean(reverse_pred) ? 0u : ~0u;
  alignas(64) std::uint32_t old[kChunk], now[kChunk], truth[kChunk];
  if (!r.is_tile(src)) std::fill_n(now, kChunk, from_float(d.dtype, static_cast<float>(r.real(src))));
  for (std::int64_t row = 0; row < d.rows; ++row) {
    for (std::int64_t first = 0; first < d.free_size; first += kChunk) {
      const std::size_t n = std::min<std::size_t>(kChunk, d.free_size - first);
      load_row_bits(r, p, row, first, n, truth);
      load_row_bits(r, d, row, first, n, old);
      if (r.is_tile(src)) load_row_bits(r, s, row, first, n, now);
      for (std::size_t i = 0; i < n; ++i) {
        const std::uint32_t keep = truth[i] == 0 ? keep_false : ~keep_false;  // a mask: no branch
        old[i] = (old[i] & keep) | (now[i] & ~keep);
      }
      store_row_bits(r, d, row, first, n, old);
    }
  }
}

Cost cost(const CostQuery& q) {
  const double n = static_cast<double>(q.free_size(dst));
  const double rate = q.is_tile(src) ? std::min(1.0, q.two_input_rate(dst, src, predicate)) : 1.0;
  return {.cycles = q.stream(n, rate)};
}

// Only the elements that are copied take over what is known about src, so the predicate's values are needed
// unless all is known already. In PSUM a copied element is no longer a matmul's.
void track(Track& t) {
  if (!t.in_psum(dst) && t.is_clean(dst) && t.is_clean(src)) return t.write_clean(dst);
  std::vector<std::uint32_t> truth = t.bits(predicate);
  std::vector<std::uint8_t> copied(truth.size());
  for (std::size_t i = 0; i < truth.size(); ++i) copied[i] = (truth[i] == 0) == t.boolean(reverse_pred);
  t.write_where(dst, t.is_tile(src) ? t.read(src) : std::vector<Shadow>(copied.size()), copied);
}

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "dst[p, f] = src[p, f], bits unchanged, where predicate[p, f] is nonzero (zero with reverse_pred); other "
        "elements of dst stay as they are. A number becomes an element of dst's dtype.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track,
    .cost_text = "max(64, 2N); max(64, N) when src or predicate is in PSUM, when src is a number, and from gen3 on",
    .facts = {.writes_some = true},
};

}  // namespace kiln::isa::instruction::tensor_copy_predicated
