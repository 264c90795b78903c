#include "kiln/isa/instructions/shared/collective.h"

#include <fmt/format.h>

#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa {
namespace {
using namespace args::collective_permute_implicit;

constexpr Rule kShape{8, "dst has the shape of src", "slice or reshape one of them"};
constexpr Rule kSameLists{9, "the lists of the group have the same length", "make rings of the same length"};

constexpr Rule kRules[] = {kAsMany,         kOneMemory, kOnePerChannel, kSameDtype, kReplicaGroups, kCollectivePriority,
                           kCallersTensors, kShape,     kSameLists,     kChannels};
constexpr int kSources[] = {srcs_by_channel};

void check(Check& c) {
  check_collective(c, {kSources, dsts_by_channel, replica_group, priority});
  const auto from = c.accesses(srcs_by_channel), to = c.accesses(dsts_by_channel);
  c.require(kOnePerChannel, !c.has(channel_ids) || c.integers(channel_ids).size() >= from.size(), srcs_by_channel,
            [&] { return fmt::format("{} tensors for {} channels", from.size(), c.integers(channel_ids).size()); });
  for (std::size_t i = 0; i < std::min(from.size(), to.size()); ++i)
    c.require(kShape, same_shapes(from[i], to[i]), dsts_by_channel,
              [&] { return fmt::format("src is {}, dst is {}", shape_text(from[i]), shape_text(to[i])); });
  c.require(kSameLists, group_size(c, replica_group) > 0, replica_group, [&] { return groups_text(c, replica_group); });
  check_channels(c, srcs_by_channel, replica_group, channel_ids);
}

void exchange(Gathering& g) {
  const int tiles = static_cast<int>(g[0].parcels[srcs_by_channel].size());
  for (int t = 0; t < tiles; ++t)
    for (int i = 0; i < g.size(); ++i)
      g.move({i, srcs_by_channel, t, 0}, {(i + 1) % g.size(), dsts_by_channel, t, 0},
             g.parcel({i, srcs_by_channel, t, 0}).count);
}

Collective::Traffic traffic(int n, double bytes) { return {Route::neighbour, n > 1 ? 1.0 : 0.0, n > 1 ? bytes : 0.0}; }

constexpr Collective kCollective{.sent = srcs_by_channel,
                                 .received = dsts_by_channel,
                                 .groups = replica_group,
                                 .by_channel = true,
                                 .exchange = exchange,
                                 .traffic = traffic};

}  // namespace

extern const Semantics semantics_collective_permute_implicit = {
    .rules = kRules,
    .description =
        "On each channel: dst of a rank = src of the rank before it in the group's list; the first one gets that of "
        "the last. "
        "Bit for bit.",
    .engine = nullptr,
    .check = check,
    .run = run_collective,
    .cost = collective_cost,
    .track = track_none,
    .cost_text = "one hop, the bytes over a link",
    .facts = {.collective = &kCollective, .meets = true},
};

}  // namespace kiln::isa
