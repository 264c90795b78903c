// Turns: a tensor that has several buffers in turn. A new value begins where something is written again after
// it was read; it waits for the users of the value that many buffers before, not for those of the last one.
#pragma once

#include <deque>
#include <vector>

#include "kiln/analysis/box.h"
#include "kiln/timing/issue.h"

namespace kiln::timing {

using analysis::Box;

class Turns {
 public:
  explicit Turns(int buffers) : buffers_(static_cast<std::size_t>(buffers)) {}

  void read() { was_read_ = true; }
  // A write. `updates`: by an instruction that reads the tensor as well, which stays in its buffer.
  void write(const Box& box, OpId op, bool updates);
  void use(OpId op, int stream) { users_[static_cast<std::size_t>(stream)] = op; }
  // What a write of the current value waits for: takes those of earlier values out of out[from …] and puts
  // the users of its buffer in.
  void correct(Waits& out, std::size_t from) const;

 private:
  std::size_t buffers_;
  OpId begin_ = 0;  // of the current value
  bool was_read_ = false;
  std::vector<Box> written_;
  Users users_ = kNoUsers;
  std::deque<Users> past_;  // of the values before it, the oldest first
};

}  // namespace kiln::timing
