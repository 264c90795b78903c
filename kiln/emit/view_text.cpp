#include "kiln/emit/view_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kiln::emit {
namespace {

constexpr int kNew = -1;  // a dimension that the tensor does not have

// How freely dimensions of one element are taken: theirs is a stride that is never used.
enum class Units { exact, any_stride, also_new };

class Slicing {
 public:
  Slicing(const std::vector<std::int64_t>& shape, const SlicedView& view, std::span<const Variable> variables)
      : shape_(shape), view_(view), variables_(variables), first_(view.on_chip ? 1 : 0) {
    strides_.resize(shape.size(), 1);
    for (std::size_t k = shape.size() - 1; k-- > first_;) strides_[k] = strides_[k + 1] * shape[k + 1];
  }

  std::optional<std::string> run() {
    find_starts();
    for (const Units units : {Units::exact, Units::any_stride, Units::also_new}) {
      units_ = units;
      homes_.assign(view_.dims.size(), kNew);
      if (choose(0, first_)) return text();
    }
    return std::nullopt;
  }

 private:
  // The offset as a first index of every dimension.
  void find_starts() {
    starts_.resize(shape_.size());
    Sum rest = view_.offset;
    for (std::size_t k = first_; k < shape_.size(); ++k) {
      starts_[k] = rest.quotient(strides_[k]);
      rest = rest.remainder(strides_[k]);
    }
  }

  // Gives dimension `a` of the view and those behind it a home from dimension `k` of the tensor on.
  bool choose(std::size_t a, std::size_t k) {
    if (a == view_.dims.size()) return fits();
    for (std::size_t home = k; home < shape_.size(); ++home) {
      if (!may_be(view_.dims[a], home)) continue;
      homes_[a] = static_cast<int>(home);
      if (choose(a + 1, home + 1)) return true;
    }
    homes_[a] = kNew;
    return units_ == Units::also_new && view_.dims[a].count == 1 && choose(a + 1, k);
  }

  bool may_be(const isa::Dim& dim, std::size_t home) const {
    if (dim.count == 1) return units_ != Units::exact || dim.stride == strides_[home];
    if (dim.stride < 1 || dim.stride % strides_[home]) return false;
    return (dim.count - 1) * (dim.stride / strides_[home]) < shape_[home];
  }

  // The dimension of the view whose home this is; -1: none, it is indexed.
  int tenant(std::size_t k) const {
    for (std::size_t a = 0; a < homes_.size(); ++a) {
      if (homes_[a] == static_cast<int>(k)) return static_cast<int>(a);
    }
    return -1;
  }

  std::int64_t step(int a, std::size_t k) const {
    return view_.dims[a].count == 1 ? 1 : view_.dims[a].stride / strides_[k];
  }

  // Every index stays inside its dimension, a dimension is left, and what moves the view has one to move along.
  bool fits() {
    bool kept = false;
    moving_.reset();
    for (std::size_t k = first_; k < shape_.size(); ++k) {
      const int a = tenant(k);
      kept |= a >= 0;
      const std::int64_t reach = a < 0 ? 0 : (view_.dims[a].count - 1) * step(a, k);
      if (starts_[k].lowest(variables_) < 0 || starts_[k].highest(variables_) + reach >= shape_[k]) return false;
      const bool could_move = strides_[k] == view_.scale && starts_[k].is(0) && (a < 0 || step(a, k) == 1);
      if (!view_.moves_by.empty() && !moving_ && could_move) moving_ = k;
    }
    return kept && (view_.moves_by.empty() || moving_);
  }

  std::string index(std::size_t k) const {
    const int a = tenant(k);
    if (moving_ == k) return a < 0 ? view_.moves_by : fmt::format("nl.ds({}, {})", view_.moves_by, view_.dims[a].count);
    if (a < 0) return text_of(starts_[k], variables_);
    return range(starts_[k], view_.dims[a].count, step(a, k), shape_[k]);
  }

  std::string range(const Sum& start, std::int64_t count, std::int64_t step, std::int64_t size) const {
    if (start.is(0) && step == 1 && count == size) return ":";
    const std::int64_t end = (count - 1) * step + 1;
    if (!start.is_constant() && step == 1) return fmt::format("nl.ds({}, {})", text_of(start, variables_), count);
    const std::string last = text_of(start.plus(end), variables_);
    return fmt::format("{}:{}{}", text_of(start, variables_), last, step == 1 ? "" : fmt::format(":{}", step));
  }

  std::string text() const {
    std::vector<std::string> indices;
    if (view_.on_chip) indices.push_back(range(view_.partition, view_.partitions, 1, shape_[0]));
    for (std::size_t k = first_; k < shape_.size(); ++k) indices.push_back(index(k));
    while (!indices.empty() && indices.back() == ":") indices.pop_back();
    std::string out = indices.empty() ? "" : fmt::format("[{}]", fmt::join(indices, ", "));
    for (std::size_t a = 0; a < homes_.size(); ++a) {
      if (homes_[a] == kNew) out += fmt::format(".expand_dim({})", a + first_);
    }
    return out;
  }

  const std::vector<std::int64_t>& shape_;
  const SlicedView& view_;
  std::span<const Variable> variables_;
  const std::size_t first_;
  std::vector<std::int64_t> strides_;
  std::vector<Sum> starts_;
  std::vector<int> homes_;  // by dimension of the view
  Units units_ = Units::exact;
  std::optional<std::size_t> moving_;
};

}  // namespace

std::optional<std::string> slices_text(const std::vector<std::int64_t>& shape, const SlicedView& view,
                                       std::span<const Variable> variables) {
  if (view.on_chip &&
      (view.partition.lowest(variables) < 0 || view.partition.highest(variables) + view.partitions > shape[0]))
    return std::nullopt;
  return Slicing(shape, view, variables).run();
}

}  // namespace kiln::emit
