#include "cli/output_files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "kiln/base/error.h"
#include "kiln/base/file.h"

namespace kiln::cli {
namespace {
namespace fs = std::filesystem;

bool is_device(const fs::path& path) {
  std::error_code failure;
  const fs::file_status status = fs::status(path, failure);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

// Where a path leads: a link keeps pointing where it points.
fs::path target_of(const std::string& path) {
  std::error_code failure;
  const fs::path real = fs::canonical(path, failure);
  return failure ? fs::path(path) : real;
}

fs::path folder_of(const fs::path& target) { return target.has_parent_path() ? target.parent_path() : fs::path("."); }

// A file that is written but not yet in its place; removed unless it gets there.
class Staged {
 public:
  Staged(const OutputFile& file, std::size_t number)
      : path_(file.path),
        target_(target_of(file.path)),
        aside_(folder_of(target_) / fmt::format(".kiln-{}-out{}.tmp", ::getpid(), number)) {
    std::error_code failure;
    const fs::file_status old = fs::status(target_, failure);
    if (fs::is_directory(old)) fail_to_write(path_, "it is a folder");
    write(*file.array);
    if (fs::exists(old)) fs::permissions(aside_, old.permissions(), failure);
  }
  ~Staged() { remove(); }
  Staged(const Staged&) = delete;
  Staged& operator=(const Staged&) = delete;

  void publish() {
    if (::rename(aside_.c_str(), target_.c_str()) != 0) fail_to_write(path_, std::strerror(errno));
    aside_ = target_;
  }
  void keep() { aside_.clear(); }

 private:
  // The name beside the place means nothing to the user: errors name the place.
  void write(const NpyArray& array) {
    try {
      write_npy(aside_.string(), array);
    } catch (const Error& e) {
      remove();
      std::vector<Diagnostic> diagnostics = e.diagnostics();
      for (Diagnostic& d : diagnostics) {
        d.loc.file = path_;
        const std::string aside = aside_.string();
        if (const auto at = d.found.find(aside); at != std::string::npos) d.found.replace(at, aside.size(), path_);
      }
      throw Error(std::move(diagnostics));
    }
  }

  void remove() {
    std::error_code ignored;
    if (!aside_.empty()) fs::remove(aside_, ignored);
  }

  std::string path_;
  fs::path target_, aside_;  // aside_: what to remove when something fails
};

}  // namespace

void write_all_or_none(std::span<const OutputFile> files) {
  std::vector<std::unique_ptr<Staged>> staged;
  for (const OutputFile& file : files) {
    if (!is_device(file.path)) staged.push_back(std::make_unique<Staged>(file, staged.size()));
  }
  for (const OutputFile& file : files) {
    if (is_device(file.path)) write_npy(file.path, *file.array);
  }
  for (const auto& file : staged) file->publish();
  for (const auto& file : staged) file->keep();
}

void require_writable(std::span<const std::string> paths) {
  for (const std::string& path : paths) {
    const fs::path place = is_device(path) ? fs::path(path) : folder_of(target_of(path));
    if (::access(place.c_str(), W_OK) != 0) fail_to_write(path, std::strerror(errno));
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) fail_to_write(path, "it is a folder");
  }
}

}  // namespace kiln::cli
