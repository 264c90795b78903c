#include "kiln/timing/together.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "kiln/isa/instructions/shared/link_time.h"
#include "kiln/isa/replica_groups.h"
#include "kiln/timing/link_net.h"
#include "kiln/timing/rules.h"

namespace kiln::timing {
using namespace isa;

namespace {

class Together {
 public:
  Together(std::vector<CoreRun>& runs, const TimedRanks& ranks)
      : runs_(runs), r_(ranks), cores_(ranks.launch.cores_per_rank), ended_(runs.size()), stopped_(runs.size()) {}

  void run() {
    while (advance()) {
      bool some = false;
      for (int kind = 0; kind < r_.kinds.count(); ++kind) some |= meet_beside(kind) || meet_ranks(kind);
      if (!some) deadlock();
    }
  }

 private:
  // Every core as far as it comes; false when all have ended.
  bool advance() {
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (ended_[i] || stopped_[i]) continue;
      ended_[i] = runs_[i].walk->advance();
      stopped_[i] = !ended_[i];
    }
    return std::find(ended_.begin(), ended_.end(), false) != ended_.end();
  }

  std::size_t index(int kind, int core) const { return static_cast<std::size_t>(kind * cores_ + core); }
  InstView stop(std::size_t i) const {
    const Program& program = runs_[i].core->program();
    return {program, program.instructions[runs_[i].walk->meeting]};
  }
  bool all_stopped(int kind, bool in_collective) const {
    for (int core = 0; core < cores_; ++core) {
      const std::size_t i = index(kind, core);
      if (!stopped_[i] || (stop(i).facts().collective != nullptr) != in_collective) return false;
    }
    return true;
  }

  // The two cores of a rank in a sendrecv or core_barrier.
  bool meet_beside(int kind) {
    if (!all_stopped(kind, false)) return false;
    go_on({kind}, met_at({kind}), {});
    return true;
  }

  std::set<int> kinds_met(int kind) const {
    std::set<int> met{kind};
    for (const std::int64_t rank : meeting_ranks(stop(index(kind, 0)), r_.kinds.first(kind)))
      if (rank < r_.launch.ranks) met.insert(r_.kinds.kind_of[static_cast<std::size_t>(rank)]);
    return met;
  }

  bool meet_ranks(int kind) {
    if (!all_stopped(kind, true)) return false;
    const std::set<int> met = kinds_met(kind);
    const Opcode opcode = stop(index(kind, 0)).inst().opcode;
    for (const int other : met) {
      if (!all_stopped(other, true) || stop(index(other, 0)).inst().opcode != opcode || kinds_met(other) != met)
        return false;
    }
    const Time at = met_at(met);
    go_on(met, at, turn_of(met, at));
    return true;
  }

  Time met_at(const std::set<int>& kinds) const {
    Time at = 0;
    for (const int kind : kinds)
      for (int core = 0; core < cores_; ++core) at = std::max(at, runs_[index(kind, core)].walk->arrival);
    return cores_ > 1 ? at + from_ns(r_.arch.timing.pair_ns) : at;
  }

  // Where all ranks do the same, all groups of an instruction meet at once, and its cost has what they share. Else each
  // brings its own bytes, and waits for links that others have taken.
  LinkTurn turn_of(const std::set<int>& kinds, Time at) {
    if (r_.kinds.count() == 1) return {};
    std::vector<std::int64_t> ranks;
    for (const int kind : kinds) {
      const std::vector<int>& own = r_.kinds.ranks_of[static_cast<std::size_t>(kind)];
      ranks.insert(ranks.end(), own.begin(), own.end());
    }
    const std::size_t first = index(*kinds.begin(), 0);
    const InstView inst = stop(first);
    const CostQuery q(inst.program(), inst.inst(), r_.arch);
    const LinkTime all = link_time(q), mine = link_time(q, ranks);
    if (all.busy_ns <= 0) return {};
    const Time latency = runs_[first].core->plan().ops[runs_[first].walk->meeting].latency;
    return {net_.take(at + latency, mine.links), mine.busy_ns / all.busy_ns};
  }

  void go_on(const std::set<int>& kinds, Time at, const LinkTurn& turn) {
    for (const int kind : kinds) {
      for (int core = 0; core < cores_; ++core) {
        runs_[index(kind, core)].core->meet(at, turn);
        stopped_[index(kind, core)] = false;
      }
    }
  }

  // What the cores do that have not ended: the first of them is where the error points.
  [[noreturn]] void deadlock() const {
    std::string found;
    SourceLoc place;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      const int kind = static_cast<int>(i) / cores_;
      std::string who = r_.launch.ranks > 1 ? ranks_text(r_.kinds.ranks_of[static_cast<std::size_t>(kind)]) : "";
      if (cores_ > 1) who += fmt::format("{}core {}", who.empty() ? "" : " ", i % static_cast<std::size_t>(cores_));
      found += found.empty() ? "" : "; ";
      if (ended_[i]) {
        found += who + " has ended";
        continue;
      }
      const SourceLoc& loc = stop(i).loc();
      if (!place.known()) place = loc;
      found += fmt::format("{} waits in {}", who, stop(i).row().name);
      if (loc.known()) found += fmt::format(" on line {}", loc.line);
    }
    raise(timing_rules::kTable, timing_rules::kDeadlock, {.found = found, .loc = place, .category = Category::invalid});
  }

  std::vector<CoreRun>& runs_;
  const TimedRanks& r_;
  int cores_;
  std::vector<bool> ended_, stopped_;
  LinkNet net_;
};

}  // namespace

void run_together(std::vector<CoreRun>& runs, const TimedRanks& ranks) { Together(runs, ranks).run(); }

}  // namespace kiln::timing
