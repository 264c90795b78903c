// Event: one stay of an instruction on a lane of the timeline.
#pragma once

#include <cstdint>

#include "kiln/isa/program.h"

namespace kiln::timing {

using Time = std::int64_t;  // picoseconds since the kernel's first instruction could issue
inline constexpr Time kPicoseconds = 1000;
inline constexpr Time kLongest = Time{1} << 62;  // 53 days: no run takes longer
constexpr double to_ns(Time t) { return static_cast<double>(t) / kPicoseconds; }
constexpr Time from_ns(double ns) { return static_cast<Time>(ns * kPicoseconds + 0.5); }

using EventId = std::uint32_t;  // index into Timeline::events; isa::kNone when there is none
using LaneId = std::uint16_t;   // index into Timeline::lanes

// Why an event did not start earlier.
enum class Wait : std::uint8_t {
  none,        // the first of its lane
  engine,      // the previous instruction of the lane occupied it
  read,        // data it reads was not yet written (read after write)
  overwrite,   // what it overwrites was still being read (write after read)
  rewrite,     // what it overwrites was still being written (write after write)
  memory,      // its tensor's memory was still held by another tensor
  dependency,  // an explicit dependency
  state,       // a register or hidden engine state was not ready
  port,        // a memory port or PSUM bank was taken by another engine
  start,       // the fixed start delay of a DMA transfer after its trigger
  queue,       // the DMA queue was full or served an earlier transfer
  peer,        // the other core of the pair, or another rank, had not arrived
  loop         // the sequencer evaluated a dynamic loop's condition
};
inline constexpr int kWaitCount = 13;
const char* name(Wait wait);

// execute: an engine works. trigger: a sequencer starts a DMA. transfer: a DMA queue moves bytes.
enum class Kind : std::uint8_t { execute, trigger, transfer };
const char* name(Kind kind);

// One stay of an instruction on a lane. A DMA has two: its trigger and its transfer.
struct Event {
  isa::InstructionId inst;
  EventId because = isa::kNone;  // the event whose end (or, for Wait::engine, start) let this one start
  LaneId lane;
  Kind kind = Kind::execute;
  Wait wait = Wait::none;
  Time issue = 0;            // when its lane was free for it; start - issue is the time lost waiting
  Time start = 0, end = 0;   // end: results visible
  Time occupied = 0;         // from start: how long the lane takes nothing else
  std::int64_t repeats = 1;  // executions it stands for: extrapolated iterations show one of them
  double hbm_bytes = 0;      // that a transfer reads from or writes to HBM (both when HBM to HBM)
};

}  // namespace kiln::timing
