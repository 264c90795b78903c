#include "kiln/isa/instructions/shared/link_time.h"

#include <algorithm>
#include <optional>

namespace kiln::isa {
namespace {

using Lists = std::vector<std::vector<std::int64_t>>;
using Traffic = Collective::Traffic;

constexpr double kMeshBytes = 1e6;  // a ring carries tensors of that size and larger ones

bool is_ring(Route route) { return route != Route::mesh && route != Route::neighbour; }

double bytes_of(const CostQuery& q, int param) {
  double bytes = 0;
  for (const Access& a : q.accesses(param)) bytes += static_cast<double>(a.count()) * size_bytes(a.dtype);
  return bytes;
}

std::int64_t longest(const Lists& lists) {
  std::int64_t most = 1;
  for (const auto& list : lists) most = std::max(most, std::ssize(list));
  return most;
}

class Links {
 public:
  explicit Links(const CostQuery& q)
      : spec_(q.arch().links),
        per_device_(spec_.ranks_per_device(q.program().lnc)),
        collective_(*q.facts().collective),
        bytes_(bytes_of(q, collective_.sent)),
        is_small_(std::max(bytes_, bytes_of(q, collective_.received)) < kMeshBytes) {}

  // Rings over the network alone are for trn1 only.
  LinkTime of(const Lists& lists, bool network_rings) const {
    const Traffic t = collective_.traffic(static_cast<int>(collective_.by_pairs ? 2 : longest(lists)), bytes_);
    if (!is_ring(t.route)) return sent_by(lists, t, t.route == Route::mesh);
    const std::optional<Levels> levels = levels_of(lists);
    if (!levels) return at_best(lists, t);
    LinkTime staged = in_stages(*levels, t.route);
    if (!network_rings && !are_all_joined(lists)) return staged;
    LinkTime flat = at_best(lists, t);
    return flat.busy_ns + flat.steps_ns < staged.busy_ns + staged.steps_ns ? flat : staged;
  }

 private:
  // The ranks of each list by server, and those at the same place of all servers.
  struct Levels {
    Lists inside, between;
  };

  bool are_all_joined(const Lists& lists) const {
    return std::ranges::all_of(lists, [&](const auto& list) {
      return std::ranges::all_of(list, [&](auto rank) { return are_joined(spec_, per_device_, list[0], rank); });
    });
  }

  // Nothing: no list is of several servers, or one has other places of them, or one place alone; or a switch joins
  // them.
  std::optional<Levels> levels_of(const Lists& lists) const {
    const std::int64_t of_node = spec_.devices_per_node * per_device_;
    if (spec_.has_switch || of_node == 0) return {};
    Levels out;
    for (const auto& list : lists) {
      std::map<std::int64_t, std::vector<std::int64_t>> of_server, of_place;
      for (const std::int64_t rank : list) {
        of_server[rank / of_node].push_back(rank);
        of_place[rank % of_node].push_back(rank);
      }
      if (of_server.size() < 2 || of_place.size() < 2 || of_server.size() * of_place.size() != list.size()) return {};
      for (auto& [server, ranks] : of_server) out.inside.push_back(std::move(ranks));
      for (auto& [place, ranks] : of_place) out.between.push_back(std::move(ranks));
    }
    return out;
  }

  // In and between servers, one after the other: what goes between them is the smaller part.
  LinkTime in_stages(const Levels& levels, Route route) const {
    const double y = static_cast<double>(longest(levels.inside)), x = static_cast<double>(longest(levels.between));
    if (route == Route::ring_gather)
      return sum(at_best(levels.between, {route, x - 1, (x - 1) * bytes_}),
                 at_best(levels.inside, {route, y - 1, (y - 1) * x * bytes_}));
    const LinkTime inside = at_best(levels.inside, {route, y - 1, (y - 1) / y * bytes_});
    const double there = route == Route::ring_all_reduce ? 2 : 1;  // and back
    const Traffic t{route, there * (x - 1), there * (x - 1) / x * bytes_ / y};
    const LinkTime all = sum(inside, at_best(levels.between, t));
    return route == Route::ring_all_reduce ? sum(all, inside) : all;
  }

  static LinkTime sum(LinkTime a, const LinkTime& b) {
    a.busy_ns += b.busy_ns;
    a.steps_ns += b.steps_ns;
    for (const auto& [link, ns] : b.links) a.links[link] += ns;
    return a;
  }

  // A mesh instead of a ring: each rank sends all others what is theirs at once, the same bytes in one step for n - 1.
  LinkTime at_best(const Lists& lists, const Traffic& t) const {
    LinkTime ring = sent_by(lists, t, false);
    const std::int64_t ranks = longest(lists);
    if (!is_small_ || ranks < 2) return ring;
    LinkTime mesh = sent_by(lists, {t.route, t.steps / static_cast<double>(ranks - 1), t.bytes}, true);
    return mesh.busy_ns + mesh.steps_ns < ring.busy_ns + ring.steps_ns ? mesh : ring;
  }

  LinkTime sent_by(const Lists& lists, const Traffic& t, bool is_mesh) const {
    const LinkLoad load = load_of(lists, t, is_mesh);
    const double share = spec_.rate[static_cast<int>(t.route)];
    LinkTime time{bytes_, load.busiest_ns() / share, t.steps * load.step_ns(), load.busy_ns()};
    for (auto& [link, ns] : time.links) ns /= share;
    return time;
  }

  // A ring goes along neighbouring devices; neighbours are those of the list, or the pairs themselves.
  LinkLoad load_of(const Lists& lists, const Traffic& t, bool is_mesh) const {
    LinkLoad load(spec_, per_device_);
    for (const auto& list : lists) {
      if (list.size() < 2) continue;
      if (collective_.by_pairs) {
        load.add(list[0], list[1], t.bytes);
      } else if (is_mesh) {
        load.add_all_pairs(list, t.bytes / static_cast<double>(list.size() - 1));
      } else {
        const auto ring = t.route == Route::neighbour ? list : ring_order(spec_, per_device_, list);
        for (std::size_t i = 0; i < ring.size(); ++i) load.add(ring[i], ring[(i + 1) % ring.size()], t.bytes);
      }
    }
    return load;
  }

  const LinkSpec& spec_;
  std::int64_t per_device_;
  const Collective& collective_;
  double bytes_;
  bool is_small_;
};

// Pairs meet all at once.
Lists lists_of(const CostQuery& q, RankList ranks) {
  const Collective& collective = *q.facts().collective;
  Lists out;
  for (const RankList list : replica_groups(q, collective.groups)) {
    const auto is_one = [&](std::int64_t rank) { return std::ranges::find(ranks, rank) != ranks.end(); };
    if (collective.by_pairs || ranks.empty() || std::ranges::any_of(list, is_one))
      out.emplace_back(list.begin(), list.end());
  }
  return out;
}

}  // namespace

LinkTime link_time(const CostQuery& q, RankList of_ranks) {
  return Links(q).of(lists_of(q, of_ranks), q.arch().target == Target::trn1);
}

}  // namespace kiln::isa
