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

Time Server::first_fit(Time earliest, Time length) const {
  if (length <= 0) return earliest;
  auto next = std::lower_bound(busy_.begin() + static_cast<std::ptrdiff_t>(first_), busy_.end(), earliest,
                               [](const Span& s, Time t) { return s.end <= t; });
  Time at = earliest;
  for (; next != busy_.end() && next->begin < at + length; ++next) at = std::max(at, next->end);
  return at;
}

void Server::forget_before(Time floor) {
  while (first_ < busy_.size() && busy_[first_].end < floor) ++first_;
  if (first_ > 1024 && first_ * 2 > busy_.size()) {
    busy_.erase(busy_.begin(), busy_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
}

void Server::repeat(Time complete, Time period, std::int64_t count, Time floor) {
  constexpr std::int64_t kMost = 1'000'000, kMostInAll = 4'000'000;  // spans that are written down one by one
  const Time by = period * count;
  std::vector<Span> window, rest;
  while (busy_.size() > first_ && busy_.back().end > complete - period) {
    const Span s = busy_.back();
    busy_.pop_back();
    if (s.end > complete) rest.push_back({std::max(s.begin, complete) + by, s.end + by});
    const Time from = std::max(s.begin, complete - period), to = std::min(s.end, complete);
    if (from < to) window.push_back({from, to});
    if (s.begin < complete - period) busy_.push_back({s.begin, complete - period});
    if (s.begin <= complete - period) break;
  }
  const auto add = [&](Span s) {
    if (busy_.size() > first_ && busy_.back().end == s.begin) {
      busy_.back().end = s.end;
    } else {
      busy_.push_back(s);
    }
  };
  // Those that end before the floor need not be there.
  const bool is_idle = window.empty() || period == 0;
  const std::int64_t past = is_idle ? count : floor > complete ? std::min((floor - complete) / period, count) : 0;
  const double spans = static_cast<double>(window.size()) * static_cast<double>(count - past);
  if (spans > kMost || static_cast<double>(repeated_) + spans > kMostInAll) {
    for (auto s = window.rbegin(); s != window.rend(); ++s) add(*s);
    add({complete, complete + by});
  } else {
    repeated_ += static_cast<std::int64_t>(spans);
    for (std::int64_t k = past; k <= count; ++k) {
      for (auto s = window.rbegin(); s != window.rend(); ++s) add({s->begin + k * period, s->end + k * period});
    }
  }
  for (auto s = rest.rbegin(); s != rest.rend(); ++s) add(*s);
}

void Coverage::add(Time begin, Time end) {
  if (end <= begin) return;
  auto first =
      std::lower_bound(spans_.begin(), spans_.end(), begin, [](const Server::Span& s, Time t) { return s.end < t; });
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

void Coverage::echo(Time from, Time by) {
  std::vector<Server::Span> later;
  for (auto s = spans_.rbegin(); s != spans_.rend() && s->end > from; ++s)
    later.push_back({std::max(s->begin, from) + by, s->end + by});
  const Time before = total();
  for (const Server::Span& s : later) add(s.begin, s.end);
  forgotten_ -= total() - before;
}

Time Coverage::total() const {
  Time t = forgotten_;
  for (const Server::Span& s : spans_) t += s.end - s.begin;
  return t;
}

}  // namespace kiln::timing
