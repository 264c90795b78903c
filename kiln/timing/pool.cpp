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
      if (user != kNoOp && std::find(before.begin(), before.end(), user) == before.end())
        before.push_back(user);
    }
    const std::int64_t part = std::min(bytes, chunk.bytes);
    bytes -= part;
    chunk.bytes -= part;
    if (chunk.bytes == 0) returned_.pop_front();
  }
}

}  // namespace kiln::timing
