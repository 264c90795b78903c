#include "kiln/isa/instructions/shared/collective.h"

#include <fmt/format.h>

#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::collective_permute_implicit_reduce {
namespace {
using namespace args::collective_permute_implicit_reduce;

constexpr Rule kShape{8, "dst has the shape of both sources", "slice or reshape one of them"};

constexpr Rule kInFloat32{11, kReducesFloats};

constexpr ServerRules kServers = server_rules(12);

constexpr Rule kRules[] = {
    kAsMany, kOneMemory,          kOnePerChannel, kSameDtype, kReplicaGroups, kCollectivePriority, kCallersTensors,
    kShape,  kCollectiveOperator, kChannels,      kInFloat32, kServers.sizes, kServers.places};
constexpr int kSources[] = {srcs0_by_channel, srcs1_by_channel};

void check(Check& c) {
  check_collective(c, {kSources, dsts_by_channel, replica_group, priority});
  for (const int sources : kSources) check_by_channel(c, sources, dsts_by_channel, channel_ids, kShape);
  check_operator(c, op);
  check_reduced(c, srcs0_by_channel, kInFloat32);
  check_channels(c, srcs0_by_channel, replica_group, channel_ids);
  check_servers(c, replica_group, kServers);
}

void exchange(Gathering& g) {
  const int tiles = static_cast<int>(g[0].parcels[srcs0_by_channel].size());
  for (int t = 0; t < tiles; ++t)
    for (int i = 0; i < g.size(); ++i)
      g.reduce(g[0].view.alu(op), {{i, srcs0_by_channel, t, 0}, {i, srcs1_by_channel, t, 0}},
               {{(i + 1) % g.size(), dsts_by_channel, t, 0}}, g.parcel({i, srcs0_by_channel, t, 0}).count);
}

constexpr Collective kCollective{.sent = srcs0_by_channel,
                                 .received = dsts_by_channel,
                                 .groups = replica_group,
                                 .by_channel = true,
                                 .exchange = exchange,
                                 .traffic = to_the_neighbour};

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "On each channel: dst of a rank = op(src0, src1) of the rank before it in the group's list, computed there "
        "in float32 with one rounding.",
    .engine = nullptr,
    .check = check,
    .run = run_collective,
    .cost = collective_cost,
    .track = track_none,
    .cost_text = "one hop, the bytes over a link",
    .facts = {.collective = &kCollective, .meets = true},
};

}  // namespace kiln::isa::instruction::collective_permute_implicit_reduce
