#include "kiln/isa/instructions/shared/collective.h"

#include <fmt/format.h>

#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::reduce_scatter {
namespace {
using namespace args::reduce_scatter;

constexpr Rule kShape{8, "src has the shape of dst, times the ranks of the group along dimension 0",
                      "make src ranks x dst along dimension 0"};
constexpr Rule kDimension{10, "collective_dim is 0", "pass collective_dim=0"};

constexpr Rule kInFloat32{11, kReducesFloats};

constexpr ServerRules kServers = server_rules(12);

constexpr Rule kRules[] = {
    kAsMany, kOneMemory,          kCoalescing, kSameDtype, kReplicaGroups, kCollectivePriority, kCallersTensors,
    kShape,  kCollectiveOperator, kDimension,  kInFloat32, kServers.sizes, kServers.places};
constexpr int kSources[] = {srcs};

void check(Check& c) {
  check_collective(c, {kSources, dsts, replica_group, priority});
  check_coalescing(c, dsts);
  const auto from = c.accesses(srcs), to = c.accesses(dsts);
  const std::int64_t n = group_size(c, replica_group);
  for (std::size_t i = 0; i < std::min(from.size(), to.size()); ++i)
    c.require(kShape, is_multiple(from[i], to[i], 0, n), srcs, [&] {
      return fmt::format("src is {}, dst is {}, groups have {} ranks", shape_text(from[i]), shape_text(to[i]), n);
    });
  check_operator(c, op);
  check_reduced(c, srcs, kInFloat32);
  c.require(kDimension, c.integer(collective_dim) == 0, collective_dim,
            [&] { return fmt::format("collective_dim is {}", c.integer(collective_dim)); });
  check_servers(c, replica_group, kServers);
}

void exchange(Gathering& g) {
  const int tiles = static_cast<int>(g[0].parcels[srcs].size());
  for (int t = 0; t < tiles; ++t) {
    const std::int64_t part = g.parcel({0, dsts, t, 0}).count;
    for (int to = 0; to < g.size(); ++to)
      g.reduce(g[0].view.alu(op), g.by_rank(srcs, t, to * part), {{to, dsts, t, 0}}, part);
  }
}

// A ring of n - 1 steps, each with a part.
Collective::Traffic traffic(int n, double bytes) {
  return {Route::ring_reduce_scatter, n - 1.0, (n - 1.0) / n * bytes};
}

constexpr Collective kCollective{
    .sent = srcs, .received = dsts, .groups = replica_group, .exchange = exchange, .traffic = traffic};

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "dst of the rank at place r of the group's list = part r, along dimension 0, of op over the src of every rank, "
        "in ascending order of ranks, in float32 with one rounding at the end.",
    .engine = nullptr,
    .check = check,
    .run = run_collective,
    .cost = collective_cost,
    .track = track_none,
    .cost_text =
        "ring: n - 1 hops, (n - 1) / n of the bytes of src over a link; below 1 MB a mesh when it is faster: 1 hop",
    .facts = {.collective = &kCollective, .meets = true},
};

}  // namespace kiln::isa::instruction::reduce_scatter
