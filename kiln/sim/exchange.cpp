#include "kiln/sim/exchange.h"

#include <algorithm>
#include <cstring>
#include <list>

#include "kiln/isa/semantics/gathering.h"
#include "kiln/sim/checks.h"
#include "kiln/sim/far_carrier.h"
#include "kiln/sim/far_origins.h"
#include "kiln/sim/pieces.h"
#include "kiln/sim/workers.h"

namespace kiln::sim {
using namespace isa;
namespace {

// One core with its tiles; dense ones are used where they lie.
class Table {
 public:
  explicit Table(const Party& party) : rank_(party.rank), core_(*party.core), view_(party.view) {}

  Gathering::Member lay_out(bool with_shadows) {
    Gathering::Member member{rank_, view_, {}};
    const auto& params = view_.row().params;
    member.parcels.resize(params.size());
    shadows_.resize(params.size());
    for (std::size_t i = 0; i < params.size(); ++i) {
      if (!params[i].is_tile()) continue;
      const int param = static_cast<int>(i);
      if (with_shadows) shadows_[i] = core_.tracker(view_.inst()).read(param);
      Shadow* shadow = with_shadows ? shadows_[i].data() : nullptr;
      for (const Operand& o : core_.operands()) {
        if (o.param != param) continue;
        member.parcels[i].push_back({bytes_of(o, params[i]), o.tile.count(), o.tile.dtype, shadow});
        if (shadow) shadow += o.tile.count();
      }
    }
    return member;
  }

  // All shadows, tile after tile.
  template <class Fn>
  void for_shadows(Fn&& fn) {
    for (std::vector<Shadow>& s : shadows_) fn(std::span(s));
  }

  void take_home(bool with_shadows) {
    for (const Staged& s : staged_) {
      if (!s.is_output) continue;
      for_pieces(s.tile,
                 [&](std::byte* at, std::int64_t from, std::int64_t n) { std::memcpy(at, s.bytes.data() + from, n); });
    }
    Tracker track = core_.tracker(view_.inst());
    const auto& params = view_.row().params;
    for (std::size_t i = 0; i < params.size(); ++i) {
      if (!params[i].is_output()) continue;
      if (with_shadows) {
        track.write(static_cast<int>(i), shadows_[i]);
      } else {
        track.write_clean(static_cast<int>(i));
      }
    }
  }

 private:
  struct Staged {
    Tile tile;
    bool is_output;
    std::vector<std::byte> bytes;
  };

  bool is_written(const Storage* storage) {
    return std::ranges::any_of(core_.operands(), [&](const Operand& o) {
      return o.storage == storage && view_.row().params[o.param].is_output();
    });
  }

  // A source that is a destination too is read before anything is written.
  std::byte* bytes_of(const Operand& o, const ParamInfo& param) {
    if (o.tile.is_dense() && (param.is_output() || !is_written(o.storage))) return o.tile.data;
    Staged& s = staged_.emplace_back(Staged{o.tile, param.is_output(), {}});
    s.bytes.resize(o.tile.count() * o.tile.element_bytes());
    for_pieces(o.tile,
               [&](std::byte* at, std::int64_t to, std::int64_t n) { std::memcpy(s.bytes.data() + to, at, n); });
    return s.bytes.data();
  }

  const int rank_;
  Core& core_;
  const InstView view_;
  std::vector<std::vector<Shadow>> shadows_;  // by parameter, tile after tile
  std::list<Staged> staged_;
};

// All members are of this process.
class Here final : public Carrier {
 public:
  Here(const Kernels& kernels, int threads) : kernels_(kernels), threads_(threads) {}

  void move(const Gathering& g, const Gathering::Spot& from, const Gathering::Spot& to, std::int64_t count) override {
    copy_elements(g.parcel(from), from.element, g.parcel(to), to.element, count);
  }
  void reduce(const Gathering& g, AluOp op, const std::vector<Gathering::Spot>& from,
              const std::vector<Gathering::Spot>& to, std::int64_t count) override {
    const DType dtype = g.parcel(from[0]).dtype;
    in_parts(count, [&](std::int64_t first, std::int64_t n) {
      std::vector<const std::byte*> sources;
      std::vector<std::byte*> targets;
      for (const auto& s : from) sources.push_back(g.parcel(s).data + (s.element + first) * size_bytes(dtype));
      for (const auto& t : to) targets.push_back(g.parcel(t).data + (t.element + first) * size_bytes(dtype));
      reduce_elements(op, dtype, sources, targets, n, kernels_);
    });
    if (!g.parcel(to[0]).shadow) return;
    std::vector<const Shadow*> sources;
    std::vector<Shadow*> targets;
    for (const auto& s : from) sources.push_back(g.parcel(s).shadow + s.element);
    for (const auto& t : to) targets.push_back(g.parcel(t).shadow + t.element);
    reduce_shadows(sources, targets, count);
  }

 private:
  // Large work goes to all threads; the values do not depend on the parts.
  template <class Work>
  void in_parts(std::int64_t count, const Work& work) const {
    constexpr std::int64_t kPart = 128 * 1024;  // elements that are worth a thread
    const std::int64_t parts = std::clamp<std::int64_t>(count / kPart, 1, threads_);
    const auto first = [&](std::int64_t part) { return count * part / parts; };
    std::vector<Worker> others;
    for (std::int64_t p = 1; p < parts; ++p) others.emplace_back([&, p] { work(first(p), first(p + 1) - first(p)); });
    work(0, first(1));
  }

  const Kernels& kernels_;
  const int threads_;
};

// What a core of another process brings: only how much it is.
Gathering::Member from_elsewhere(const Party& party) {
  Gathering::Member member{party.rank, party.view, {}};
  const auto& params = party.view.row().params;
  member.parcels.resize(params.size());
  for (std::size_t i = 0; i < params.size(); ++i) {
    const int param = static_cast<int>(i);
    if (!params[i].is_tile()) continue;
    const auto add = [&](const Access& a) { member.parcels[i].push_back({nullptr, a.count(), a.dtype, nullptr}); };
    if (party.view.is_tile(param)) {
      add(party.view.access(param));
    } else {
      for (const Access& a : party.view.accesses(param)) add(a);
    }
  }
  return member;
}

void exchange_far(const std::vector<Party>& parties, std::vector<Gathering::Member> members,
                  const ExchangeOptions& options) {
  const Collective& collective = *parties[0].view.facts().collective;
  std::vector<int> homes;
  for (const Party& p : parties) homes.push_back(p.process);
  FarCarrier carrier(*options.processes, std::move(homes), options.with_shadows, options.kernels, *options.scratch);
  const auto& params = parties[0].view.row().params;
  for (int i = 0; collective.own_sizes && i < static_cast<int>(params.size()); ++i) {  // every rank looks at the sizes
    if (params[i].is_tile() && i != collective.sent && i != collective.received) carrier.mirror(members, i);
  }
  Gathering gathering(std::move(members), options.arch, carrier);
  collective.exchange(gathering);
  carrier.finish();
}

}  // namespace

bool sends_written_bytes(Core& core) {
  const InstView view(core.program(), *core.waiting_at());
  Tracker track = core.tracker(view.inst());
  const auto& params = view.row().params;
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (params[i].is_input() && params[i].is_tile() && !track.is_clean(static_cast<int>(i))) return false;
  }
  return true;
}

void exchange(const std::vector<Party>& parties, const ExchangeOptions& options) {
  std::list<Table> tables;
  std::vector<Gathering::Member> members;
  for (const Party& p : parties) {
    if (!p.core) {
      members.push_back(from_elsewhere(p));
      continue;
    }
    members.push_back(tables.emplace_back(p).lay_out(options.with_shadows));
  }
  const Collective& collective = *parties[0].view.facts().collective;
  if (tables.size() == parties.size()) {
    Here carrier(options.kernels, options.threads);
    Gathering gathering(std::move(members), options.arch, carrier);
    collective.exchange(gathering);
  } else if (!tables.empty()) {
    if (options.far)
      for (Table& t : tables) t.for_shadows([&](std::span<Shadow> s) { options.far->to_common(s); });
    exchange_far(parties, std::move(members), options);
    if (options.far)
      for (Table& t : tables) t.for_shadows([&](std::span<Shadow> s) { options.far->to_own(s); });
  }
  for (Table& t : tables) t.take_home(options.with_shadows);
}

}  // namespace kiln::sim
