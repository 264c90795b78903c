#include "kiln/isa/overlap.h"

#include <algorithm>
#include <vector>

#include "kiln/isa/operand_rules.h"

namespace kiln::isa {
namespace {

bool same_terms(const Program& p, const Affine& a, const Affine& b) {
  const auto x = p.terms_of(a), y = p.terms_of(b);
  return std::equal(x.begin(), x.end(), y.begin(), y.end());
}

struct Bytes {
  std::int64_t begin, end;
};

// Bytes of the free dimension (of the whole tensor in HBM) that an access covers, one interval per contiguous
// run.
std::vector<Bytes> runs(const Access& a, bool on_chip) {
  Dim merged[kMaxRank];
  const int rank = merge_dims(a.dims + (on_chip ? 1 : 0), a.rank - (on_chip ? 1 : 0), merged);
  const std::int64_t size = size_bytes(a.dtype);
  std::vector<Bytes> out{{a.offset.constant * size, a.offset.constant * size + size}};
  for (int d = rank - 1; d >= 0; --d) {
    if (merged[d].stride == 1 && d == rank - 1) {
      out[0].end = out[0].begin + merged[d].count * size;
      continue;
    }
    const std::size_t n = out.size();
    for (std::int64_t i = 1; i < merged[d].count; ++i) {
      for (std::size_t k = 0; k < n; ++k)
        out.push_back({out[k].begin + i * merged[d].stride * size, out[k].end + i * merged[d].stride * size});
    }
  }
  std::sort(out.begin(), out.end(), [](Bytes x, Bytes y) { return x.begin < y.begin; });
  return out;
}

bool intersect(const std::vector<Bytes>& x, const std::vector<Bytes>& y) {
  for (std::size_t i = 0, j = 0; i < x.size() && j < y.size();) {
    if (x[i].end <= y[j].begin) {
      ++i;
    } else if (y[j].end <= x[i].begin) {
      ++j;
    } else {
      return true;
    }
  }
  return false;
}

bool same_elements(const Access& a, const Access& b, bool on_chip) {
  const int free = on_chip ? 1 : 0;  // partitions are no elements: they do not merge with the free dimensions
  Dim x[kMaxRank], y[kMaxRank];
  const int n = merge_dims(a.dims + free, a.rank - free, x), m = merge_dims(b.dims + free, b.rank - free, y);
  return a.dtype == b.dtype && a.offset.constant == b.offset.constant &&
         a.partition.constant == b.partition.constant && (!on_chip || a.rows() == b.rows()) && n == m &&
         std::equal(x, x + n, y);
}

}  // namespace

bool overlaps_partially(const Program& p, const Access& a, const Access& b) {
  if (a.tensor != b.tensor || a.dynamic != kNone || b.dynamic != kNone) return false;
  const bool on_chip = is_on_chip(p.tensors[a.tensor].memory);
  if (same_elements(a, b, on_chip) || !same_terms(p, a.offset, b.offset) ||
      !same_terms(p, a.partition, b.partition))
    return false;
  if (on_chip && (a.partition.constant + a.rows() <= b.partition.constant ||
                  b.partition.constant + b.rows() <= a.partition.constant))
    return false;
  const Range ra = element_range(p, a), rb = element_range(p, b);
  const std::int64_t sa = size_bytes(a.dtype), sb = size_bytes(b.dtype);
  if (!a.offset.term_count && ((ra.max + 1) * sa <= rb.min * sb || (rb.max + 1) * sb <= ra.min * sa))
    return false;
  return intersect(runs(a, on_chip), runs(b, on_chip));
}

}  // namespace kiln::isa
