#include "kiln/isa/instructions/shared/collective.h"

#include <fmt/format.h>

#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::all_gather_v {
namespace {
using namespace args::all_gather_v;

constexpr std::int64_t kRanksOfAChip = 4;

constexpr Rule kPlaces{10, "has_rdispls is not supported", "leave has_rdispls out"};
constexpr Rule kOneChip{11, "lists have the 4 ranks of a chip, of lnc 2",
                        "build the kernel for lnc 2 and groups of 4 ranks"};

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
                           kOneChip};
constexpr int kSources[] = {srcs};
constexpr SizedParams kParams{srcs, dsts, replica_group, metadata_tensor, recv_counts_known, has_rdispls};

void check(Check& c) {
  check_collective(c, {kSources, dsts, replica_group, priority, kWithout});
  check_sizes(c, kParams);
  c.require(kPlaces, !c.boolean(has_rdispls), has_rdispls, [&] { return "has_rdispls is True"; });
  bool one_chip = c.program().lnc == 2 && group_size(c, replica_group) == kRanksOfAChip;
  for (const RankList list : replica_groups(c, replica_group)) one_chip = one_chip && devices_of(c, list).size() == 1;
  c.require(kOneChip, one_chip, replica_group,
            [&] { return fmt::format("lists {} of lnc {}", groups_text(c, replica_group), c.program().lnc); });
}

void exchange(Gathering& g) {
  for (int from = 0; from < g.size(); ++from)
    for (int to = 0; to < g.size(); ++to) move_part(g, from, to, sent_part(g, from, kParams, 0), kParams);
}

// A ring of n - 1 steps; sizes are known at run time only, so all of src counts.
Collective::Traffic traffic(int n, double bytes) { return {Route::ring_gather, n - 1.0, (n - 1.0) * bytes}; }

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
        "For ranks i and j of the group: send_counts[0] elements of the src of i, from send_displs[0] on, go to the "
        "dst of j, from dst.size / n x i on. recv_counts[i] of j becomes that number, unless recv_counts_known. Bit "
        "for bit; what nothing goes to stays as it is.",
    .engine = nullptr,
    .check = check,
    .run = run_collective,
    .cost = collective_cost,
    .track = track_none,
    .cost_text = "ring: n - 1 hops, (n - 1) x the bytes of src over a link; below 1 MB a mesh when it is faster: 1 hop",
    .facts = {.collective = &kCollective, .meets = true, .writes_some = true},
};

}  // namespace kiln::isa::instruction::all_gather_v
