// Server: something that serves one request at a time (DMA bandwidth, a memory port). Requests come in
// program order, not in order of time, so a later request may take a gap that an earlier one left.
#pragma once

#include <cstddef>
#include <vector>

#include "kiln/timing/timeline.h"

namespace kiln::timing {

class Server {
 public:
  struct Span {
    Time begin, end;
  };
  // Takes `length` from the first moment at or after `earliest` at which the server has that much time;
  // returns it.
  Time take(Time earliest, Time length);
  // That moment, without taking it.
  Time first_fit(Time earliest, Time length) const;
  // Nothing will ask for time before `floor`.
  void forget_before(Time floor);
  // Up to `complete` everything is known and repeats every `period`: repeats it `count` times more, and moves
  // the rest. Nothing will ask for time before `floor`.
  void repeat(Time complete, Time period, std::int64_t count, Time floor);

 private:
  std::vector<Span> busy_;     // in order, apart
  std::size_t first_ = 0;      // earlier ones are forgotten
  std::int64_t repeated_ = 0;  // spans that repeat() wrote
};

// How much time any of many spans covers.
class Coverage {
 public:
  void add(Time begin, Time end);
  void forget_before(Time floor);  // no span that begins earlier will follow
  void add_total(Time time) { forgotten_ += time; }
  // What comes next overlaps with what there is from `from` on as if that came `by` later, too; adds nothing itself.
  void echo(Time from, Time by);
  Time total() const;

 private:
  std::vector<Server::Span> spans_;  // in order, apart
  Time forgotten_ = 0;
};

}  // namespace kiln::timing
