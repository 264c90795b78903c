// SpacedRanges: equal ranges of bytes, equally spaced, and such groups of them again, as the elements of a tile lie.
#pragma once

#include <cstdint>

namespace kiln::sim {

struct SpacedRanges {
  static constexpr int kMostSteps = 4;
  struct Step {
    std::int64_t step, count;
    bool operator==(const Step&) const = default;
  };

  std::int64_t begin, bytes;  // of the first one
  int rank = 0;
  Step steps[kMostSteps] = {};  // the longest ones first; none is shorter than what the ones behind it span

  // Adds a longer step. False: there is no room for it, or it is shorter than what is there.
  bool repeat(std::int64_t step, std::int64_t count);
  // Steps that go on where others end as one, single ones left out.
  void join();

  std::int64_t span(int first_step) const;  // of those from a step on
  std::int64_t end() const { return begin + span(0); }
  std::int64_t covered(std::int64_t from, std::int64_t to) const;  // bytes of from ... to
  bool holds(const SpacedRanges& other) const;                     // surely
  bool is_apart(const SpacedRanges& other) const;                  // surely
  bool takes(const SpacedRanges& other);                           // becomes both of them, where that are ranges
  // Sets bytes of from ... to, of which the first one is out[0].
  void put(std::uint8_t value, std::int64_t from, std::int64_t to, std::uint8_t* out) const;

  // Calls fn(begin, bytes, step, count) for groups of ranges of one step each.
  template <class Fn>
  void for_groups(Fn&& fn) const {
    const Step last = rank > 0 ? steps[rank - 1] : Step{bytes, 1};
    std::int64_t index[kMostSteps] = {}, at = begin;
    for (int d = 0; d >= 0;) {
      fn(at, bytes, last.step, last.count);
      for (d = rank - 2; d >= 0; --d) {
        at += steps[d].step;
        if (++index[d] < steps[d].count) break;
        at -= steps[d].step * steps[d].count;
        index[d] = 0;
      }
    }
  }
};

}  // namespace kiln::sim
