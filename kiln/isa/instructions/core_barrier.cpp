#include <fmt/format.h>

#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::core_barrier {
namespace {
using namespace args::core_barrier;

constexpr Rule kPair{1, "the kernel runs on a pair of cores (lnc 2)",
                     "build the kernel for lnc 2, or drop the barrier"};
constexpr Rule kCores{2, "cores is (0, 1)", "pass cores=(0, 1)"};
constexpr Rule kDataMemory{3, "data is in shared HBM", "allocate data with buffer=nl.shared_hbm"};
constexpr Rule kSbufOrdersNothing{
    4, "data in SBUF, which the documents do not mention, orders nothing but this core's tile",
    "pass the shared tensor that the cores exchange", Mark::external};

constexpr Rule kRules[] = {kPair, kCores, kDataMemory, kSbufOrdersNothing};

void check(Check& c) {
  c.require(kPair, c.program().lnc == 2, [&] { return fmt::format("lnc is {}", c.program().lnc); });
  const auto ids = c.integers(cores);
  c.require(kCores, ids.size() == 2 && ids[0] == 0 && ids[1] == 1, [&] {
    std::string list;
    for (std::int64_t id : ids) list += fmt::format("{}{}", list.empty() ? "" : ", ", id);
    return fmt::format("cores is ({})", list);
  });
  c.require(kDataMemory, c.memory(data) == Memory::shared_hbm || c.memory(data) == Memory::sbuf,
            [&] { return c.describe(data); });
  c.advise(kSbufOrdersNothing, c.memory(data) != Memory::sbuf, data);
}

// The machine makes the cores meet (sim/pair.h); no core does it alone.
void run(Run&) { internal_error(__FILE__, __LINE__, "core_barrier runs on a pair of cores"); }

Cost cost(const CostQuery& q) { return {.cycles = q.stream(0)}; }

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "Each core signals the other one and waits for its signal. What either core wrote to data before its barrier, "
        "both see after it.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track_none,
    .cost_text = "the engine's shortest interval, and the wait for the other core (not documented)",
    // The tensor engine waits for data where it waits for what it loads.
    .facts = {.stationary = data, .meets = true},
};

}  // namespace kiln::isa::instruction::core_barrier
