// Events: the events of a timeline, of which there may be tens of millions: kept in half the bytes that an Event has,
// and given out as Events.
#pragma once

#include <cstddef>
#include <iterator>
#include <unordered_map>
#include <vector>

#include "kiln/timing/event.h"

namespace kiln::timing {

class Events {
 public:
  using value_type = Event;
  class const_iterator;
  static constexpr std::size_t kBytesEach = 32;

  std::size_t size() const { return kept_.size(); }
  bool empty() const { return kept_.empty(); }
  void reserve(std::size_t count) { kept_.reserve(count); }
  void push_back(const Event& event);
  // Adds others whose lanes and events have been counted from 0.
  void append(const Events& others, LaneId first_lane, EventId first_event);
  void shorten(std::size_t count);  // to its first ones; what is because of the others is because of none

  Event operator[](std::size_t id) const;
  Event front() const { return (*this)[0]; }
  Event back() const { return (*this)[size() - 1]; }
  Time start_of(std::size_t id) const { return kept_[id].start; }
  Time end_of(std::size_t id) const {
    const Kept& kept = kept_[id];
    return kept.odd ? odd_.at(id).end : kept.start + kept.lasts;
  }
  EventId because_of(std::size_t id) const { return kept_[id].because; }

  void replace(std::size_t id, const Event& event);
  void set_because(std::size_t id, EventId because) { kept_[id].because = because; }
  void set_repeats(std::size_t id, std::int64_t repeats);
  std::int64_t repeats_of(std::size_t id) const { return repeats_.empty() ? 1 : repeats_[id]; }

  const_iterator begin() const;
  const_iterator end() const;

 private:
  struct Kept {
    isa::InstructionId inst;
    EventId because;
    LaneId lane;
    std::uint8_t kind : 2, wait : 4, odd : 1;
    std::uint8_t waited_high;  // start - issue
    std::uint32_t waited_low;
    Time start;
    std::uint32_t lasts;              // end - start
    std::uint32_t occupied_or_moved;  // a transfer occupies its lane as long as it lasts: of it, hbm_bytes
  };
  // Times and bytes that have no room in a Kept.
  struct Odd {
    Time issue, end, occupied;
    double hbm_bytes;
  };
  static bool fits(const Event& event);

  std::vector<Kept> kept_;
  std::unordered_map<std::size_t, Odd> odd_;
  std::vector<std::int64_t> repeats_;  // empty: all are 1
};

class Events::const_iterator {
 public:
  using iterator_category = std::input_iterator_tag;  // of C++17: an Event is given out, not referred to
  using iterator_concept = std::forward_iterator_tag;
  using value_type = Event;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = Event;

  const_iterator() = default;
  const_iterator(const Events& events, std::size_t id) : events_(&events), id_(id) {}
  Event operator*() const { return (*events_)[id_]; }
  const_iterator& operator++() { return ++id_, *this; }
  const_iterator operator++(int) { return {*events_, id_++}; }
  bool operator==(const const_iterator& other) const { return id_ == other.id_; }

 private:
  const Events* events_ = nullptr;
  std::size_t id_ = 0;
};

inline Events::const_iterator Events::begin() const { return {*this, 0}; }
inline Events::const_iterator Events::end() const { return {*this, size()}; }

}  // namespace kiln::timing
