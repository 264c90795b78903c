#include "kiln/base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <new>
#include <stdexcept>

namespace kiln {
namespace {

using file_rules::kReadable, file_rules::kWritable;

[[noreturn]] void fail(const Rule& rule, const std::string& path, const std::string& reason) {
  const char* verb = rule.number == kReadable.number ? "read" : "write";
  raise(file_rules::kTable, rule,
        {.found = fmt::format("cannot {} `{}`: {}", verb, path, reason), .loc = {.file = path}});
}

[[noreturn]] void fail_errno(const Rule& rule, const std::string& path) { fail(rule, path, std::strerror(errno)); }

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  bool open() const { return fd_ >= 0; }
  bool close() {
    const int fd = fd_;
    fd_ = -1;
    return fd < 0 || ::close(fd) == 0;
  }

 private:
  int fd_;
};

// Removes the file unless it was renamed in time.
class Temporary {
 public:
  explicit Temporary(std::filesystem::path path) : path_(std::move(path)) {}
  ~Temporary() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  bool rename_to(const std::string& target) {
    if (::rename(path_.c_str(), target.c_str()) != 0) return false;
    path_.clear();
    return true;
  }

 private:
  std::filesystem::path path_;
};

template <class Buffer>
Buffer read_all(const std::string& path) {
  constexpr std::size_t kStepBytes = 64 << 10;
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status;
  if (!file.open() || ::fstat(file.get(), &status) != 0) fail_errno(kReadable, path);
  Buffer buffer;
  std::size_t used = 0;
  try {
    // One byte more than the size: the end shows without a second round. Pipes say 0 and grow.
    buffer.resize(static_cast<std::size_t>(status.st_size) + 1);
    for (;;) {
      if (used == buffer.size()) buffer.resize(buffer.size() + std::max(kStepBytes, buffer.size() / 2));
      const ssize_t got = ::read(file.get(), buffer.data() + used, buffer.size() - used);
      if (got == 0) break;
      if (got > 0) used += static_cast<std::size_t>(got);
      if (got < 0 && errno != EINTR) fail_errno(kReadable, path);
    }
  } catch (const std::bad_alloc&) {
    fail(kReadable, path, "it does not fit in memory");
  } catch (const std::length_error&) {
    fail(kReadable, path, "it does not fit in memory");
  }
  buffer.resize(used);
  return buffer;
}

bool write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno != EINTR) return false;
    if (put > 0) bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return true;
}

void write_parts(Descriptor& file, const std::string& path, std::span<const std::span<const std::byte>> parts) {
  for (const auto& part : parts) {
    if (!write_all(file.get(), part)) fail_errno(kWritable, path);
  }
  if (!file.close()) fail_errno(kWritable, path);
}

// The name does not contain the target's, which may be as long as a name can be.
std::filesystem::path temporary_beside(const std::string& target) {
  static std::atomic<unsigned> counter{0};
  return std::filesystem::path(target).parent_path() / fmt::format(".kiln-{}-{}.tmp", ::getpid(), counter++);
}

}  // namespace

void fail_to_write(const std::string& path, const std::string& reason) { fail(kWritable, path, reason); }

std::string read_file(const std::string& path) { return read_all<std::string>(path); }
std::vector<std::byte> read_file_bytes(const std::string& path) { return read_all<std::vector<std::byte>>(path); }

void write_atomically(const std::string& path, std::span<const std::span<const std::byte>> parts) {
  std::string target = path;
  struct stat status;
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) fail(kWritable, path, "it is a folder");
  if (exists && !S_ISREG(status.st_mode)) {
    Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file.open()) fail_errno(kWritable, path);
    return write_parts(file, path, parts);
  }
  std::error_code failure;
  if (const auto link = std::filesystem::canonical(path, failure); exists && !failure) target = link.string();

  const std::filesystem::path aside = temporary_beside(target);
  Descriptor file(::open(aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file.open()) fail_errno(kWritable, path);
  Temporary temporary(aside);
  if (exists && ::fchmod(file.get(), status.st_mode & 07777) != 0) fail_errno(kWritable, path);
  write_parts(file, path, parts);
  if (!temporary.rename_to(target)) fail_errno(kWritable, path);
}

void write_atomically(const std::string& path, std::string_view text) {
  const std::span<const std::byte> part = std::as_bytes(std::span(text));
  write_atomically(path, std::span(&part, 1));
}

}  // namespace kiln
