#include "kiln/isa/semantics/overlap.h"

#include <algorithm>
#include <cstdlib>
#include <span>
#include <vector>

#include "kiln/isa/inst_view.h"
#include "kiln/isa/semantics/operand_rules.h"

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
std::vector<Bytes> runs(const Access& a, bool on_chip, std::int64_t base) {
  Dim merged[kMaxRank];
  const int rank = merge_dims(a.dims + (on_chip ? 1 : 0), a.rank - (on_chip ? 1 : 0), merged);
  const std::int64_t size = size_bytes(a.dtype);
  const std::int64_t first = base + a.offset.constant * size;
  std::vector<Bytes> out{{first, first + size}};
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

// In the coordinates of the whole memory when its tensor is placed by hand.
PlacedAccess place(const Program& p, const Access& a) {
  return {a, p.tensors[a.tensor].address.value_or(Address{0, 0})};
}

bool same_elements(const PlacedAccess& a, const PlacedAccess& b, bool on_chip) {
  const int free = on_chip ? 1 : 0;  // partitions are no elements: they do not merge with the free dimensions
  const Access &v = a.access, &w = b.access;
  Dim x[kMaxRank], y[kMaxRank];
  const int n = merge_dims(v.dims + free, v.rank - free, x), m = merge_dims(w.dims + free, w.rank - free, y);
  return v.dtype == w.dtype && a.byte() == b.byte() && a.partition() == b.partition() &&
         (!on_chip || v.rows() == w.rows()) && n == m && std::equal(x, x + n, y);
}

bool share_memory(const Tensor& a, const Tensor& b) {
  return a.address && b.address && a.memory == b.memory && is_on_chip(a.memory);
}

Bytes reach(const Program& p, const PlacedAccess& a) {
  const Range r = element_range(p, a.access);
  const std::int64_t size = size_bytes(a.access.dtype);
  return {a.at.byte_offset + r.min * size, a.at.byte_offset + (r.max + 1) * size};
}

}  // namespace

bool are_same_elements(const Program& p, const PlacedAccess& a, const PlacedAccess& b, bool on_chip) {
  const Access &x = a.access, &y = b.access;
  return x.dynamic == kNone && y.dynamic == kNone && same_elements(a, b, on_chip) &&
         same_terms(p, x.offset, y.offset) && same_terms(p, x.partition, y.partition);
}

bool overlaps_partially(const Program& p, const Access& a, const Access& b) {
  if (a.dynamic != kNone || b.dynamic != kNone) return false;
  if (a.tensor != b.tensor && !share_memory(p.tensors[a.tensor], p.tensors[b.tensor])) return false;
  const PlacedAccess x = place(p, a), y = place(p, b);
  const bool on_chip = is_on_chip(p.tensors[a.tensor].memory);
  const bool move_alike = !a.offset.term_count || size_bytes(a.dtype) == size_bytes(b.dtype);
  if (same_elements(x, y, on_chip) || !move_alike || !same_terms(p, a.offset, b.offset) ||
      !same_terms(p, a.partition, b.partition))
    return false;
  if (on_chip && (x.partition() + a.rows() <= y.partition() || y.partition() + b.rows() <= x.partition())) return false;
  const Bytes ra = reach(p, x), rb = reach(p, y);
  if (!a.offset.term_count && (ra.end <= rb.begin || rb.end <= ra.begin)) return false;
  return intersect(runs(a, on_chip, x.at.byte_offset), runs(b, on_chip, y.at.byte_offset));
}

bool reads_all_first(const Program& p, const Instruction& inst) {
  const InstView view(p, inst);
  return view.facts().reads_first && view.facts().reads_first(view);
}

bool meets_itself(const Access& a, int first_dim) {
  constexpr std::int64_t kMost = 1 << 20;  // beyond it only the plain case is decided
  Dim dims[kMaxRank];                      // by stride
  int n = 0;
  std::int64_t count = 1;
  for (int d = first_dim; d < a.rank; ++d) {
    if (a.dims[d].count == 1) continue;
    int at = n++;
    const std::int64_t stride = std::abs(a.dims[d].stride);
    for (; at > 0 && dims[at - 1].stride > stride; --at) dims[at] = dims[at - 1];
    dims[at] = {stride, a.dims[d].count};
    count *= a.dims[d].count;
  }
  std::int64_t reach = 0;  // of the dimensions so far
  bool nested = true;
  for (const Dim& d : std::span(dims, n)) {
    nested = nested && d.stride > reach;
    reach += d.stride * (d.count - 1);
  }
  if (nested || count > kMost) return false;
  std::vector<std::int64_t> at{0};
  for (const Dim& d : std::span(dims, n)) {
    const std::size_t known = at.size();
    for (std::int64_t i = 1; i < d.count; ++i) {
      for (std::size_t k = 0; k < known; ++k) at.push_back(at[k] + i * d.stride);
    }
  }
  std::sort(at.begin(), at.end());
  return std::adjacent_find(at.begin(), at.end()) != at.end();
}

}  // namespace kiln::isa
