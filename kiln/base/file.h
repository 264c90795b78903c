// Whole files in and out. A file is written beside its place and renamed, so that a failure leaves no half
// file and the old one untouched. Every failure is an Error of category `config` that names the path and the
// reason.
#pragma once

#include <cstddef>
#include <cstdint>
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
inline constexpr Rule kApart{3, "an output overwrites neither an input nor a program", "give the output another name"};
inline constexpr Rule kSize{4, "a file given as input ends, and is no larger than what is read from it can be",
                            "check the path: devices and pipes may never end"};

inline constexpr Rule kRules[] = {kReadable, kWritable, kApart, kSize};
inline constexpr RuleTable kTable{"file", "files", kRules, Category::config};
}  // namespace file_rules

// That a file cannot be written, and the number of the operating system's reason.
class WriteError : public Error {
 public:
  WriteError(Diagnostic diagnostic, int number) : Error(std::move(diagnostic)), number_(number) {}
  int number() const { return number_; }

 private:
  int number_;
};
[[noreturn]] void fail_to_write(const std::string& path, int number);

// At most `most` bytes are read.
inline constexpr std::int64_t kMostText = std::int64_t{1} << 30;
std::string read_file(const std::string& path, std::int64_t most = kMostText);
std::vector<std::byte> read_file_bytes(const std::string& path, std::int64_t most);

// A file to write: the parts one after another. A link keeps pointing where it points.
struct FileParts {
  std::string path;
  std::vector<std::span<const std::byte>> parts;
};
// Writes all of them or none: renames only when all are written. Pipes and devices are written directly, before any
// file is renamed.
void write_all_or_none(std::span<const FileParts> files);
void write_atomically(const std::string& path, std::string_view text);

// A folder to write files into, made where it is not there.
void require_folder(const std::string& path);

// Throws Error when a file can certainly not be written, so that a long run does not end in vain.
void require_writable(std::span<const std::string> outputs);
// Throws Error when writing one of the outputs would overwrite one of the inputs, or the program that runs.
void require_apart(std::span<const std::string> inputs, std::span<const std::string> outputs);

}  // namespace kiln
