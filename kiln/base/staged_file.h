// StagedFile: a file that is written beside its place and renamed when it is complete, so that a failure leaves no half
// file and the old one untouched. Every failure is a WriteError.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "kiln/base/temporaries.h"

namespace kiln {

class StagedFile {
 public:
  // A link keeps pointing where it points, and a file that is replaced keeps its permissions.
  explicit StagedFile(std::string path);
  ~StagedFile();
  StagedFile(const StagedFile&) = delete;
  StagedFile& operator=(const StagedFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void finish();                    // all bytes are written
  void publish();                   // puts it in its place,
  void keep() { is_kept_ = true; }  // where it stays; otherwise it is removed again

 private:
  std::string path_, target_;
  Temporary aside_;
  bool is_published_ = false, is_kept_ = false;
};

}  // namespace kiln
