// Several .npy files that appear together or not at all.
#pragma once

#include <span>
#include <string>

#include "kiln/base/npy.h"

namespace kiln::cli {

struct OutputFile {
  std::string path;
  const NpyArray* array;
};

// Writes every array beside its place first and renames only when all are written. When something fails, no
// new file is left and Error names the file. Devices and pipes are written directly, before any file is
// renamed.
void write_all_or_none(std::span<const OutputFile> files);

// Throws Error when a file can certainly not be written, so that a long run does not end in vain.
void require_writable(std::span<const std::string> paths);

}  // namespace kiln::cli
