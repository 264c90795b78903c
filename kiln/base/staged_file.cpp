#include "kiln/base/staged_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "kiln/base/file.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

std::string target_of(const std::string& path) {
  std::error_code failure;
  const fs::path real = fs::canonical(path, failure);
  return failure ? path : real.string();
}

fs::path swept_folder_of(const fs::path& target) {
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  remove_stale_temporaries(folder);
  return folder;
}

}  // namespace

StagedFile::StagedFile(std::string path)
    : path_(std::move(path)), target_(target_of(path_)), aside_(swept_folder_of(target_)) {
  struct stat old;
  const int failure = errno;
  const bool exists = ::stat(target_.c_str(), &old) == 0;
  if (exists && S_ISDIR(old.st_mode)) fail_to_write(path_, EISDIR);
  if (!aside_.is_open()) fail_to_write(path_, failure);
  if (exists && ::fchmod(aside_.get(), old.st_mode & 07777) != 0) fail_to_write(path_, errno);
}

StagedFile::~StagedFile() {
  if (is_published_ && !is_kept_) ::unlink(target_.c_str());
}

void StagedFile::write(std::span<const std::byte> bytes) {
  if (!write_all(aside_.get(), bytes)) fail_to_write(path_, errno);
}

void StagedFile::finish() {
  if (!aside_.close()) fail_to_write(path_, errno);
}

void StagedFile::publish() {
  if (!aside_.rename_to(target_)) fail_to_write(path_, errno);
  is_published_ = true;
}

}  // namespace kiln
