// Table: numbers that a kernel reads from HBM, the same for all its calls.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernels/fft/roots.h"
#include "kiln/isa/builder/builder.h"

namespace kiln::kernels {

struct Table {
  std::string name;  // of the program's input
  std::int64_t rows = 0, columns = 0;
  DType dtype = DType::float32;  // or uint32, whose bits the values are then
  std::vector<float> values;

  Table(std::string name, std::int64_t rows, std::int64_t columns, DType dtype = DType::float32)
      : name(std::move(name)),
        rows(rows),
        columns(columns),
        dtype(dtype),
        values(static_cast<std::size_t>(rows * columns)) {}
  float& operator()(std::int64_t r, std::int64_t c) { return values[static_cast<std::size_t>(r * columns + c)]; }
  isa::View declare(isa::Kernel& k) const { return k.input(name, {rows, columns}, dtype); }
};
using Tables = std::vector<Table>;

// Declares a table as an input of the kernel and brings it into SBUF, where it stays.
inline isa::View resident(isa::Kernel& k, const std::string& name, std::int64_t rows, std::int64_t columns) {
  const isa::View tile = k.sbuf({rows, columns}, DType::float32);
  k.dma_copy({.dst = tile, .src = k.input(name, {rows, columns}, DType::float32)});
  return tile;
}

}  // namespace kiln::kernels
