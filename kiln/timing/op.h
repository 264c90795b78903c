// Op: what the model knows about an instruction before anything is executed: its stream, its times at full speed, the
// memory it touches.
#pragma once

#include "kiln/isa/program.h"
#include "kiln/timing/stream.h"
#include "kiln/timing/timeline.h"

namespace kiln::timing {

inline constexpr std::uint32_t kMostShapes = (1u << 27) - 1;

// An operand in a tensor whose accesses can depend on each other.
struct Use {
  std::uint32_t access;      // index into Program::accesses, which has the tensor
  std::uint32_t shape : 27;  // index into Plan::shapes
  bool reads : 1, writes : 1;
  bool fixed : 1;       // no loop moves it
  bool uncertain : 1;   // a run-time address: any byte of the tensor
  bool stationary : 1;  // operand that a matmul loads before it begins
};
static_assert(sizeof(Use) == 8);  // there are millions

// What starts DMAs: the sync and the scalar engine's hardware, and the gpsimd engine's software. DMAs whose
// engine the kernel leaves open go through the first.
enum Unit : std::uint8_t { kSyncUnit, kScalarUnit, kGpsimdUnit };
inline constexpr int kUnitCount = 3;

// Ports that engines share, as bits: SBUF, PSUM, and the banks of PSUM one by one.
enum Port : std::uint16_t { kNoPort = 0, kSbufPort = 1, kPsumPort = 2, kFirstBankPort = 4 };
inline constexpr int kPortCount = 2 + 8;

// The tensor engine's array consists of 4 x 4 pieces of 32 x 32, which small products occupy one by one.
inline constexpr int kQuadrantCount = 16;

struct Op {
  Stream stream;
  Engine engine;
  Kind kind = Kind::execute;
  Time latency = 0, interval = 0;    // start to results; start to next start
  Time load = 0;                     // tensor: stationary operand
  Time load_pass = 0;                // tensor: of that, what its columns take
  Time pass = 0;                     // tensor: streaming time of the last of its parts
  int parts = 1;                     // tensor
  std::uint16_t quadrants = 0xffff;  // tensor: bit per piece of the array that it occupies
  int table = -1;                    // scalar: set of functions, -1 when any will do
  std::uint16_t ports = kNoPort;
  std::uint8_t dge = 0;          // DMA
  std::uint8_t unit = 0;         // DMA: its Unit
  Time trigger = 0;              // DMA: how long that takes
  Time transfer = 0, share = 0;  // DMA: alone on the machine; of all engines' time
  Time hbm_share = 0;            // of the HBM stack's time
  Time spread = 0;
  Time link = 0;         // collectives: of the rank's links
  Time moved = 0;        // and without links: `transfer` is at least that
  Time steps = 0;        // and latencies of hops
  bool crosses = false;  // it is a collective
  bool early = false;    // it does not wait for its turn (ProgramChange)
  bool meets = false;    // sendrecv, core_barrier, collectives
  double hbm_read = 0, hbm_written = 0, macs = 0, flops = 0;
  unsigned state = 0;  // isa::StateBit
  isa::RegisterId writes_register = isa::kNone;
  bool operator==(const Op&) const = default;
};

}  // namespace kiln::timing
