#include "kiln/emit/access_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "kiln/emit/emit_rules.h"
#include "kiln/emit/view_text.h"

namespace kiln::emit {
namespace {

using Kind = isa::Dynamic::Kind;
using Shape = std::vector<std::int64_t>;

class AccessText {
 public:
  AccessText(const AccessWords& words, std::span<const Variable> variables)
      : w_(words),
        variables_(variables),
        on_chip_(is_on_chip(words.of.memory)),
        from_(size_bytes(words.of.dtype)),
        to_(size_bytes(words.access.dtype)),
        row_(words.of.bytes_per_partition() / to_) {
    name_ = w_.tensor;
    if (std::optional<Shape> seen = shape_as_seen()) {
      shape_ = std::move(*seen);
      if (w_.access.dtype != w_.of.dtype) name_ += fmt::format(".view(nl.{})", name(w_.access.dtype));
    }
  }

  std::string run() const {
    if (!shape_.empty()) {
      std::optional<std::string> found;
      if (!w_.run_time || is_scalar()) found = by_slices(dims());
      if (w_.run_time && w_.run_time->kind == Kind::vector) found = by_rows();
      if (w_.run_time && w_.run_time->kind == Kind::indirect) found = by_elements();
      if (found) return *found;
    }
    if (w_.run_time && w_.run_time->kind == Kind::indirect) refuse();
    return by_pattern();
  }

 private:
  bool is_scalar() const {
    return w_.run_time->kind == Kind::scalar_register || w_.run_time->kind == Kind::scalar_tile;
  }
  int first() const { return on_chip_ ? 1 : 0; }

  std::vector<isa::Dim> dims() const { return {w_.access.dims + first(), w_.access.dims + w_.access.rank}; }

  // The tensor's shape in elements of the access' dtype, when its last dimension has whole ones.
  std::optional<Shape> shape_as_seen() const {
    Shape shape = w_.of.shape;
    if (shape.back() * from_ % to_) return std::nullopt;
    shape.back() = shape.back() * from_ / to_;
    return shape;
  }

  // Slices of the tensor as it is or in another shape; dimensions repeated and swapped afterwards.
  std::optional<std::string> by_slices(std::vector<isa::Dim> dims) const {
    std::string after;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (dims[i].stride != 0 || dims[i].count == 1) continue;
      after += fmt::format(".broadcast({}, {})", static_cast<int>(i) + first(), dims[i].count);
      dims[i] = {1, 1};
    }
    if (auto found = of_some_shape(dims)) return *found + after;
    const std::vector<isa::Dim> wanted = dims;
    std::vector<int> order = sort(dims);
    if (order.empty()) return std::nullopt;
    auto found = of_some_shape(dims);
    if (!found) return std::nullopt;
    for (int& d : order) d += first();
    if (on_chip_) order.insert(order.begin(), 0);
    return fmt::format("{}.permute(({})){}", *found, fmt::join(order, ", "), after);
  }

  // Puts dimensions of more than one element in the order of their strides; returns where each one went, or nothing
  // when they stood in that order.
  static std::vector<int> sort(std::vector<isa::Dim>& dims) {
    std::vector<int> real, sorted, order(dims.size());
    for (int i = 0; i < static_cast<int>(dims.size()); ++i) {
      order[i] = i;
      if (dims[i].count > 1) real.push_back(i);
    }
    sorted = real;
    std::ranges::stable_sort(sorted, std::greater(), [&](int i) { return dims[i].stride; });
    if (sorted == real) return {};
    const std::vector<isa::Dim> before = dims;
    for (std::size_t i = 0; i < real.size(); ++i) {
      dims[real[i]] = before[sorted[i]];
      order[sorted[i]] = real[i];
    }
    return order;
  }

  std::optional<std::string> of_some_shape(const std::vector<isa::Dim>& dims) const {
    SlicedView view{.dims = dims,
                    .offset = w_.offset,
                    .on_chip = on_chip_,
                    .partitions = on_chip_ ? w_.access.dims[0].count : 0,
                    .partition = w_.partition};
    if (w_.run_time && is_scalar()) {
      view.moves_by = w_.run_time->source;
      view.scale = w_.run_time->scale;
    }
    if (auto found = slices_text(shape_, view, variables_)) return name_ + *found;
    for (const bool with_steps : {false, true}) {
      const auto shape = shape_of(dims, with_steps);
      if (!shape || *shape == shape_) continue;
      if (auto found = slices_text(*shape, view, variables_)) return reshaped(*shape) + *found;
    }
    return std::nullopt;
  }

  std::string reshaped(const Shape& shape) const { return fmt::format("{}.reshape({})", name_, shape_text(shape)); }

  // A shape that has the strides of the view, and with_steps those by which variables move it.
  std::optional<Shape> shape_of(const std::vector<isa::Dim>& dims, bool with_steps) const {
    std::vector<std::int64_t> cuts{row_, 1};
    for (const isa::Dim& dim : dims) {
      if (dim.count > 1) cuts.push_back(dim.stride);
    }
    if (w_.run_time) cuts.push_back(w_.run_time->scale);
    for (const std::int64_t c : w_.offset.coefficients) {
      if (with_steps && c) cuts.push_back(std::abs(c));
    }
    std::ranges::sort(cuts, std::greater());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    Shape shape;
    if (on_chip_) shape.push_back(shape_[0]);
    for (std::size_t i = 1; i < cuts.size(); ++i) {
      if (cuts[i] < 1 || cuts[i - 1] % cuts[i]) return std::nullopt;
      shape.push_back(cuts[i - 1] / cuts[i]);
    }
    if (cuts.size() == 1) shape.push_back(1);
    if (cuts[0] != row_ || static_cast<int>(shape.size()) > isa::max_rank(on_chip_)) return std::nullopt;
    return shape;
  }

  // Rows that a tile of indices chooses.
  std::optional<std::string> by_rows() const {
    const RunTimeOffset& offset = *w_.run_time;
    std::vector<isa::Dim> all = dims();
    if (on_chip_ || all[0].stride != offset.scale || all[0].count != offset.rows) return std::nullopt;
    all[0].count = row_ / offset.scale;
    if (all[0].count < 2 || row_ % offset.scale || w_.offset.highest(variables_) >= offset.scale) return std::nullopt;
    SlicedView view{.dims = all, .offset = w_.offset};
    const std::string select = fmt::format(".vector_select(0, {})", offset.source);
    if (shape_[0] != all[0].count) return std::nullopt;
    if (auto found = slices_text(shape_, view, variables_)) return name_ + *found + select;
    return std::nullopt;
  }

  // Elements of each partition that a tile of indices chooses.
  std::optional<std::string> by_elements() const {
    std::int64_t count = 1;  // the chosen elements follow each other
    for (int i = w_.access.rank - 1; i > 0; --i) {
      const isa::Dim& dim = w_.access.dims[i];
      if (dim.count > 1 && dim.stride != count) return std::nullopt;
      count *= dim.count;
    }
    if (w_.run_time->scale != 1) return std::nullopt;
    const isa::Dim rest{1, row_ - w_.offset.highest(variables_)};
    SlicedView view{.dims = {rest},
                    .offset = w_.offset,
                    .on_chip = true,
                    .partitions = w_.access.dims[0].count,
                    .partition = w_.partition};
    const Shape flat{shape_[0], row_};
    const auto found = slices_text(flat, view, variables_);
    if (!found) return std::nullopt;
    const std::string base = shape_ == flat ? name_ : reshaped(flat);
    std::string text = fmt::format("{}{}.indirect({}, {})", base, *found, w_.run_time->source, count);
    if (w_.access.rank == 2) return text;
    Shape shape;
    for (int i = 0; i < w_.access.rank; ++i) shape.push_back(w_.access.dims[i].count);
    return fmt::format("{}.reshape({})", text, shape_text(shape));
  }

  std::string by_pattern() const {
    std::vector<std::string> pairs;
    for (int i = 0; i < w_.access.rank; ++i) {
      const isa::Dim& dim = w_.access.dims[i];
      pairs.push_back(fmt::format("[{}, {}]", on_chip_ && i == 0 ? row_ : dim.stride, dim.count));
    }
    std::string rest;
    const Sum offset = w_.partition.times(row_).plus(w_.offset);
    if (!offset.is(0)) rest += fmt::format(", offset={}", text_of(offset, variables_));
    std::string base = w_.tensor;
    if (w_.run_time) rest += run_time_text(base);
    if (w_.access.dtype != w_.of.dtype) rest += fmt::format(", dtype=nl.{}", name(w_.access.dtype));
    return fmt::format("{}.ap(pattern=[{}]{})", base, fmt::join(pairs, ", "), rest);
  }

  // An offset counts steps of a dimension; `base` gets a shape that has it.
  std::string run_time_text(std::string& base) const {
    const RunTimeOffset& offset = *w_.run_time;
    const char* word = offset.kind == Kind::vector ? "vector_offset" : "scalar_offset";
    int dim = dimension_of(w_.of.shape, offset);
    if (dim < 0) {
      const std::int64_t scale = offset.scale * to_ / from_, all = w_.of.free_size();
      if (scale < 1 || offset.scale * to_ % from_ || all % scale) refuse();
      Shape shape{all / scale, scale};
      if (on_chip_) shape.insert(shape.begin(), w_.of.shape[0]);
      base += fmt::format(".reshape({})", shape_text(shape));
      dim = dimension_of(shape, offset);
      if (dim < 0) refuse();
    }
    return fmt::format(", {}={}{}", word, offset.source, dim ? fmt::format(", indirect_dim={}", dim) : "");
  }

  int dimension_of(const Shape& shape, const RunTimeOffset& offset) const {
    std::int64_t scale = from_;
    for (int d = static_cast<int>(shape.size()) - 1; d >= first(); --d) {
      if (scale == offset.scale * to_ && (offset.kind != Kind::vector || d == 0)) return d;
      scale *= shape[d];
    }
    return -1;
  }

  [[noreturn]] void refuse() const {
    raise(emit_rules::kTable, emit_rules::kAddress,
          {.found = fmt::format("`{}` moves by {} elements, and its shape is {} of {}", w_.of.name, w_.run_time->scale,
                                shape_text(w_.of.shape), name(w_.of.dtype))});
  }

  const AccessWords& w_;
  std::span<const Variable> variables_;
  const bool on_chip_;
  const std::int64_t from_, to_;  // bytes of an element of the tensor, and as the access sees it
  const std::int64_t row_;        // elements of a partition as the access sees them; in HBM, of the tensor
  std::string name_;              // of the tensor in the access' dtype
  Shape shape_;                   // of that; empty: no view has this dtype
};

}  // namespace

std::string text_of(const AccessWords& words, std::span<const Variable> variables) {
  return AccessText(words, variables).run();
}

std::string shape_text(std::span<const std::int64_t> shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

}  // namespace kiln::emit
