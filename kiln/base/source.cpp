#include "kiln/base/source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace kiln {
namespace {

constexpr off_t kMaxSourceBytes = 16 << 20;  // a larger "source" is no source

class OpenFile {
 public:
  // Without waiting: a pipe that nobody writes to must not stop a report.
  explicit OpenFile(const std::string& path)
      : fd_(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)) {}
  ~OpenFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  std::optional<std::string> text() const {
    struct stat status {};
    if (fd_ < 0 || ::fstat(fd_, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size > kMaxSourceBytes)
      return {};
    std::string text(static_cast<std::size_t>(status.st_size), '\0');
    std::size_t done = 0;
    while (done < text.size()) {
      const ssize_t got = ::read(fd_, text.data() + done, text.size() - done);
      if (got <= 0) break;
      done += static_cast<std::size_t>(got);
    }
    text.resize(done);
    return text;
  }

 private:
  int fd_;
};

}  // namespace

std::optional<std::string> source_text(const SourceLoc& loc) {
  if (loc.foreign || loc.file.empty() || loc.file.find('\0') != std::string::npos) return {};
  return OpenFile(loc.file).text();
}

std::string source_line(const SourceLoc& loc) {
  if (loc.line <= 0) return {};
  const std::optional<std::string> text = source_text(loc);
  if (!text) return {};
  std::size_t begin = 0;
  for (int line = 1; line < loc.line; ++line) {
    begin = text->find('\n', begin);
    if (begin++ == std::string::npos) return {};
  }
  std::string line = text->substr(begin, text->find('\n', begin) - begin);
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
  return line;
}

bool lies_below(const std::string& file, const std::vector<std::string>& folders) {
  namespace fs = std::filesystem;
  std::error_code failure;
  const fs::path real = fs::canonical(file, failure);
  if (failure) return false;
  for (const std::string& folder : folders) {
    const fs::path root = fs::canonical(folder.empty() ? "." : folder, failure);
    if (failure) continue;
    const auto [end, _] = std::mismatch(root.begin(), root.end(), real.begin(), real.end());
    if (end == root.end()) return true;
  }
  return false;
}

}  // namespace kiln
