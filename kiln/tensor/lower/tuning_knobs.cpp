#include "kiln/tensor/lower/tuning_knobs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <iterator>

namespace kiln::tensor {
namespace {

constexpr std::size_t kTilings = 8;  // of a region, the best estimates first

struct Knob {
  const char* name;
  std::vector<std::int64_t> values;
  std::function<void(RegionOptions&, std::int64_t)> set;
};

template <class T>
Knob knob(const char* name, std::vector<std::int64_t> values, Noted<T> RegionOptions::*member) {
  return {name, std::move(values), [member](RegionOptions& o, std::int64_t x) { o.*member = static_cast<T>(x); }};
}

const std::vector<Knob>& knobs() {
  using O = RegionOptions;
  static const std::vector<Knob> all{
      knob("psum_columns", {2048, 1024, 512, 0}, &O::psum_columns),
      knob("hoisted_bytes", {131072, 65536, 32768, 16384, 4096}, &O::hoisted_bytes),
      knob("row_blocks", {16, 8, 6, 4, 2, 1}, &O::row_blocks),
      knob("column_tile", {0, 16384, 8192, 4096, 2048}, &O::column_tile),
      knob("chunk", {4096, 2048, 1024, 512}, &O::chunk),
      knob("load_blocks", {0, 8, 4, 2, 1}, &O::load_blocks),
      knob("pairs_on_gpsimd", {0, 1}, &O::pairs_on_gpsimd),
      knob("factors_on_scalar", {0, 1}, &O::factors_on_scalar),
      knob("terms_shared", {0, 1}, &O::terms_shared),
      knob("sums_on_scalar", {0, 1}, &O::sums_on_scalar),
      knob("passes_together", {1, 2}, &O::passes_together),
      knob("loads_turned", {0, 1}, &O::loads_turned),
      knob("turned_by_dma", {0, 4, 8, 12, 14, 15, 16}, &O::turned_by_dma),
      knob("regrouped_bytes", {32768, 16384, 8192, 4096}, &O::regrouped_bytes),
      knob("regroups_matrices", {0, 1}, &O::regroups_matrices),
      knob("evacuate", {0, 1, 2, 3}, &O::evacuate),
      knob("whole_rows", {0, 1}, &O::whole_rows),
      knob("unshifted", {0, 1}, &O::unshifted),
      knob("key_blocks", {2, 3}, &O::key_blocks),
      knob("terms_added", {0, 1}, &O::terms_added),
      knob("weight_sums", {0, 1, 2, 3, 4}, &O::weight_sums),
  };
  return all;
}

}  // namespace

TuningSpace::TuningSpace(const Solved& solved) : base_(solved.choice), regions_(solved.made.regions) {
  base_.region_choices = kTilings;
  for (std::size_t r = 0; r < regions_.size(); ++r) {
    for (const Knob& k : knobs()) sizes_.push_back(static_cast<int>(k.values.size()) + 1);
    sizes_.push_back(static_cast<int>(kTilings) + 1);
  }
}

std::size_t TuningSpace::knobs_per_region() const { return knobs().size() + 1; }

Choice TuningSpace::choice(const Knobs& given) const {
  Choice out = base_;
  const std::size_t per = knobs_per_region();
  for (std::size_t r = 0; r < regions_.size(); ++r) {
    RegionOptions options = base_.region;
    bool other = false;
    for (std::size_t k = 0; k < knobs().size(); ++k) {
      const int at = given[r * per + k];
      if (at == 0) continue;
      knobs()[k].set(options, knobs()[k].values[at - 1]);
      other = true;
    }
    if (other) out.of_region[regions_[r].region] = options;
    const int tiling = given[r * per + per - 1];
    if (tiling > 0) out.tiling[regions_[r].region] = static_cast<std::size_t>(tiling - 1);
  }
  return out;
}

std::string TuningSpace::describe(const Knobs& given) const {
  std::vector<std::string> said;
  const std::size_t per = knobs_per_region();
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    if (given[i] == 0) continue;
    const std::size_t k = i % per;
    said.push_back(k == knobs().size()
                       ? fmt::format("group {}: tiling {}", i / per + 1, given[i])
                       : fmt::format("group {}: {} {}", i / per + 1, knobs()[k].name, knobs()[k].values[given[i] - 1]));
  }
  return said.empty() ? "level 2" : fmt::format("{}", fmt::join(said, "; "));
}

}  // namespace kiln::tensor
