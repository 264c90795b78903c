// t.ap: an explicit pattern over the storage, with an offset that may be known at run time only.
#include <fmt/format.h>

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

// A pattern over a view of a tile may step through partitions by the view's own free size. Makes it step by
// the storage's, and gives back the offset in those steps.
std::int64_t on_rows_of_storage(const View& v, std::vector<isa::Dim>& pattern, std::int64_t offset,
                                DType as) {
  const std::int64_t storage = v.stride(0) * size_bytes(v.dtype()) / size_bytes(as);
  std::int64_t own = size_bytes(v.dtype());
  for (int i = 1; i < v.rank(); ++i) own *= v.dim(i);
  own /= size_bytes(as);
  if (pattern.empty() || own == storage || own < 1 || pattern[0].stride != own) return offset;
  pattern[0].stride = storage;
  return offset / own * storage + offset % own;
}

}  // namespace

Tensor ap(const Tensor& t, nb::handle pattern, nb::handle offset, nb::handle scalar_offset,
          nb::handle vector_offset, IntArg indirect_dim, nb::handle dtype) {
  const View& v = t.view;
  const DType as = dtype.is_none() ? v.dtype() : to_dtype(dtype);
  const std::int64_t from = size_bytes(v.dtype()), to = size_bytes(as);
  const std::int64_t base = v.offset() * from;
  if (base % to) bad_index("an offset inside an element of the new dtype", "align the view first");
  std::int64_t start = base / to + (offset.is_none() ? 0 : to_int(offset, "offset"));
  if (start < 0) bad_index(fmt::format("offset {}", start), "offsets are not negative");
  std::vector<isa::Dim> pairs = to_pattern(pattern);
  if (v.on_chip()) start = on_rows_of_storage(v, pairs, start - base / to, as) + base / to;
  View w = v.ap(pairs, start, as);
  if (!scalar_offset.is_none() && !vector_offset.is_none())
    bad_index("scalar_offset and vector_offset together", "pass at most one of them");
  if (scalar_offset.is_none() && vector_offset.is_none()) {
    Tensor out = with(t, w);
    out.outside = reaches_outside(t, w);
    return out;
  }
  const int d = to_dim(t, indirect_dim);
  std::int64_t scale = from;
  for (int i = d + 1; i < v.rank(); ++i) scale *= v.dim(i);
  if (scale % to)
    bad_index("a run-time offset that cuts elements of the new dtype", "choose another indirect_dim");
  scale /= to;
  if (!vector_offset.is_none()) {
    if (d != 0)
      bad_index(fmt::format("vector_offset with indirect_dim {}", d), "vector_offset indexes dimension 0");
    if (!nb::isinstance<Tensor>(vector_offset))
      bad_index(fmt::format("vector_offset of type {}", kind_of(vector_offset)),
                "pass a (P, 1) tile in SBUF");
    const auto& indices = nb::cast<const Tensor&>(vector_offset);
    check_owner(*t.trace, indices.trace.get(), "tensor");
    return with(t, w.vector_offset(indices.view, scale));
  }
  if (nb::isinstance<Register>(scalar_offset)) {
    const auto& reg = nb::cast<const Register&>(scalar_offset);
    check_owner(*t.trace, reg.trace.get(), "register");
    return with(t, w.scalar_offset(isa::Reg{reg.id}, scale));
  }
  if (!nb::isinstance<Tensor>(scalar_offset))
    bad_index(fmt::format("scalar_offset of type {}", kind_of(scalar_offset)),
              "pass a (1, 1) tile in SBUF or a register; an int belongs into offset=");
  const auto& tile = nb::cast<const Tensor&>(scalar_offset);
  check_owner(*t.trace, tile.trace.get(), "tensor");
  return with(t, w.scalar_offset(tile.view, scale));
}

}  // namespace kiln::python
