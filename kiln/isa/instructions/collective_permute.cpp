#include "kiln/isa/instructions/shared/collective.h"

#include <fmt/format.h>

#include <set>

#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::collective_permute {
namespace {
using namespace args::collective_permute;

constexpr Rule kShape{7, "dst has the shape of src", "slice or reshape one of them"};
constexpr Rule kCircles{8, "the pairs form circles: each rank that they name sends and receives",
                        "name each rank as a source and as a target"};

constexpr Rule kNeighbours{9, "a pair is of one device, or of two that a link joins",
                           "send to a neighbouring device: the devices of a server stand row by row, and rows and "
                           "columns are circles"};

constexpr int kWithout = 1;
constexpr Rule kRules[] = {kAsMany,
                           kOneTensor,
                           earlier(kSameDtype, kWithout),
                           kSourceTargetPairs,
                           earlier(kCollectivePriority, kWithout),
                           earlier(kCallersTensors, kWithout),
                           kShape,
                           kCircles,
                           kNeighbours};
constexpr int kSources[] = {srcs};

void check(Check& c) {
  check_collective(c, {kSources, dsts, source_target_pairs, priority, kWithout});
  check_one_tensor(c, dsts);
  const auto from = c.accesses(srcs), to = c.accesses(dsts);
  if (!from.empty() && !to.empty())
    c.require(kShape, same_shapes(from[0], to[0]), dsts,
              [&] { return fmt::format("src is {}, dst is {}", shape_text(from[0]), shape_text(to[0])); });
  if (!are_pairs(c, source_target_pairs)) return;
  std::set<std::int64_t> sources, targets;
  for (const RankList pair : replica_groups(c, source_target_pairs)) {
    sources.insert(pair[0]);
    targets.insert(pair[1]);
  }
  c.require(kCircles, sources == targets, source_target_pairs, [&] { return groups_text(c, source_target_pairs); });
  for (const RankList pair : replica_groups(c, source_target_pairs)) {
    LinkLoad way(c.arch().links, c.arch().links.ranks_per_device(c.program().lnc));
    way.add(pair[0], pair[1], 1);
    c.require(kNeighbours, way.hops() <= 1, source_target_pairs,
              [&] { return fmt::format("from rank {} to {} are {} hops", pair[0], pair[1], way.hops()); });
  }
}

void exchange(Gathering& g) {
  for (const RankList pair : replica_groups(g[0].view, source_target_pairs)) {
    const int from = g.member_of(pair[0]), to = g.member_of(pair[1]);
    g.move({from, srcs, 0, 0}, {to, dsts, 0, 0}, g.parcel({from, srcs, 0, 0}).count);
  }
}

Collective::Traffic traffic(int, double bytes) { return {Route::neighbour, 1, bytes}; }

constexpr Collective kCollective{.sent = srcs,
                                 .received = dsts,
                                 .groups = source_target_pairs,
                                 .by_pairs = true,
                                 .exchange = exchange,
                                 .traffic = traffic};

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description = "For each pair (s, t): dst on rank t = src on rank s, bit for bit. Ranks that no pair names go on.",
    .engine = nullptr,
    .check = check,
    .run = run_collective,
    .cost = collective_cost,
    .track = track_none,
    .cost_text = "one hop, the bytes over a link",
    .facts = {.collective = &kCollective, .meets = true, .writes_some = true},
};

}  // namespace kiln::isa::instruction::collective_permute
