// t[...]: whether dims at an offset are slices of a shape, and which.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kiln/emit/sum.h"
#include "kiln/isa/program.h"

namespace kiln::emit {

struct SlicedView {
  std::vector<isa::Dim> dims;  // on chip without the partition dimension
  Sum offset;                  // in elements, on chip of the partition's
  bool on_chip = false;
  std::int64_t partitions = 0;  // of the view, on chip
  Sum partition;
  std::string moves_by = {};  // a register or tile that moves it, along a dimension of stride `scale`
  std::int64_t scale = 0;
};

// Indices into a tensor of `shape` (on chip the partition dimension comes first) that give the view, such as
// "[0:128, nl.ds(i * 64, 64)]", perhaps followed by ".expand_dim(2)"; "" for all of it. Nothing when slices cannot.
std::optional<std::string> slices_text(const std::vector<std::int64_t>& shape, const SlicedView& view,
                                       std::span<const Variable> variables);

}  // namespace kiln::emit
