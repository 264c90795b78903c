// Kernels that were measured in public, rebuilt from their published descriptions.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kiln/isa/program.h"

namespace kiln::bench {

// name=value pairs of a row; a missing one is 0.
class Params {
 public:
  explicit Params(std::map<std::string, std::string> values) : values_(std::move(values)) {}
  std::int64_t number(const std::string& name, std::int64_t otherwise = 0) const {
    const auto found = values_.find(name);
    return found == values_.end() ? otherwise : std::stoll(found->second);
  }
  std::string text(const std::string& name, const std::string& otherwise = {}) const {
    const auto found = values_.find(name);
    return found == values_.end() ? otherwise : found->second;
  }

 private:
  std::map<std::string, std::string> values_;
};

// Throws std::invalid_argument when there is no such kernel.
isa::Program timing_kernel(const std::string& name, const Params& params);

}  // namespace kiln::bench
