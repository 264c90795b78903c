#include "kiln/timing/turns.h"

#include <algorithm>

namespace kiln::timing {

void Turns::write(const Box& box, OpId op, bool updates) {
  const bool again = std::find(written_.begin(), written_.end(), box) != written_.end();
  if (again && was_read_ && !updates) {
    past_.push_back(users_);
    if (past_.size() > buffers_) past_.pop_front();
    users_ = kNoUsers;
    begin_ = op;
    was_read_ = false;
    written_.clear();
  }
  if (!again || written_.empty()) written_.push_back(box);
}

void Turns::correct(Waits& out, std::size_t from) const {
  const auto earlier = [&](const Dependency& d) {
    return d.op < begin_ && (d.wait == Wait::overwrite || d.wait == Wait::rewrite);
  };
  out.resize_down(static_cast<std::size_t>(std::remove_if(out.begin() + from, out.end(), earlier) - out.begin()));
  if (past_.size() < buffers_) return;
  for (OpId user : past_.front()) {
    if (user != kNoOp) out.push_back({user, Wait::overwrite});
  }
}

}  // namespace kiln::timing
