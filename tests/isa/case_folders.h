// The folders of cases below a directory, in the order of their names.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace kiln {

inline std::vector<std::filesystem::path> case_folders(const std::string& directory) {
  std::vector<std::filesystem::path> folders;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.is_directory()) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

}  // namespace kiln
