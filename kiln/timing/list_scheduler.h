// ListScheduler: holds instructions back and takes the one that can start first, in program order among equals, as the
// vendor's compiler may. Memory is given out in that order, except that the oldest instruction never waits for what was
// not given back.
#pragma once

#include <vector>

#include "kiln/timing/progress.h"
#include "kiln/timing/stays.h"

namespace kiln::timing {

class ListScheduler {
 public:
  explicit ListScheduler(const Plan& plan) : plan_(plan) {}

  bool is_empty() const { return held_ == 0; }
  bool is_full() const { return held_ >= kWindow; }
  // Where the next instruction is to be written down; hold() takes it, once its dependencies are known.
  Issue& next();
  void hold(const Progress& progress);
  // The instruction to start next, and when its dependencies let it. When it has its times, say so with started().
  struct Chosen {
    const Issue& issue;
    const Ready& ready;
  };
  Chosen choose(const Progress& progress, const Stays& stays);
  void started(const Progress& progress);

 private:
  static constexpr std::size_t kWindow = 192;  // instructions to choose from
  using Place = std::uint32_t;                 // index into held places
  struct Held {
    Issue issue;
    Ready ready{};                  // as its dependencies let it, once all of them have times
    ShortVector<Place, 4> waiters;  // those that wait for it
    std::uint32_t missing = 0;      // dependencies that have no time yet
  };
  // An instruction that only waits for its turn.
  struct Turn {
    Time known;  // when its dependencies are done
    OpId op;
    Place place;
  };
  // Those of a stream: what could start at once when the stream is free, in program order; and what waits for longer,
  // the last first.
  struct StreamTurns {
    std::vector<Turn> now, later;
  };
  struct Best {
    Time at = -1;
    OpId op = kNoOp;
    std::vector<Turn>* of = nullptr;
    std::size_t index = 0;
    bool is_before(Time t, OpId other) const { return at >= 0 && (at < t || (at == t && op < other)); }
  };
  Stream stream_of(const Issue& issue) const { return plan_.ops[issue.inst].stream; }
  void make_ready(Place place, const Progress& progress);
  static void sort_in(StreamTurns& turns, Time free);
  bool look(Best& best, std::vector<Turn>& turns, std::size_t index, Time soonest, Time semaphore,
            const Stays& stays) const;

  const Plan& plan_;
  std::vector<Held> places_;  // used again
  std::vector<Place> spare_;
  std::vector<Place> place_of_;  // by op
  StreamTurns turns_[kStreamCount];
  OpId oldest_ = 0;  // that waits
  Place chosen_ = isa::kNone;
  std::size_t held_ = 0;
};

}  // namespace kiln::timing
