#include "kiln/isa/instructions/shared/collective.h"

#include <fmt/format.h>

#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::all_gather {
namespace {
using namespace args::all_gather;

constexpr Rule kShape{8, "dst has the shape of src, times the ranks of the group along collective_dim",
                      "make dst ranks x src along collective_dim"};
constexpr Rule kDimension{9, "collective_dim is 0 in HBM; in SBUF, where tensors have two dimensions, 0 or 1",
                          "pass collective_dim=0, and reshape tensors in SBUF to two dimensions"};

constexpr ServerRules kServers = server_rules(10);

constexpr Rule kRules[] = {kAsMany,        kOneMemory,          kCoalescing,     kSameDtype,
                           kReplicaGroups, kCollectivePriority, kCallersTensors, kShape,
                           kDimension,     kServers.sizes,      kServers.places};
constexpr int kSources[] = {srcs};

void check(Check& c) {
  check_collective(c, {kSources, dsts, replica_group, priority});
  check_coalescing(c, dsts);
  const auto from = c.accesses(srcs), to = c.accesses(dsts);
  const std::int64_t dim = c.integer(collective_dim), n = group_size(c, replica_group);
  for (std::size_t i = 0; i < std::min(from.size(), to.size()); ++i) {
    const bool sbuf = c.program().tensors[from[i].tensor].memory == Memory::sbuf;
    const bool dim_ok = sbuf ? from[i].rank == 2 && (dim == 0 || dim == 1) : dim == 0;
    c.require(kDimension, dim_ok, collective_dim, [&] {
      return fmt::format("collective_dim is {} of {} {}", dim, sbuf ? "SBUF" : "HBM", shape_text(from[i]));
    });
    c.require(kShape, !dim_ok || is_multiple(to[i], from[i], dim, n), dsts, [&] {
      return fmt::format("src is {}, dst is {}, groups have {} ranks", shape_text(from[i]), shape_text(to[i]), n);
    });
  }
  check_servers(c, replica_group, kServers);
}

void exchange(Gathering& g) {
  const int tiles = static_cast<int>(g[0].parcels[srcs].size());
  const bool inner = g[0].view.integer(collective_dim) == 1;
  for (int t = 0; t < tiles; ++t) {
    const std::int64_t count = g.parcel({0, srcs, t, 0}).count;
    const std::int64_t rows = inner ? g[0].view.accesses(srcs)[t].rows() : 1, run = count / rows;
    for (int from = 0; from < g.size(); ++from) {
      for (int to = 0; to < g.size(); ++to) {
        for (std::int64_t row = 0; row < rows; ++row)
          g.move({from, srcs, t, row * run}, {to, dsts, t, (row * g.size() + from) * run}, run);
      }
    }
  }
}

// A ring of n - 1 steps, each with the src of one rank.
Collective::Traffic traffic(int n, double bytes) { return {Route::ring_gather, n - 1.0, (n - 1.0) * bytes}; }

constexpr Collective kCollective{
    .sent = srcs, .received = dsts, .groups = replica_group, .exchange = exchange, .traffic = traffic};

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "dst = the src of every rank of the group, in the order of its list, one after the other along collective_dim; "
        "bit for bit.",
    .engine = nullptr,
    .check = check,
    .run = run_collective,
    .cost = collective_cost,
    .track = track_none,
    .cost_text = "ring: n - 1 hops, (n - 1) x the bytes of src over a link; below 1 MB a mesh when it is faster: 1 hop",
    .facts = {.collective = &kCollective, .meets = true},
};

}  // namespace kiln::isa::instruction::all_gather
