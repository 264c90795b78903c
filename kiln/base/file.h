// Whole files in and out. A file is written beside its place and renamed, so that a failure leaves no half
// file and the old one untouched. Every failure is an Error of category `config` that names the path and the
// reason.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/base/rule.h"

namespace kiln {

namespace file_rules {
inline constexpr Rule kReadable{1, "a file given as input can be read", "check the path and its permissions"};
inline constexpr Rule kWritable{2, "a file given as output can be written",
                                "check the folder, its permissions and the free space"};

inline constexpr Rule kRules[] = {kReadable, kWritable};
inline constexpr RuleTable kTable{"file", "files", kRules, Category::config};
}  // namespace file_rules

// Throws that this file cannot be written.
[[noreturn]] void fail_to_write(const std::string& path, const std::string& reason);

std::string read_file(const std::string& path);
std::vector<std::byte> read_file_bytes(const std::string& path);

// Writes the parts one after another. A link keeps pointing where it points; a pipe or a device is written
// directly.
void write_atomically(const std::string& path, std::span<const std::span<const std::byte>> parts);
void write_atomically(const std::string& path, std::string_view text);

}  // namespace kiln
