// The files of this process that are not yet in their place: `.kiln-PID-N.tmp` beside it. Whoever ends on a signal can
// remove them, and what a process left that was killed is removed by the next one that writes there.
#pragma once

#include <filesystem>
#include <string>

#include "kiln/base/descriptor.h"

namespace kiln {

// A new file in a folder, open for writing; removed when it goes, unless it was renamed.
class Temporary {
 public:
  explicit Temporary(const std::filesystem::path& folder);
  ~Temporary();
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  // All of these leave errno when they fail.
  bool is_open() const { return file_.is_open(); }
  int get() const { return file_.get(); }
  bool close() { return file_.close(); }
  bool rename_to(const std::string& target);

 private:
  bool open();

  std::string path_;
  int slot_ = -1;           // where unlink_temporaries finds the path; negative: there was no room
  Descriptor file_, lock_;  // the lock outlives the file, until it is in its place
};

// Removes the temporary files of this process. May be called by a signal handler; the process should end then.
void unlink_temporaries() noexcept;

// Removes temporary files in the folder whose process is dead; looks there once.
void remove_stale_temporaries(const std::filesystem::path& folder);

}  // namespace kiln
