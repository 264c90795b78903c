// Pool: the bytes of SBUF or PSUM that tensors without an address share. A tensor takes what was never used,
// then what was given back longest ago; the model's allocator never fragments.
#pragma once

#include <deque>
#include <vector>

#include "kiln/timing/issue.h"

namespace kiln::timing {

class Pool {
 public:
  explicit Pool(std::int64_t bytes = 0) : unused_(bytes) {}
  // Adds to `before` who must be done before the bytes may be written.
  void take(std::int64_t bytes, std::vector<OpId>& before);
  void give_back(std::int64_t bytes, const Users& users) { returned_.push_back({bytes, users}); }
  std::int64_t unused() const { return unused_; }
  std::size_t returned() const { return returned_.size(); }

 private:
  struct Chunk {
    std::int64_t bytes;
    Users users;
  };
  std::int64_t unused_;
  std::deque<Chunk> returned_;
};

// The same for the list scheduler, which gives out bytes in the order in which it starts instructions.
class TimedPool {
 public:
  explicit TimedPool(std::int64_t bytes = 0) : unused_(bytes) {}
  struct Given {
    Time at;        // when the bytes are free; negative: there are not enough
    EventId event;  // who gave them back
  };
  Given look(std::int64_t bytes) const;
  void take(std::int64_t bytes);
  void give_back(std::int64_t bytes, Time at, EventId event);

 private:
  struct Chunk {
    std::int64_t bytes;
    Time at;
    EventId event;
  };
  std::int64_t unused_, all_returned_ = 0;
  std::vector<Chunk> returned_;  // from first_ on, the earliest first
  std::size_t first_ = 0;
};

}  // namespace kiln::timing
