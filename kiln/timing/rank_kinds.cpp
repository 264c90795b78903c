#include "kiln/timing/rank_kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "kiln/isa/replica_groups.h"

namespace kiln::timing {
using namespace isa;

namespace {

// What tells a rank from others: its kind so far, and in each collective how many of which kind it meets.
using Signature = std::vector<std::vector<int>>;

class Kinds {
 public:
  explicit Kinds(const Launch& launch) : launch_(launch), kind_of_(static_cast<std::size_t>(launch.ranks)) {
    // Programs that are the same object are the same.
    std::map<std::vector<const Program*>, int> known;
    for (int rank = 0; rank < launch.ranks; ++rank) {
      const auto cores = launch.cores(rank);
      const auto [at, is_new] = known.try_emplace({cores.begin(), cores.end()}, static_cast<int>(known.size()));
      kind_of_[static_cast<std::size_t>(rank)] = at->second;
    }
    count_ = known.size();
    for (const Program* program : launch.programs) {
      if (collectives_.contains(program)) continue;
      std::vector<const Instruction*>& own = collectives_[program];
      for (const Instruction& inst : program->instructions)
        if (InstView(*program, inst).facts().collective) own.push_back(&inst);
    }
  }

  // Ranks that meet other kinds are of another kind, until that tells no more apart.
  std::vector<int> settle() {
    while (true) {
      std::map<Signature, int> known;
      std::vector<int> next;
      for (int rank = 0; rank < launch_.ranks; ++rank)
        next.push_back(known.try_emplace(signature(rank), static_cast<int>(known.size())).first->second);
      kind_of_ = std::move(next);
      if (known.size() == count_) return kind_of_;
      count_ = known.size();
    }
  }

 private:
  Signature signature(int rank) const {
    Signature s{{kind_of_[static_cast<std::size_t>(rank)]}};
    for (const Program* program : launch_.cores(rank)) {
      for (const Instruction* inst : collectives_.at(program)) {
        std::vector<int>& met = s.emplace_back();
        for (const std::int64_t other : meeting_ranks({*program, *inst}, rank))
          if (other < launch_.ranks) met.push_back(kind_of_[static_cast<std::size_t>(other)]);
        std::sort(met.begin(), met.end());
      }
    }
    return s;
  }

  const Launch& launch_;
  std::map<const Program*, std::vector<const Instruction*>> collectives_;
  std::vector<int> kind_of_;
  std::size_t count_ = 0;
};

}  // namespace

RankKinds rank_kinds(const Launch& launch) {
  RankKinds kinds{Kinds(launch).settle(), {}};
  for (int rank = 0; rank < launch.ranks; ++rank) {
    const auto kind = static_cast<std::size_t>(kinds.kind_of[static_cast<std::size_t>(rank)]);
    if (kind == kinds.ranks_of.size()) kinds.ranks_of.emplace_back();
    kinds.ranks_of[kind].push_back(rank);
  }
  return kinds;
}

std::vector<const Program*> timed_programs(const Launch& launch, const RankKinds& kinds) {
  std::vector<const Program*> programs;
  for (int kind = 0; kind < kinds.count(); ++kind) {
    const auto cores = launch.cores(kinds.first(kind));
    programs.insert(programs.end(), cores.begin(), cores.end());
  }
  return programs;
}

std::string ranks_text(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    text += fmt::format("{}{}", i ? ", " : "", ranks[i]);
    if (last > i) text += fmt::format("-{}", ranks[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace kiln::timing
