#include "kiln/base/suggest.h"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace kiln {
namespace {

constexpr std::size_t kMaxLength = 64;
constexpr int kMaxConsidered = 10000;  // an error message is not worth more time

// Levenshtein distance, one row at a time.
int distance(std::string_view a, std::string_view b) {
  std::array<int, kMaxLength + 1> row;
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int substituted = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

void Suggest::consider(std::string_view candidate) {
  if (word_.empty() || candidate.empty() || std::max(word_.size(), candidate.size()) > kMaxLength) return;
  if (++considered_ > kMaxConsidered) return;
  const int allowed = std::max<int>(1, static_cast<int>(std::min(word_.size(), candidate.size())) / 3);
  const int d = distance(word_, candidate);
  if (d > allowed || d >= distance_) return;
  distance_ = d;
  best_ = candidate;
}

}  // namespace kiln
