// t.ap: an explicit pattern over the storage, with an offset that may be known at run time only.
#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include "python/src/tensor.h"

namespace kiln::python {
namespace {

using isa::View;

std::vector<isa::Dim> to_pattern(nb::handle pattern) {
  std::vector<isa::Dim> out;
  for (nb::handle pair : pattern) {
    const isa::Shape two = to_shape(pair, "a pair of the pattern");
    if (two.size() != 2) bad_index("a pattern that is not made of pairs", "write [[step, num], ...]");
    if (two[1] < 1) bad_index(fmt::format("a pattern with num {}", two[1]), "every num is at least 1");
    out.push_back({two[0], two[1]});
  }
  return out;
}

// The elements in one row of a view of a tile, when those are not all of its partition's; else 0.
std::int64_t own_row(const View& v, DType as) {
  std::int64_t own = size_bytes(v.dtype());
  for (int i = 1; i < v.rank(); ++i) own *= v.dim(i);
  return v.stride(0) * size_bytes(v.dtype()) == own ? 0 : own / size_bytes(as);
}

bool steps_by_own_rows(const View& v, const std::vector<isa::Dim>& pattern, DType as) {
  const std::int64_t own = v.on_chip() ? own_row(v, as) : 0;
  return own > 0 && !pattern.empty() && pattern[0].stride == own;
}

// A pattern over a view of a tile may step through partitions by the view's own free size. Makes it step by
// the storage's, and gives back the offset in those steps.
std::int64_t on_rows_of_storage(const View& v, std::vector<isa::Dim>& pattern, std::int64_t offset, DType as) {
  if (!steps_by_own_rows(v, pattern, as)) return offset;
  const std::int64_t own = pattern[0].stride;
  pattern[0].stride = v.stride(0) * size_bytes(v.dtype()) / size_bytes(as);
  return offset / own * pattern[0].stride + offset % own;
}

// The documents say three things about `offset` on such a view: added, instead of the view's, and ignored.
void warn_of_offset(const View& v) {
  nb::module_::import_("kiln._trace.warnings")
      .attr("warn_not_portable")(
          fmt::format("ap on a view that begins at element {} of its storage; `offset` counts from there", v.offset()),
          "call ap on the whole tensor, and pass the sum of the offsets");
}

// What .ap gives back.
Tensor with_pattern(const Tensor& t, const View& under, View w) {
  Tensor out = with(t, std::move(w));
  out.under_ap = std::make_shared<const View>(under);
  return out;
}

}  // namespace

Tensor ap(const Tensor& t, nb::handle pattern, nb::handle offset, nb::handle scalar_offset, nb::handle vector_offset,
          IntArg indirect_dim, nb::handle dtype) {
  const DType as = dtype.is_none() ? t.view.dtype() : to_dtype(dtype);
  std::vector<isa::Dim> pairs = to_pattern(pattern);
  // Of two patterns the last one counts, unless it speaks of the rows that the first one made.
  const View v = t.under_ap && !steps_by_own_rows(t.view, pairs, as) ? *t.under_ap : t.view;
  const std::int64_t from = size_bytes(v.dtype()), to = size_bytes(as);
  const std::int64_t base = v.offset() * from;
  if (base % to) bad_index("an offset inside an element of the new dtype", "align the view first");
  if (base) warn_of_offset(v);
  std::int64_t start = base / to + (offset.is_none() ? 0 : to_int(offset, "offset"));
  if (start < 0) bad_index(fmt::format("offset {}", start), "offsets are not negative");
  if (v.on_chip()) start = on_rows_of_storage(v, pairs, start - base / to, as) + base / to;
  View w = v.ap(pairs, start, as);
  if (!scalar_offset.is_none() && !vector_offset.is_none())
    bad_index("scalar_offset and vector_offset together", "pass at most one of them");
  if (scalar_offset.is_none() && vector_offset.is_none()) {
    Tensor out = with_pattern(t, v, w);
    out.outside = reaches_outside(t, w);
    return out;
  }
  const int d = to_dim({t.trace, v}, indirect_dim);
  std::int64_t scale = from;
  for (int i = d + 1; i < v.rank(); ++i) scale *= v.dim(i);
  if (scale % to) bad_index("a run-time offset that cuts elements of the new dtype", "choose another indirect_dim");
  scale /= to;
  if (!vector_offset.is_none()) {
    if (d != 0) bad_index(fmt::format("vector_offset with indirect_dim {}", d), "vector_offset indexes dimension 0");
    if (!nb::isinstance<Tensor>(vector_offset))
      bad_index(fmt::format("vector_offset of type {}", kind_of(vector_offset)), "pass a (P, 1) tile in SBUF");
    const auto& indices = nb::cast<const Tensor&>(vector_offset);
    check_owner(*t.trace, indices.trace.get(), "tensor");
    return with_pattern(t, v, w.vector_offset(indices.view, scale));
  }
  if (nb::isinstance<Register>(scalar_offset)) {
    const auto& reg = nb::cast<const Register&>(scalar_offset);
    check_owner(*t.trace, reg.trace.get(), "register");
    return with_pattern(t, v, w.scalar_offset(isa::Reg{reg.id}, scale));
  }
  if (!nb::isinstance<Tensor>(scalar_offset))
    bad_index(fmt::format("scalar_offset of type {}", kind_of(scalar_offset)),
              "pass a (1, 1) tile in SBUF or a register; an int belongs into offset=");
  const auto& tile = nb::cast<const Tensor&>(scalar_offset);
  check_owner(*t.trace, tile.trace.get(), "tensor");
  return with_pattern(t, v, w.scalar_offset(tile.view, scale));
}

}  // namespace kiln::python
