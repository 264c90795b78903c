// An executed instruction on its way through the model: its number, what it waits for, when it can start, when it ran.
#pragma once

#include <array>

#include "kiln/base/short_vector.h"
#include "kiln/timing/stream.h"
#include "kiln/timing/timeline.h"

namespace kiln::timing {

using OpId = std::uint32_t;  // executed instructions, counted from 0
inline constexpr OpId kNoOp = isa::kNone;

// The last ops of each stream that used a tensor.
using Users = std::array<OpId, kStreamCount>;
inline constexpr Users kNoUsers = {kNoOp, kNoOp, kNoOp, kNoOp, kNoOp, kNoOp};

// What an op waits for. `later`: the op stands for one that came so much later.
struct Dependency {
  OpId op;
  Wait wait;
  Time later = 0;
};
using Waits = ShortVector<Dependency, 8>;

using StayId = std::uint32_t;  // a tensor's stay in memory, see Stays
using StayIds = ShortVector<StayId, 6>;

// What a matmul loads before it begins: bytes of a tensor (Box::hash) as the last op that wrote them left them.
struct Loaded {
  isa::TensorId tensor = isa::kNone;
  std::size_t bytes = 0;
  OpId writer = kNoOp;
  bool operator==(const Loaded&) const = default;
};

struct Issue {
  isa::InstructionId inst;
  OpId op;
  Waits deps;     // of everything but
  Waits early;    // the stationary operand
  StayIds stays;  // list scheduler: tensors in memory that it uses
  Loaded loaded;
};

// When something can start, and what keeps it from starting earlier.
struct Ready {
  Time at;
  Wait wait;
  EventId because;
  void later(Time t, Wait w, EventId b) {
    // What it reads counts before what it overwrites, when both come at once.
    const bool overwrites = wait == Wait::rewrite || wait == Wait::overwrite;
    if (t > at || (t == at && w == Wait::read && overwrites)) *this = {t, w, b};
  }
};

// When an executed instruction begins and when its results are there.
struct OpTimes {
  Time start = 0, end = -1;  // negative: it has no time yet
  EventId event = isa::kNone;
  int stream = 0;
  bool transfer = false;
};

}  // namespace kiln::timing
