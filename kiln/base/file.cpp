#include "kiln/base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>
#include <stdexcept>

#include "kiln/base/descriptor.h"
#include "kiln/base/quantity_text.h"
#include "kiln/base/staged_file.h"

namespace kiln {
namespace {

using file_rules::kReadable, file_rules::kSize, file_rules::kTable;
namespace fs = std::filesystem;

constexpr const char* kThisProgram = "/proc/self/exe";

[[noreturn]] void fail_to_read(const std::string& path, const std::string& reason) {
  raise(kTable, kReadable, {.found = fmt::format("cannot read `{}`: {}", path, reason), .loc = {.file = path}});
}

[[noreturn]] void too_large(const std::string& path, const struct stat& status, std::int64_t most) {
  const std::string size =
      S_ISREG(status.st_mode) ? bytes_text(static_cast<double>(status.st_size)) : "no end in sight";
  raise(
      kTable, kSize,
      {.found = fmt::format("`{}` has {}, and at most {} are read", path, size, bytes_text(static_cast<double>(most))),
       .loc = {.file = path}});
}

// How much to make room for: one byte more than the size, so that the end shows without a second round. Pipes say 0
// and grow.
template <class Buffer>
void make_room(Buffer& buffer, std::size_t used, const struct stat& status, std::int64_t most) {
  constexpr std::int64_t kStepBytes = 64 << 10;
  const auto now = static_cast<std::int64_t>(used);
  const std::int64_t wanted = now == 0 ? std::max(status.st_size + 1, kStepBytes) : now + std::max(kStepBytes, now / 2);
  buffer.resize(static_cast<std::size_t>(std::min(wanted, most + 1)));
}

template <class Buffer>
Buffer read_all(const std::string& path, std::int64_t most) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status;
  if (!file.is_open() || ::fstat(file.get(), &status) != 0) fail_to_read(path, std::strerror(errno));
  if (S_ISREG(status.st_mode) && status.st_size > most) too_large(path, status, most);
  Buffer buffer;
  std::size_t used = 0;
  try {
    for (;;) {
      if (static_cast<std::int64_t>(used) > most) too_large(path, status, most);
      if (used == buffer.size()) make_room(buffer, used, status, most);
      const ssize_t got = ::read(file.get(), buffer.data() + used, buffer.size() - used);
      if (got == 0) break;
      if (got > 0) used += static_cast<std::size_t>(got);
      if (got < 0 && errno != EINTR) fail_to_read(path, std::strerror(errno));
    }
  } catch (const std::bad_alloc&) {
    fail_to_read(path, "it does not fit in memory");
  } catch (const std::length_error&) {
    fail_to_read(path, "it does not fit in memory");
  }
  buffer.resize(used);
  return buffer;
}

bool is_device(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

void write_directly(const FileParts& to) {
  Descriptor file(::open(to.path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.is_open() || !std::ranges::all_of(to.parts, [&](auto part) { return write_all(file.get(), part); }) ||
      !file.close())
    fail_to_write(to.path, errno);
}

}  // namespace

void fail_to_write(const std::string& path, int number) {
  const char* reason = number == EISDIR ? "it is a folder" : std::strerror(number);
  throw WriteError(broken(kTable, file_rules::kWritable,
                          {.found = fmt::format("cannot write `{}`: {}", path, reason), .loc = {.file = path}}),
                   number);
}

std::string read_file(const std::string& path, std::int64_t most) { return read_all<std::string>(path, most); }
std::vector<std::byte> read_file_bytes(const std::string& path, std::int64_t most) {
  return read_all<std::vector<std::byte>>(path, most);
}

void write_all_or_none(std::span<const FileParts> files) {
  std::vector<std::unique_ptr<StagedFile>> staged;
  for (const FileParts& file : files) {
    if (is_device(file.path)) continue;
    staged.push_back(std::make_unique<StagedFile>(file.path));
    for (const auto& part : file.parts) staged.back()->write(part);
    staged.back()->finish();
  }
  for (const FileParts& file : files) {
    if (is_device(file.path)) write_directly(file);
  }
  for (const auto& file : staged) file->publish();
  for (const auto& file : staged) file->keep();
}

void write_atomically(const std::string& path, std::string_view text) {
  const FileParts file{path, {std::as_bytes(std::span(text))}};
  write_all_or_none(std::span(&file, 1));
}

void require_folder(const std::string& path) {
  std::error_code failure;
  fs::create_directories(path, failure);
  if (!fs::is_directory(path)) fail_to_write(path, failure ? failure.value() : ENOTDIR);
}

void require_writable(std::span<const std::string> outputs) {
  for (const std::string& path : outputs) {
    std::error_code failure;
    const fs::path real = fs::canonical(path, failure), target = failure ? fs::path(path) : real;
    const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
    if (::access(is_device(path) ? path.c_str() : folder.c_str(), W_OK) != 0) fail_to_write(path, errno);
    if (fs::is_directory(path, failure)) fail_to_write(path, EISDIR);
  }
}

void require_apart(std::span<const std::string> inputs, std::span<const std::string> outputs) {
  const auto is_same = [](const struct stat& a, const char* path) {
    struct stat b;
    return ::stat(path, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
  };
  for (const std::string& output : outputs) {
    struct stat status;
    if (::stat(output.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    const auto input =
        std::ranges::find_if(inputs, [&](const std::string& path) { return is_same(status, path.c_str()); });
    if (input == inputs.end() && !is_same(status, kThisProgram)) continue;
    raise(
        kTable, file_rules::kApart,
        {.found = fmt::format("`{}` would overwrite {}", output,
                              input == inputs.end() ? "the program that runs" : fmt::format("the input `{}`", *input)),
         .loc = {.file = output}});
  }
}

}  // namespace kiln
