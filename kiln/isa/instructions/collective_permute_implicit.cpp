#include "kiln/isa/instructions/shared/collective.h"

#include <fmt/format.h>

#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::collective_permute_implicit {
namespace {
using namespace args::collective_permute_implicit;

constexpr Rule kShape{8, "dst has the shape of src", "slice or reshape one of them"};
constexpr Rule kSameLists{9, "the lists of the group have the same length", "make rings of the same length"};

constexpr ServerRules kServers = server_rules(11);

constexpr Rule kRules[] = {kAsMany,         kOneMemory, kOnePerChannel, kSameDtype, kReplicaGroups, kCollectivePriority,
                           kCallersTensors, kShape,     kSameLists,     kChannels,  kServers.sizes, kServers.places};
constexpr int kSources[] = {srcs_by_channel};

void check(Check& c) {
  check_collective(c, {kSources, dsts_by_channel, replica_group, priority});
  check_by_channel(c, srcs_by_channel, dsts_by_channel, channel_ids, kShape);
  c.require(kSameLists, group_size(c, replica_group) > 0, replica_group, [&] { return groups_text(c, replica_group); });
  check_channels(c, srcs_by_channel, replica_group, channel_ids);
  check_servers(c, replica_group, kServers);
}

void exchange(Gathering& g) {
  const int tiles = static_cast<int>(g[0].parcels[srcs_by_channel].size());
  for (int t = 0; t < tiles; ++t)
    for (int i = 0; i < g.size(); ++i)
      g.move({i, srcs_by_channel, t, 0}, {(i + 1) % g.size(), dsts_by_channel, t, 0},
             g.parcel({i, srcs_by_channel, t, 0}).count);
}

constexpr Collective kCollective{.sent = srcs_by_channel,
                                 .received = dsts_by_channel,
                                 .groups = replica_group,
                                 .by_channel = true,
                                 .exchange = exchange,
                                 .traffic = to_the_neighbour};

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "On each channel: dst of a rank = src of the rank before it in the group's list; the first one gets that of "
        "the last. Bit for bit.",
    .engine = nullptr,
    .check = check,
    .run = run_collective,
    .cost = collective_cost,
    .track = track_none,
    .cost_text = "one hop, the bytes over a link",
    .facts = {.collective = &kCollective, .meets = true},
};

}  // namespace kiln::isa::instruction::collective_permute_implicit
