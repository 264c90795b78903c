#include "kiln/sim/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "kiln/isa/replica_groups.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/text/print.h"
#include "kiln/sim/checks.h"
#include "kiln/sim/exchange.h"
#include "kiln/sim/far_origins.h"
#include "kiln/sim/pair.h"
#include "kiln/sim/placed_error.h"
#include "kiln/sim/rank_clocks.h"
#include "kiln/sim/rank_states.h"
#include "kiln/sim/ranks_report.h"
#include "kiln/sim/rules.h"
#include "kiln/sim/scratch.h"

namespace kiln::sim {
using namespace isa;
namespace {

class Meetings {
 public:
  Meetings(std::list<Rank>& ranks, const isa::Launch& launch, const Arch& arch, const RunOptions& options)
      : launch_(launch),
        arch_(arch),
        kernels_(options.plain ? plain_kernels() : fast_kernels()),
        processes_(options.processes),
        clocks_(static_cast<int>(ranks.size())) {
    for (Rank& r : ranks) ranks_.push_back(&r);
  }

  void run() {
    bool moved = true;
    while (moved) {
      moved = false;
      for (std::size_t r = 0; r < ranks_.size(); ++r) moved |= go_on(static_cast<int>(r));
      if (processes_) moved = learn_of_others(moved);
      for (std::size_t r = 0; r < ranks_.size(); ++r) moved |= try_to_meet(static_cast<int>(r));
    }
    if (!std::ranges::all_of(ranks_, &Rank::ended)) report_waiting(ranks_);
  }

 private:
  // Lets a rank issue as far as it comes; false when it waits, has ended, or is another process's.
  bool go_on(int r) {
    Rank& rank = *ranks_[r];
    if (!rank.is_here() || rank.ended || rank.waits()) return false;
    try {
      rank.ended = run_to_collective(rank.cores, arch_, rank.common.races);
    } catch (const PlacedError&) {
      throw;
    } catch (const Error& e) {
      throw PlacedError(e, rank.cores[0]->program(), nullptr, {}, r);
    }
    if (rank.ended) return true;
    if (meeting_ranks({rank.cores[0]->program(), *rank.cores[0]->waiting_at()}, r).empty()) {  // the pairs name others
      for (const auto& core : rank.cores) core->resume();
    } else {
      stop(rank);
      rank.common.entered = clocks_.enter(r);
    }
    return true;
  }

  void stop(Rank& rank) const {
    rank.sends_written = true;
    for (const auto& core : rank.cores) {
      rank.stops.push_back({&core->program(), core->waiting_at(), core->pass()});
      if (kChecks) rank.sends_written = rank.sends_written && sends_written_bytes(*core);
    }
    // Both cores name the same tensors in HBM, which move once then.
    rank.shares_tensors =
        rank.cores.size() == 2 && std::ranges::equal(rank.cores[0]->operands(), rank.cores[1]->operands(),
                                                     [](const Operand& a, const Operand& b) {
                                                       return a.storage == b.storage && a.tile.data == b.tile.data;
                                                     });
  }

  // Where the ranks of other processes are by now; whether any rank has moved.
  bool learn_of_others(bool moved) {
    std::vector<bool> waited;
    for (const Rank* rank : ranks_) waited.push_back(rank->waits());
    moved = share_states(*processes_, launch_, ranks_, moved);
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      if (!ranks_[r]->is_here() && !waited[r] && ranks_[r]->waits()) clocks_.enter(static_cast<int>(r));
    }
    return moved;
  }

  bool try_to_meet(int r) {
    if (!ranks_[r]->waits()) return false;
    const InstView here = ranks_[r]->stops[0].view();
    std::vector<int> group;
    for (const std::int64_t rank : meeting_ranks(here, r)) {
      const Rank& other = *ranks_[rank];
      if (!other.waits()) return false;
      for (const Stop& stop : other.stops) {
        if (!difference(here, stop.view()).empty()) return false;
      }
      group.push_back(static_cast<int>(rank));
    }
    meet(group);
    return true;
  }

  void meet(const std::vector<int>& group) {
    ranks_[group[0]]->common.queue.wait();
    if (kChecks && group.size() > 1) check_destinations(group);
    const bool all_written = std::ranges::all_of(group, [&](int r) { return ranks_[r]->sends_written; });
    const bool once = std::ranges::all_of(group, [&](int r) { return ranks_[r]->shares_tensors; });
    ExchangeOptions options{arch_, kernels_, ranks_[group[0]]->common.queue.threads(),
                            kChecks && (ranks_[group[0]]->stops[0].view().facts().writes_some || !all_written)};
    std::optional<FarOrigins> far;
    if (std::ranges::any_of(group, [&](int r) { return ranks_[r]->process != ranks_[group[0]]->process; })) {
      options.processes = processes_;
      options.scratch = &scratch_;
      if (options.with_shadows) options.far = &far.emplace(*processes_, launch_, ranks_[group[0]]->common.origins);
    }
    for (std::size_t c = 0; c < (once ? 1 : ranks_[group[0]]->stops.size()); ++c)
      exchange(parties_of(group, c), options);
    for (const int r : group) leave(*ranks_[r]);
    clocks_.meet(group);
  }

  std::vector<Party> parties_of(const std::vector<int>& group, std::size_t core) const {
    std::vector<Party> parties;
    for (const int r : group) {
      const Rank& rank = *ranks_[r];
      parties.push_back({r, rank.stops[core].view(), rank.is_here() ? rank.cores[core].get() : nullptr, rank.process});
    }
    return parties;
  }

  static void leave(Rank& rank) {
    rank.stops.clear();
    for (const auto& core : rank.cores) {
      core->check_agreement();
      for (const Operand& o : core->operands()) {
        if (!info(core->waiting_at()->opcode).params[o.param].is_output()) continue;
        o.storage->received = true;
        o.storage->touched = rank.common.entered;
      }
      core->resume();
    }
    rank.common.races.meet();
  }

  // Whoever enters may write to the destinations of the others at once: they must be done with what they have there.
  void check_destinations(const std::vector<int>& group) const {
    for (const int receiver : group) {
      if (!ranks_[receiver]->is_here()) continue;
      const Core& core = *ranks_[receiver]->cores[0];
      for (const Operand& o : ranks_[receiver]->cores[0]->operands()) {
        if (!o.storage->received || !info(core.waiting_at()->opcode).params[o.param].is_output()) continue;
        for (const int sender : group) {
          if (sender == receiver || clocks_.known(sender, receiver) > o.storage->touched) continue;
          const std::string& tensor = core.program().tensors[o.access->tensor].name;
          raise(run_rules::kTable, run_rules::kOwnDestination,
                {.found = fmt::format("rank {} may write to `{}` of rank {} while that one still uses what an earlier "
                                      "collective left there",
                                      sender, tensor, receiver),
                 .loc = core.program().locs[core.waiting_at()->loc],
                 .context = print(core.program(), *core.waiting_at()),
                 .category = Category::undefined});
        }
      }
    }
  }

  std::vector<Rank*> ranks_;
  const isa::Launch& launch_;
  const Arch& arch_;
  const Kernels& kernels_;
  Processes* const processes_;
  RankClocks clocks_;
  Scratch scratch_;
};

}  // namespace

void run_ranks(std::list<Rank>& ranks, const isa::Launch& launch, const Arch& arch, const RunOptions& options) {
  Meetings(ranks, launch, arch, options).run();
}

}  // namespace kiln::sim
