#include "kiln/isa/instructions/shared/collective.h"

#include <fmt/format.h>

#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::all_reduce {
namespace {
using namespace args::all_reduce;

constexpr Rule kShape{8, "dst has the shape of src", "slice or reshape one of them"};

constexpr Rule kInFloat32{10, kReducesFloats};

constexpr ServerRules kServers = server_rules(11);

constexpr Rule kRules[] = {
    kAsMany,         kOneMemory, kCoalescing,         kSameDtype, kReplicaGroups, kCollectivePriority,
    kCallersTensors, kShape,     kCollectiveOperator, kInFloat32, kServers.sizes, kServers.places};
constexpr int kSources[] = {srcs};

void check(Check& c) {
  check_collective(c, {kSources, dsts, replica_group, priority});
  check_coalescing(c, dsts);
  const auto from = c.accesses(srcs), to = c.accesses(dsts);
  for (std::size_t i = 0; i < std::min(from.size(), to.size()); ++i)
    c.require(kShape, same_shapes(from[i], to[i]), dsts,
              [&] { return fmt::format("src is {}, dst is {}", shape_text(from[i]), shape_text(to[i])); });
  check_operator(c, op);
  check_reduced(c, srcs, kInFloat32);
  check_servers(c, replica_group, kServers);
}

void exchange(Gathering& g) {
  const int tiles = static_cast<int>(g[0].parcels[srcs].size());
  for (int t = 0; t < tiles; ++t) {
    const auto from = g.by_rank(srcs, t);
    g.reduce(g[0].view.alu(op), from, g.by_rank(dsts, t), g.parcel(from[0]).count);
  }
}

// A ring: a reduce-scatter, then an all-gather, each of n - 1 steps with a part of 1/n.
Collective::Traffic traffic(int n, double bytes) {
  return {Route::ring_all_reduce, 2.0 * (n - 1), 2.0 * (n - 1) / n * bytes};
}

constexpr Collective kCollective{
    .sent = srcs, .received = dsts, .groups = replica_group, .exchange = exchange, .traffic = traffic};

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "dst = op over the src of every rank of the group, in ascending order of ranks, in float32 with one rounding "
        "to the dtype at the end.",
    .engine = nullptr,
    .check = check,
    .run = run_collective,
    .cost = collective_cost,
    .track = track_none,
    .cost_text =
        "ring: 2 (n - 1) hops, 2 (n - 1) / n of the bytes over a link; below 1 MB a mesh when it is faster: 2 hops",
    .facts = {.collective = &kCollective, .meets = true},
};

}  // namespace kiln::isa::instruction::all_reduce
