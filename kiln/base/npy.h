// NumPy's .npy files: versions 1.0, 2.0 and 3.0 are read, little endian, in C or Fortran order; 1.0 in C
// order is written, byte for byte as numpy.save does. A malformed file is an Error of category `config` with
// a code of npy_rules.h; nothing is allocated on the word of a header that the size of the file does not
// confirm.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kiln/base/dtype.h"
#include "kiln/base/memory_limit.h"

namespace kiln {

struct NpyArray {
  DType dtype = DType::float32;
  std::vector<std::int64_t> shape;  // empty: one element
  std::vector<std::byte> data;      // C order, no padding
};

// `expected` names the dtype the caller wants. It decides what raw elements are ('<V2' is how numpy.save
// stores bfloat16), and a file of another dtype is an Error. For dtypes whose elements are bare bits
// (float8_e8m0fnu and the packed ones) a file of unsigned integers of the same size is accepted too. Never
// converts.
// At most `most` bytes are read.
NpyArray read_npy(const std::string& path, std::optional<DType> expected = std::nullopt,
                  std::int64_t most = default_max_memory());
NpyArray parse_npy(std::span<const std::byte> file, const std::string& name,
                   std::optional<DType> expected = std::nullopt);

// Dtypes that NumPy lacks are written as raw elements, so that np.load(path).view(ml_dtypes.bfloat16) works;
// tfloat32 is written as float32.
void write_npy(const std::string& path, const NpyArray& array);
// What stands before the elements in such a file; `path` is for errors.
std::string npy_header(const NpyArray& array, const std::string& path);

}  // namespace kiln
