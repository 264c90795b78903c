#include "kiln/isa/instructions/shared/collective.h"

#include <fmt/format.h>

#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa {
namespace {
using namespace args::collective_permute_implicit_reduce;

constexpr Rule kShape{8, "dst has the shape of both sources", "slice or reshape one of them"};

constexpr Rule kRules[] = {
    kAsMany,         kOneMemory, kOnePerChannel,      kSameDtype, kReplicaGroups, kCollectivePriority,
    kCallersTensors, kShape,     kCollectiveOperator, kChannels};
constexpr int kSources[] = {srcs0_by_channel, srcs1_by_channel};

void check(Check& c) {
  check_collective(c, {kSources, dsts_by_channel, replica_group, priority});
  const auto to = c.accesses(dsts_by_channel);
  for (const int sources : kSources) {
    const auto from = c.accesses(sources);
    c.require(kOnePerChannel, !c.has(channel_ids) || c.integers(channel_ids).size() >= from.size(), sources,
              [&] { return fmt::format("{} tensors for {} channels", from.size(), c.integers(channel_ids).size()); });
    for (std::size_t i = 0; i < std::min(from.size(), to.size()); ++i)
      c.require(kShape, same_shapes(from[i], to[i]), dsts_by_channel,
                [&] { return fmt::format("src is {}, dst is {}", shape_text(from[i]), shape_text(to[i])); });
  }
  check_operator(c, op);
  check_channels(c, srcs0_by_channel, replica_group, channel_ids);
}

void exchange(Gathering& g) {
  const int tiles = static_cast<int>(g[0].parcels[srcs0_by_channel].size());
  for (int t = 0; t < tiles; ++t)
    for (int i = 0; i < g.size(); ++i)
      g.reduce(g[0].view.alu(op), {{i, srcs0_by_channel, t, 0}, {i, srcs1_by_channel, t, 0}},
               {{(i + 1) % g.size(), dsts_by_channel, t, 0}}, g.parcel({i, srcs0_by_channel, t, 0}).count);
}

Collective::Traffic traffic(int n, double bytes) { return {Route::neighbour, n > 1 ? 1.0 : 0.0, n > 1 ? bytes : 0.0}; }

constexpr Collective kCollective{.sent = srcs0_by_channel,
                                 .received = dsts_by_channel,
                                 .groups = replica_group,
                                 .by_channel = true,
                                 .exchange = exchange,
                                 .traffic = traffic};

}  // namespace

extern const Semantics semantics_collective_permute_implicit_reduce = {
    .rules = kRules,
    .description =
        "On each channel: dst of a rank = op(src0, src1) of the rank before it in the group's list, computed there: "
        "floats in "
        "float32 with one rounding, 32-bit integers as such.",
    .engine = nullptr,
    .check = check,
    .run = run_collective,
    .cost = collective_cost,
    .track = track_none,
    .cost_text = "one hop, the bytes over a link",
    .facts = {.collective = &kCollective, .meets = true},
};

}  // namespace kiln::isa
