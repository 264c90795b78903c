#include "kiln/tensor/lower/region_options.h"

namespace kiln::tensor {

void RegionOptions::forget_asked() const {
  std::apply([](const auto&... option) { (option.forget(), ...); }, all());
}

bool RegionOptions::is_same_with(const RegionOptions& others) const {
  const auto same = [](const auto& option, const auto& other) {
    return !option.was_asked() || option.says_the_same(other);
  };
  return std::apply(
      [&](const auto&... option) {
        return std::apply([&](const auto&... other) { return (same(option, other) && ...); }, others.all());
      },
      all());
}

}  // namespace kiln::tensor
