// Timeline: when each instruction of a program starts and ends on its engine, what it waited for, and what
// follows from that: totals, an error band, the critical path, memory over time. Views read this; nothing
// here formats anything.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kiln/timing/events.h"

namespace kiln::timing {

// An engine's instruction stream, a DMA queue, or the links to other ranks, of one core.
struct Lane {
  std::string
      name;  // "tensor", "dma 3"; "core 0 tensor" in a pair; "rank 3 tensor", "ranks 0-3 links" of several ranks
  Engine engine = Engine::unknown;
  int core = 0;
  int queue = -1;                 // DMA queues count from 0
  bool links = false;             // collectives are here, not in a queue
  std::int64_t executions = 0;    // with all repeats
  Time busy = 0;                  // union of occupied spans, with all repeats
  Time active = 0;                // union of start … end, with all repeats: the profiler's "active time"
  Time waiting[kWaitCount] = {};  // idle time before instructions, by what they waited for
};

// Iterations that were not simulated: the loop was steady, so its last period is taken `periods` times more. The events
// of the period carry `repeats`; later events start after the gap. Gaps of an inner loop lie between the events of an
// outer one's period.
struct Gap {
  isa::LoopId loop;
  int core;
  Time begin, end;                   // where the left-out iterations lie on the time axis
  std::int64_t iterations, periods;  // left out
  EventId first_event, last_event;   // of the period that repeats
  double hbm_bytes;                  // moved in the gap
};

// A step of the chain of events that decides the total. The times of all steps add up to the total.
struct CriticalStep {
  EventId event;
  Time time;             // its part of the total, with all repeats; waiting that nothing else explains included
  std::int64_t repeats;  // how often the chain passes here
};

// Bytes per partition alive from `at` on.
struct MemorySample {
  Time at;
  std::int64_t core : 16, sbuf_bytes : 48;
  std::int64_t psum_bytes;
};

// Where the measured value is expected in four of five cases, from how far like rows were off.
struct Band {
  Time low = 0, high = 0;
  std::string basis;              // "trn2 kernels bound by the tensor engine"
  std::vector<std::string> rows;  // ids of the calibration rows it derives from
};

struct TripCount {
  int core;
  isa::LoopId loop;
  std::int64_t count;
};

// Ranks whose times are the same, of which one was timed.
struct RanksAlike {
  std::vector<int> ranks;  // ascending
  Time total = 0;          // when they have ended
  Time links = 0;          // collectives are under way
  Time exposed = 0;        // of that: no engine works meanwhile
  Time work = 0;           // an engine works
};

struct Timeline {
  Target target = Target::trn2;
  std::vector<RanksAlike> ranks;  // all ranks of the launch; figures of lanes, work and bytes are of the first of each
  std::vector<std::string> core_names;  // by core: what stands before the names of its lanes
  bool reordered = false;               // each engine's instructions, as the vendor's compiler may
  bool kept_order = false;              // of those: program order was faster than what the list scheduler chose
  Events events;                        // in issue order; at most TimingOptions::keep_events
  std::vector<Lane> lanes;              // engines first, then queues; by core
  std::vector<Gap> gaps;
  std::vector<CriticalStep> critical_path;  // first to last
  std::vector<MemorySample> memory;
  std::vector<TripCount> trip_counts;  // of the dynamic loops, as used
  Time total = 0;                      // first trigger to last byte or last result
  Time profiler_total = 0;             // with what the vendor's profiler shows around it
  Time benchmark_latency = 0;          // as the vendor's benchmark interface reports it
  Band band;
  LaneId bottleneck = 0;             // the lane that is busy longest; DMA queues count as one (the first)
  Time dma_busy = 0;                 // time in which any queue moves bytes
  std::int64_t instructions = 0;     // executed, with all repeats
  std::int64_t events_left_out = 0;  // beyond keep_events
  double hbm_bytes_read = 0, hbm_bytes_written = 0;
  double compulsory_bytes = 0;  // every input byte read once, every output byte written once
  double macs = 0, flops = 0;
  double tensor_peak_macs_per_ns = 0;  // of all cores, dense bfloat16
  double hbm_bytes_per_ns = 0;         // what the DMA engines and HBM of all cores can sustain
};

}  // namespace kiln::timing
