// A folder of compiled programs. The key is everything that a program depends on: the tensor program with its places,
// the chip, the options and Kiln's version, so nothing in it is ever stale.
#pragma once

#include <optional>
#include <string>

#include "kiln/tensor/lower/lower.h"

namespace kiln::tensor {

// What a compilation depends on, as text.
std::string cache_key(const Graph& graph, const CompileOptions& options);

// What is kept of a compilation.
struct Kept {
  std::vector<isa::Program> programs;  // one, or those of a pair of cores
  std::vector<Constant> constants;
  std::string report;
  std::vector<std::vector<std::string>> groups;  // groups_in_words
};

class Cache {
 public:
  explicit Cache(std::string folder) : folder_(std::move(folder)) {}  // made with the first program
  // Nothing when the folder has no such program; an entry that cannot be read counts as none.
  std::optional<Kept> find(const std::string& key) const;
  void put(const std::string& key, const Kept& kept) const;

  // Where something of this key lies.
  std::string path(const std::string& key, const std::string& ending = "kilncache") const;

 private:
  std::string folder_;
};

}  // namespace kiln::tensor
