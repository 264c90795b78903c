#include "kiln/sim/ranks.h"

#include <fmt/format.h>

#include <algorithm>

#include "kiln/isa/replica_groups.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/text/print.h"
#include "kiln/sim/checks.h"
#include "kiln/sim/exchange.h"
#include "kiln/sim/pair.h"
#include "kiln/sim/placed_error.h"
#include "kiln/sim/rank_clocks.h"
#include "kiln/sim/ranks_report.h"
#include "kiln/sim/rules.h"

namespace kiln::sim {
using namespace isa;
namespace {

InstView waiting(const Core& core) { return {core.program(), *core.waiting_at()}; }

class Meetings {
 public:
  Meetings(std::list<Rank>& ranks, const Arch& arch, const Kernels& kernels)
      : arch_(arch), kernels_(kernels), clocks_(static_cast<int>(ranks.size())) {
    for (Rank& r : ranks) ranks_.push_back(&r);
  }

  void run() {
    bool moved = true;
    while (moved) {
      moved = false;
      for (std::size_t r = 0; r < ranks_.size(); ++r) moved |= go_on(static_cast<int>(r));
      for (std::size_t r = 0; r < ranks_.size(); ++r) moved |= try_to_meet(static_cast<int>(r));
    }
    if (!std::ranges::all_of(ranks_, &Rank::ended)) report_waiting(ranks_);
  }

 private:
  // Lets a rank issue as far as it comes; false when it waits or has ended.
  bool go_on(int r) {
    Rank& rank = *ranks_[r];
    if (rank.ended || rank.waits()) return false;
    try {
      rank.ended = run_to_collective(rank.cores, arch_, rank.common.races);
    } catch (const PlacedError&) {
      throw;
    } catch (const Error& e) {
      throw PlacedError(e, rank.cores[0]->program(), nullptr, {}, r);
    }
    if (rank.ended) return true;
    if (meeting_ranks(waiting(*rank.cores[0]), r).empty()) {  // the pairs name others
      for (const auto& core : rank.cores) core->resume();
    } else {
      rank.common.entered = clocks_.enter(r);
    }
    return true;
  }

  bool try_to_meet(int r) {
    if (!ranks_[r]->waits()) return false;
    const InstView here = waiting(*ranks_[r]->cores[0]);
    std::vector<int> group;
    for (const std::int64_t rank : meeting_ranks(here, r)) {
      const Rank& other = *ranks_[rank];
      if (!other.waits()) return false;
      for (const auto& core : other.cores) {
        if (!difference(here, waiting(*core)).empty()) return false;
      }
      group.push_back(static_cast<int>(rank));
    }
    meet(group);
    return true;
  }

  void meet(const std::vector<int>& group) {
    ranks_[group[0]]->common.queue.wait();
    if (kChecks && group.size() > 1) check_destinations(group);
    const std::size_t cores = ranks_[group[0]]->cores.size();
    for (std::size_t c = 0; c < cores; ++c) {
      std::vector<Party> parties;
      for (const int r : group) parties.push_back({r, ranks_[r]->cores[c].get()});
      if (c == 0 || !is_done_by_first(group))
        exchange(parties, arch_, kernels_, ranks_[group[0]]->common.queue.threads());
    }
    for (const int r : group) leave(*ranks_[r]);
    clocks_.meet(group);
  }

  // Both cores of the ranks name the same tensors in HBM, which have moved already.
  bool is_done_by_first(const std::vector<int>& group) const {
    return std::ranges::all_of(group, [&](int r) {
      const auto& cores = ranks_[r]->cores;
      return std::ranges::equal(cores[0]->operands(), cores[1]->operands(), [](const Operand& a, const Operand& b) {
        return a.storage == b.storage && a.tile.data == b.tile.data;
      });
    });
  }

  static void leave(Rank& rank) {
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
  const Arch& arch_;
  const Kernels& kernels_;
  RankClocks clocks_;
};

}  // namespace

void run_ranks(std::list<Rank>& ranks, const Arch& arch, const Kernels& kernels) {
  Meetings(ranks, arch, kernels).run();
}

}  // namespace kiln::sim
