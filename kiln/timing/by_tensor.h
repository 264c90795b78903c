// ByTensor: something for each tensor that is in use now, of programs with many more tensors than that.
#pragma once

#include <vector>

#include "kiln/isa/program.h"

namespace kiln::timing {

template <class T>
class ByTensor {
 public:
  explicit ByTensor(std::size_t tensors) : place_(tensors, isa::kNone) {}

  // A new one when there is none.
  T& operator[](isa::TensorId id) {
    if (place_[id] == isa::kNone) place_[id] = take();
    return all_[place_[id]];
  }
  // A default one when there is none.
  const T& at(isa::TensorId id) const {
    static const T none;
    return place_[id] == isa::kNone ? none : all_[place_[id]];
  }
  bool has(isa::TensorId id) const { return place_[id] != isa::kNone; }
  void erase(isa::TensorId id) {
    if (place_[id] == isa::kNone) return;
    all_[place_[id]] = T();
    spare_.push_back(place_[id]);
    place_[id] = isa::kNone;
  }

 private:
  std::uint32_t take() {
    if (spare_.empty()) {
      all_.emplace_back();
      return static_cast<std::uint32_t>(all_.size() - 1);
    }
    const std::uint32_t place = spare_.back();
    spare_.pop_back();
    return place;
  }

  std::vector<std::uint32_t> place_;  // by tensor, in all_; isa::kNone: nowhere
  std::vector<T> all_;
  std::vector<std::uint32_t> spare_;
};

}  // namespace kiln::timing
