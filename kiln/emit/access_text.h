// An access as the source says it: the simplest of indexing, other shapes, and explicit patterns that means the same.
#pragma once

#include <optional>
#include <string>

#include "kiln/emit/sum.h"
#include "kiln/isa/program.h"

namespace kiln::emit {

// The part of an address that is known only at run time, and the source of the register or tile that holds it.
struct RunTimeOffset {
  isa::Dynamic::Kind kind;
  std::int64_t scale;
  std::string source;
  std::int64_t rows;  // of the tile
};

struct AccessWords {
  std::string tensor;  // as the source says it
  const isa::Tensor& of;
  const isa::Access& access;  // its dims and dtype
  Sum partition, offset;
  std::optional<RunTimeOffset> run_time = {};
};

// Throws Error emit.R3 when no view of NKI has the address.
std::string text_of(const AccessWords& words, std::span<const Variable> variables);

// `(128, 512)`.
std::string shape_text(std::span<const std::int64_t> shape);

}  // namespace kiln::emit
