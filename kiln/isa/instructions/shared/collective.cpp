#include "kiln/isa/instructions/shared/collective.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "kiln/isa/instructions/shared/dma.h"
#include "kiln/isa/semantics/run.h"

namespace kiln::isa {
namespace {

constexpr std::int64_t kMaxPriority = 3;
constexpr int kChannelsOfSome = 2;
constexpr std::int64_t kMaxRankNumber = 1 << 20;

bool in_hbm(const Check& c, const Access& a) { return is_hbm(c.program().tensors[a.tensor].memory); }

void check_tensor(Check& c, const Access& a, bool hbm, int param, int without) {
  const Tensor& t = c.program().tensors[a.tensor];
  c.require(kOneMemory, is_hbm(t.memory) == hbm, param,
            [&] { return fmt::format("`{}` is in {}, others are not", t.name, name(t.memory)); });
  c.require(earlier(kCallersTensors, without), t.role == Role::internal, param, [&] {
    return fmt::format("`{}` is {} of the kernel", t.name, t.role == Role::output ? "a result" : "an argument");
  });
}

bool is_rank(std::int64_t rank) { return rank >= 0 && rank < kMaxRankNumber; }

// All elements follow each other.
bool is_flat(const Access& a) {
  std::int64_t stride = 1;
  for (int d = a.rank - 1; d >= 0; --d) {
    if (a.dims[d].count > 1 && a.dims[d].stride != stride) return false;
    stride *= a.dims[d].count;
  }
  return true;
}

std::uint32_t* row_of(const Gathering& g, int member, const SizedParams& params, int row) {
  const Parcel& p = g.parcel({member, params.metadata, 0, 0});
  return reinterpret_cast<std::uint32_t*>(p.data) + row * g.size();
}

// The value of a row, which has to be written.
std::int64_t value_of(const Gathering& g, int member, const SizedParams& params, int row, int column) {
  const Parcel& p = g.parcel({member, params.metadata, 0, 0});
  if (p.shadow && p.shadow[row * g.size() + column])
    g.fail(member, kMetadata, fmt::format("element {} of row {} was never written", column, row));
  return row_of(g, member, params, row)[column];
}

}  // namespace

bool are_replica_groups(const InstView& inst, int groups) {
  std::set<std::int64_t> seen;
  for (const RankList list : replica_groups(inst, groups)) {
    if (list.empty()) return false;
    for (const std::int64_t rank : list) {
      if (!is_rank(rank) || !seen.insert(rank).second) return false;
    }
  }
  return !seen.empty();
}

bool are_pairs(const InstView& inst, int groups) {
  std::set<std::int64_t> sources, targets;
  for (const RankList pair : replica_groups(inst, groups)) {
    if (pair.size() != 2 || !is_rank(pair[0]) || !is_rank(pair[1])) return false;
    if (!sources.insert(pair[0]).second || !targets.insert(pair[1]).second) return false;
  }
  return !sources.empty();
}

bool same_shapes(const Access& a, const Access& b) {
  return a.rank == b.rank &&
         std::equal(a.dims, a.dims + a.rank, b.dims, [](const Dim& x, const Dim& y) { return x.count == y.count; });
}

bool is_multiple(const Access& large, const Access& small, std::int64_t dim, std::int64_t n) {
  if (large.rank != small.rank || dim < 0 || dim >= large.rank) return false;
  for (int d = 0; d < large.rank; ++d) {
    if (large.dims[d].count != small.dims[d].count * (d == dim ? n : 1)) return false;
  }
  return true;
}

void check_collective(Check& c, const CollectiveParams& p) {
  const auto to = c.accesses(p.destinations);
  const bool hbm = !to.empty() && in_hbm(c, to[0]);
  for (const int sources : p.sources) {
    const auto from = c.accesses(sources);
    c.require(kAsMany, !to.empty() && from.size() == to.size(), sources,
              [&] { return fmt::format("{} sources and {} destinations", from.size(), to.size()); });
    for (const Access& a : from) check_tensor(c, a, hbm, sources, p.without);
    for (std::size_t i = 0; i < std::min(from.size(), to.size()); ++i)
      c.require(earlier(kSameDtype, p.without), from[i].dtype == to[i].dtype, sources,
                [&] { return fmt::format("src is {}, dst is {}", name(from[i].dtype), name(to[i].dtype)); });
  }
  for (const Access& a : to) check_tensor(c, a, hbm, p.destinations, p.without);
  const auto lists = [&] { return groups_text(c, p.groups); };
  if (c.facts().collective->by_pairs) {
    c.require(kSourceTargetPairs, are_pairs(c, p.groups), p.groups, lists);
  } else {
    c.require(earlier(kReplicaGroups, p.without), are_replica_groups(c, p.groups), p.groups, lists);
  }
  c.require(earlier(kCollectivePriority, p.without),
            !c.has(p.priority) ||
                (c.arch().features.dma_priority && c.integer(p.priority) >= 0 && c.integer(p.priority) <= kMaxPriority),
            p.priority, [&] { return fmt::format("priority is {} on {}", c.integer(p.priority), c.arch().name); });
}

void check_coalescing(Check& c, int tensors) {
  const auto list = c.accesses(tensors);
  c.require(kCoalescing, list.size() <= 1 || in_hbm(c, list[0]), tensors,
            [&] { return fmt::format("{} tensors in SBUF", list.size()); });
}

void check_one_tensor(Check& c, int tensors) {
  c.require(kOneTensor, c.accesses(tensors).size() <= 1, tensors,
            [&] { return fmt::format("{} tensors", c.accesses(tensors).size()); });
}

void check_operator(Check& c, int op) {
  const AluOp alu = c.alu(op);
  c.require(kCollectiveOperator, alu == AluOp::add || alu == AluOp::minimum || alu == AluOp::maximum, op,
            [&] { return fmt::format("op is {}", info(alu).name); });
}

void check_reduced(Check& c, int sources, const Rule& rule) {
  for (const Access& a : c.accesses(sources))
    c.advise(rule, !is_wide_integer(a.dtype), sources, [&] { return fmt::format("src is {}", name(a.dtype)); });
}

std::map<std::int64_t, std::int64_t> devices_of(const Check& c, RankList list) {
  std::map<std::int64_t, std::int64_t> devices;
  for (const std::int64_t rank : list) ++devices[rank / c.arch().links.ranks_per_device(c.program().lnc)];
  return devices;
}

bool has_whole_devices(const Check& c, RankList list) {
  return std::ranges::all_of(devices_of(c, list), [&](const auto& device) {
    return device.second == c.arch().links.ranks_per_device(c.program().lnc);
  });
}

namespace {

// The places of a list's ranks in each of their servers.
std::map<std::int64_t, std::set<std::int64_t>> servers_of(const Check& c, RankList list) {
  const std::int64_t of_node = c.arch().links.ranks_per_node(c.program().lnc);
  std::map<std::int64_t, std::set<std::int64_t>> servers;
  for (const std::int64_t rank : list) servers[rank / of_node].insert(rank % of_node);
  return servers;
}

}  // namespace

// The first list that breaks a rule speaks for the others.
void check_servers(Check& c, int groups, const ServerRules& rules) {
  const LinkSpec& links = c.arch().links;
  if (links.has_switch || !are_replica_groups(c, groups)) return;
  const auto* known = std::ranges::find(links.group_sizes, 0);
  const auto is_known = [&](std::size_t ranks) {
    return known == links.group_sizes || std::find(links.group_sizes, known, static_cast<int>(ranks)) != known;
  };
  bool sized = true, placed = true;
  for (const RankList list : replica_groups(c, groups)) {
    const auto servers = servers_of(c, list);
    const auto& [first, wanted] = *servers.begin();
    for (const auto& [server, places] : servers) {
      const auto text = [&] { return fmt::format("[{}]", fmt::join(list, ", ")); };
      if (sized) {
        sized = is_known(places.size());
        c.advise(rules.sizes, sized, groups, [&] {
          return fmt::format("{} has {} ranks of server {} on {}", text(), places.size(), server, c.arch().name);
        });
      }
      if (placed) {
        placed = places == wanted;
        c.require(rules.places, placed, groups, [&] {
          return fmt::format("{} has the places {} of server {} and {} of server {}", text(), fmt::join(wanted, ", "),
                             first, fmt::join(places, ", "), server);
        });
      }
    }
  }
}

std::int64_t group_size(const InstView& inst, int groups) {
  std::int64_t size = 0;
  for (const RankList list : replica_groups(inst, groups)) {
    if (size != 0 && std::ssize(list) != size) return 0;
    size = std::ssize(list);
  }
  return size;
}

void check_channels(Check& c, int srcs, int groups, int channel_ids) {
  const auto ids = c.integers(channel_ids);
  const std::size_t tensors = c.accesses(srcs).size();
  std::size_t most = kMostChannels;
  for (const RankList list : replica_groups(c, groups)) {
    if (std::ssize(devices_of(c, list)) < c.arch().links.devices_per_node) most = kChannelsOfSome;
  }
  bool ok = ids.empty() ? tensors == 1 : ids.size() == tensors && ids.size() <= most;
  for (std::size_t i = 0; i < ids.size(); ++i) ok = ok && ids[i] == static_cast<std::int64_t>(i);
  c.require(
      kChannels, ok, channel_ids,
      [&] { return fmt::format("channel_ids is [{}] for {} tensors", fmt::join(ids, ", "), tensors); },
      fmt::format("at most {} channels in these groups on {}", most, c.arch().name));
}

void check_by_channel(Check& c, int sources, int dsts, int channel_ids, const Rule& shape) {
  const auto from = c.accesses(sources), to = c.accesses(dsts);
  c.require(kOnePerChannel, !c.has(channel_ids) || c.integers(channel_ids).size() >= from.size(), sources,
            [&] { return fmt::format("{} tensors for {} channels", from.size(), c.integers(channel_ids).size()); });
  for (std::size_t i = 0; i < std::min(from.size(), to.size()); ++i)
    c.require(shape, same_shapes(from[i], to[i]), dsts,
              [&] { return fmt::format("src is {}, dst is {}", shape_text(from[i]), shape_text(to[i])); });
}

Collective::Traffic to_the_neighbour(int ranks, double bytes) {
  return ranks > 1 ? Collective::Traffic{Route::neighbour, 1, bytes} : Collective::Traffic{Route::neighbour, 0, 0};
}

void check_sizes(Check& c, const SizedParams& p) {
  check_one_tensor(c, p.dsts);
  for (const int list : {p.srcs, p.dsts}) {
    for (const Access& a : c.accesses(list))
      c.require(kFlatTensor, is_flat(a), list, [&] { return fmt::format("a view {} with gaps", shape_text(a)); });
  }
  const Access& meta = c.access(p.metadata);
  const int lead = c.in_hbm(p.metadata) ? 0 : 1;
  const std::int64_t rows = meta.rank > lead ? meta.dims[lead].count : 0;
  const std::int64_t n = group_size(c, p.groups);
  const bool shape = meta.rank == lead + 2 && (lead == 0 || meta.dims[0].count == 1) && meta.dims[lead + 1].count == n;
  c.require(kMetadata, shape && (rows == 4 || (rows == 3 && !c.boolean(p.has_rdispls))), p.metadata,
            [&] { return fmt::format("{}, groups of {} ranks", c.describe(p.metadata), n); });
}

Part sent_part(const Gathering& g, int sender, const SizedParams& p, int column) {
  const Part part{value_of(g, sender, p, 0, column), value_of(g, sender, p, 1, column)};
  const std::int64_t size = g.parcel({sender, p.srcs, 0, 0}).count;
  if (part.count + part.from_element > size)
    g.fail(sender, kPartsFit,
           fmt::format("{} elements from {} on of a src of {}", part.count, part.from_element, size));
  return part;
}

void move_part(const Gathering& g, int sender, int receiver, const Part& part, const SizedParams& p) {
  const Parcel& dst = g.parcel({receiver, p.dsts, 0, 0});
  const std::int64_t slot = dst.count / g.size();
  const bool placed = g[receiver].view.boolean(p.has_rdispls);
  const std::int64_t to = placed ? value_of(g, receiver, p, 3, sender) : slot * sender;
  if (to + part.count > dst.count || (!placed && part.count > slot))
    g.fail(receiver, kPartsFit,
           fmt::format("{} elements of rank {} go to {} of a dst of {}", part.count, g[sender].rank, to, dst.count));
  if (part.count > 0) g.move({sender, p.srcs, 0, part.from_element}, {receiver, p.dsts, 0, to}, part.count);
  if (g[receiver].view.boolean(p.recv_counts_known)) return;
  row_of(g, receiver, p, 2)[sender] = static_cast<std::uint32_t>(part.count);
  if (const Parcel& meta = g.parcel({receiver, p.metadata, 0, 0}); meta.shadow) meta.shadow[2 * g.size() + sender] = 0;
}

Cost collective_cost(const CostQuery& q) {
  const LinkTime t = link_time(q);
  return {.dma_bytes = t.sent_bytes, .dma_descriptors = 1, .link_ns = t.busy_ns + t.steps_ns};
}

void run_collective(Run&) { internal_error(__FILE__, __LINE__, "a collective runs when its ranks meet"); }

}  // namespace kiln::isa
