#include "kiln/isa/instructions/shared/collective.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::all_to_all {
namespace {
using namespace args::all_to_all;

constexpr Rule kShape{6, "dst has the shape of src, and dimension 0 is a multiple of the ranks of the group",
                      "make dimension 0 ranks x part"};
constexpr Rule kDimension{7, "collective_dim is 0", "pass collective_dim=0"};
constexpr Rule kWholeDevices{8, "the ranks of a list are all ranks of their devices: a mesh is built among whole ones",
                             "use groups of 4 ranks of lnc 2 on trn2 and trn3, 8 of lnc 1, 2 on trn1, or multiples",
                             Mark::external};

constexpr ServerRules kServers = server_rules(9);
constexpr Rule kFollow{11, "on trn1 the ranks of a list follow each other", "list neighbouring ranks", Mark::external};

constexpr int kWithout = 2;
constexpr Rule kRules[] = {kAsMany,
                           earlier(kSameDtype, kWithout),
                           earlier(kReplicaGroups, kWithout),
                           earlier(kCollectivePriority, kWithout),
                           earlier(kCallersTensors, kWithout),
                           kShape,
                           kDimension,
                           kWholeDevices,
                           kServers.sizes,
                           kServers.places,
                           kFollow};
constexpr int kSources[] = {srcs};

bool follow_each_other(RankList list) {
  return std::ranges::adjacent_find(list, [](std::int64_t a, std::int64_t b) { return b != a + 1; }) == list.end();
}

void check(Check& c) {
  check_collective(c, {kSources, dsts, replica_group, priority, kWithout});
  const auto from = c.accesses(srcs), to = c.accesses(dsts);
  const std::int64_t n = group_size(c, replica_group);
  for (std::size_t i = 0; i < std::min(from.size(), to.size()); ++i)
    c.require(kShape, same_shapes(from[i], to[i]) && n > 0 && from[i].dims[0].count % n == 0, dsts, [&] {
      return fmt::format("src is {}, dst is {}, groups have {} ranks", shape_text(from[i]), shape_text(to[i]), n);
    });
  c.require(kDimension, c.integer(collective_dim) == 0, collective_dim,
            [&] { return fmt::format("collective_dim is {}", c.integer(collective_dim)); });
  if (!are_replica_groups(c, replica_group)) return;
  for (const RankList list : replica_groups(c, replica_group))
    c.advise(kWholeDevices, list.size() == 1 || has_whole_devices(c, list), replica_group, [&] {
      return fmt::format("[{}] on {} with lnc {}", fmt::join(list, ", "), c.arch().name, c.program().lnc);
    });
  check_servers(c, replica_group, kServers);
  for (const RankList list : replica_groups(c, replica_group))
    c.advise(kFollow, c.arch().target != Target::trn1 || follow_each_other(list), replica_group,
             [&] { return fmt::format("[{}]", fmt::join(list, ", ")); });
}

void exchange(Gathering& g) {
  const int tiles = static_cast<int>(g[0].parcels[srcs].size());
  for (int t = 0; t < tiles; ++t) {
    const std::int64_t part = g.parcel({0, srcs, t, 0}).count / g.size();
    for (int from = 0; from < g.size(); ++from)
      for (int to = 0; to < g.size(); ++to) g.move({from, srcs, t, to * part}, {to, dsts, t, from * part}, part);
  }
}

// A mesh: one step, and all parts but its own leave a rank.
Collective::Traffic traffic(int n, double bytes) { return {Route::mesh, n > 1 ? 1.0 : 0.0, (n - 1.0) / n * bytes}; }

constexpr Collective kCollective{
    .sent = srcs, .received = dsts, .groups = replica_group, .exchange = exchange, .traffic = traffic};

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "Part i, along dimension 0, of the dst of the rank at place j of the group's list = part j of the src of the "
        "rank at "
        "place i; bit for bit.",
    .engine = nullptr,
    .check = check,
    .run = run_collective,
    .cost = collective_cost,
    .track = track_none,
    .cost_text = "mesh: one hop, (n - 1) / n of the bytes out of a rank",
    .facts = {.collective = &kCollective, .meets = true},
};

}  // namespace kiln::isa::instruction::all_to_all
