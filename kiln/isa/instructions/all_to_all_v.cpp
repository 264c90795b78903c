#include "kiln/isa/instructions/shared/collective.h"

#include <fmt/format.h>

#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::all_to_all_v {
namespace {
using namespace args::all_to_all_v;

constexpr Rule kPlaces{10, "has_rdispls exists where a NeuronSwitch joins the devices: on trn3",
                       "leave has_rdispls out"};
constexpr Rule kReach{
    11,
    "on trn3 a list holds ranks that follow each other, all those of two devices or more, of lnc 2; elsewhere ranks at "
    "the same place of different nodes",
    "use all_to_all inside a node"};

constexpr int kWithout = 1;
constexpr Rule kRules[] = {kAsMany,
                           kOneTensor,
                           earlier(kSameDtype, kWithout),
                           earlier(kReplicaGroups, kWithout),
                           earlier(kCollectivePriority, kWithout),
                           earlier(kCallersTensors, kWithout),
                           kFlatTensor,
                           kMetadata,
                           kPartsFit,
                           kPlaces,
                           kReach};
constexpr int kSources[] = {srcs};
constexpr SizedParams kParams{srcs, dsts, replica_group, metadata_tensor, recv_counts_known, has_rdispls};

bool reaches(const Check& c) {
  const LinkSpec& links = c.arch().links;
  if (links.has_switch && c.program().lnc != 2) return false;
  for (const RankList list : replica_groups(c, replica_group)) {
    if (links.has_switch && (!has_whole_devices(c, list) || devices_of(c, list).size() < 2)) return false;
    for (std::size_t i = 1; i < list.size(); ++i) {
      const std::int64_t distance = list[i] - list[i - 1];
      if (links.has_switch ? distance != 1 : distance % links.ranks_per_node(c.program().lnc) != 0) return false;
    }
  }
  return true;
}

void check(Check& c) {
  check_collective(c, {kSources, dsts, replica_group, priority, kWithout});
  check_sizes(c, kParams);
  c.require(kPlaces, !c.boolean(has_rdispls) || c.arch().links.has_switch, has_rdispls,
            [&] { return fmt::format("has_rdispls on {}", c.arch().name); });
  c.require(kReach, reaches(c), replica_group, [&] { return groups_text(c, replica_group); });
}

void exchange(Gathering& g) {
  for (int from = 0; from < g.size(); ++from)
    for (int to = 0; to < g.size(); ++to) move_part(g, from, to, sent_part(g, from, kParams, to), kParams);
}

// A mesh: one step; sizes are known at run time only, so all of src counts.
Collective::Traffic traffic(int n, double bytes) { return {Route::mesh, n > 1 ? 1.0 : 0.0, (n - 1.0) / n * bytes}; }

constexpr Collective kCollective{.sent = srcs,
                                 .received = dsts,
                                 .groups = replica_group,
                                 .own_sizes = true,
                                 .exchange = exchange,
                                 .traffic = traffic};

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "For ranks i and j of the group: send_counts[j] elements of the src of i, from send_displs[j] on, go to the "
        "dst of j, from dst.size / n x i on, or from recv_displs[i] on with has_rdispls. recv_counts[i] of j "
        "becomes that number, unless recv_counts_known. Bit for bit; what nothing goes to stays as it is.",
    .engine = nullptr,
    .check = check,
    .run = run_collective,
    .cost = collective_cost,
    .track = track_none,
    .cost_text = "mesh: one hop, (n - 1) / n of the bytes of src out of a rank",
    .facts = {.collective = &kCollective, .meets = true, .writes_some = true},
};

}  // namespace kiln::isa::instruction::all_to_all_v
