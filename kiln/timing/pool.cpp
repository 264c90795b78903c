#include "kiln/timing/pool.h"

#include <algorithm>

namespace kiln::timing {

void Pool::take(std::int64_t bytes, std::vector<OpId>& before) {
  const std::int64_t fresh = std::min(bytes, unused_);
  unused_ -= fresh;
  bytes -= fresh;
  // A program that passed its checks fits; when tensors lie side by side in other partitions the pool may run
  // out here, and the tensor waits for nothing more.
  while (bytes > 0 && !returned_.empty()) {
    Chunk& chunk = returned_.front();
    for (OpId user : chunk.users) {
      if (user != kNoOp && std::find(before.begin(), before.end(), user) == before.end()) before.push_back(user);
    }
    const std::int64_t part = std::min(bytes, chunk.bytes);
    bytes -= part;
    chunk.bytes -= part;
    if (chunk.bytes == 0) returned_.pop_front();
  }
}

TimedPool::Given TimedPool::look(std::int64_t bytes) const {
  bytes -= unused_;
  if (bytes <= 0) return {0, isa::kNone};
  if (bytes > all_returned_) return {-1, isa::kNone};
  std::size_t i = first_;
  while ((bytes -= returned_[i].bytes) > 0) ++i;
  return {returned_[i].at, returned_[i].event};
}

void TimedPool::take(std::int64_t bytes) {
  const std::int64_t fresh = std::min(bytes, unused_);
  unused_ -= fresh;
  bytes -= fresh;
  while (bytes > 0 && first_ < returned_.size()) {
    Chunk& chunk = returned_[first_];
    const std::int64_t part = std::min(bytes, chunk.bytes);
    bytes -= part;
    chunk.bytes -= part;
    all_returned_ -= part;
    if (chunk.bytes == 0) ++first_;
  }
  constexpr std::size_t kMany = 64;
  if (first_ > kMany && 2 * first_ > returned_.size()) {
    returned_.erase(returned_.begin(), returned_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
  unused_ -= bytes;  // more than there is: paid back by what comes next
}

void TimedPool::give_back(std::int64_t bytes, Time at, EventId event) {
  if (unused_ < 0) {
    const std::int64_t owed = std::min(-unused_, bytes);
    unused_ += owed;
    bytes -= owed;
  }
  if (bytes == 0) return;
  all_returned_ += bytes;
  const auto begin = returned_.begin() + static_cast<std::ptrdiff_t>(first_);
  const auto next = std::upper_bound(begin, returned_.end(), at, [](Time t, const Chunk& c) { return t < c.at; });
  returned_.insert(next, {bytes, at, event});
}

}  // namespace kiln::timing
