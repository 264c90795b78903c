#include "kiln/timing/server.h"

#include <algorithm>

namespace kiln::timing {

Time Server::take(Time earliest, Time length) {
  if (length <= 0) return earliest;
  // Most requests come after all others.
  if (first_ == busy_.size() || earliest >= busy_.back().end) {
    if (first_ < busy_.size() && busy_.back().end == earliest) {
      busy_.back().end += length;
    } else {
      busy_.push_back({earliest, earliest + length});
    }
    return earliest;
  }
  auto next = std::lower_bound(busy_.begin() + static_cast<std::ptrdiff_t>(first_), busy_.end(), earliest,
                               [](const Span& s, Time t) { return s.end <= t; });
  Time at = earliest;
  while (next != busy_.end() && next->begin < at + length) {
    at = std::max(at, next->end);
    ++next;
  }
  const bool joins_previous = next != busy_.begin() && std::prev(next)->end == at;
  const bool joins_next = next != busy_.end() && next->begin == at + length;
  if (joins_previous && joins_next) {
    std::prev(next)->end = next->end;
    busy_.erase(next);
  } else if (joins_previous) {
    std::prev(next)->end = at + length;
  } else if (joins_next) {
    next->begin = at;
  } else {
    busy_.insert(next, {at, at + length});
  }
  return at;
}

void Server::forget_before(Time floor) {
  while (first_ < busy_.size() && busy_[first_].end < floor) ++first_;
  if (first_ > 1024 && first_ * 2 > busy_.size()) {
    busy_.erase(busy_.begin(), busy_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
}

void Server::shift(Time by) {
  for (Span& s : busy_) s.begin += by, s.end += by;
}

void Coverage::add(Time begin, Time end) {
  if (end <= begin) return;
  auto first = std::lower_bound(spans_.begin(), spans_.end(), begin,
                                [](const Server::Span& s, Time t) { return s.end < t; });
  auto last = first;
  while (last != spans_.end() && last->begin <= end) {
    begin = std::min(begin, last->begin);
    end = std::max(end, last->end);
    ++last;
  }
  if (first == last) {
    spans_.insert(first, {begin, end});
    return;
  }
  *first = {begin, end};
  spans_.erase(first + 1, last);
}

void Coverage::forget_before(Time floor) {
  std::size_t past = 0;
  while (past < spans_.size() && spans_[past].end < floor) ++past;
  if (past < 256) return;
  for (std::size_t i = 0; i < past; ++i) forgotten_ += spans_[i].end - spans_[i].begin;
  spans_.erase(spans_.begin(), spans_.begin() + static_cast<std::ptrdiff_t>(past));
}

Time Coverage::total() const {
  Time t = forgotten_;
  for (const Server::Span& s : spans_) t += s.end - s.begin;
  return t;
}

}  // namespace kiln::timing
