// The first NaN or infinity that an instruction makes of numbers: which instruction, in which pass of its loops, of
// which operands. What a kernel puts there itself, such as the -inf of a mask, is none.
#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <vector>

#include "kiln/isa/semantics/run.h"
#include "kiln/sim/machine.h"

namespace kiln::sim {

// An operand that the result of its instruction lies over, as it was.
struct Overwritten {
  int param;
  int tile;                         // of a parameter that takes several
  std::uint32_t largest;            // magnitude
  std::vector<std::uint32_t> bits;  // of each element, when there was more among them than plain numbers
  bool by_walk = false;             // the instruction's own walk looks at it
};
using Before = std::vector<Overwritten>;

class FirstNonfinite {
 public:
  explicit FirstNonfinite(NanMode mode) : mode_(mode) {}

  // Whether the instruction may be the first one; the second for one with a single result, of this dtype.
  bool looks_at(const isa::Run& run) const;
  bool looks_at(const isa::Run& run, DType result) const;
  // Of this thread, until it looks again. What the instruction's own walk can look at is left to it: `seen` asks, and
  // look_after or take_over must follow.
  Before& look_before(const isa::Run& run, isa::Seen& seen) const;
  // Puts in what the walk saw.
  static void take_over(isa::Seen& seen, Before& before);
  // In the mode `error`, throws the Error of what it finds. `seen`: what the instruction's own walk saw, if anything.
  void look_after(const isa::Run& run, Before& before, isa::Seen& seen);
  // The same of one result that holds an infinity or a NaN.
  void look_closer(const isa::Run& run, const Before& before, int param);

  // What was found first: a result that is no number (run.R15), and one that its dtype cannot hold (run.R16).
  std::vector<isa::WarningSink::Warning> take();

 private:
  enum Kind : int { kResult, kRange };
  static Kind kind_of(DType dtype);
  bool is_first(Kind kind, std::int64_t sequence) const {
    return sequence < first_[kind].load(std::memory_order_relaxed);
  }
  void found(Kind kind, const isa::Run& run, const Before& before, int param, std::int64_t element);

  const NanMode mode_;
  std::atomic<std::int64_t> first_[2] = {INT64_MAX, INT64_MAX};  // by kind: the sequence of the one below
  std::mutex mutex_;
  std::optional<isa::WarningSink::Warning> found_[2];
};

}  // namespace kiln::sim
