// The header of an .npy file, as text and as data. Used by npy.cpp only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/base/npy_rules.h"

namespace kiln {

struct NpyHeader {
  std::string descr;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
  std::size_t data_offset = 0;
};

// Throws that the file `name` breaks a rule of npy_rules; an empty `help` means that of the rule.
[[noreturn]] void npy_fail(const Rule& rule, const std::string& name, const std::string& found,
                           const std::string& help = {});

// Bytes of a file as text fit for a message: short, and escaped where not printable.
std::string npy_quote(std::string_view text);

// Reads the header at the beginning of `file`; checks the text, not whether shape and descr make sense.
NpyHeader parse_npy_header(std::span<const std::byte> file, const std::string& name);

// The version 1.0 header, padded as NumPy pads it; `data_offset` is not used.
std::string print_npy_header(const NpyHeader& header, const std::string& name);

}  // namespace kiln
