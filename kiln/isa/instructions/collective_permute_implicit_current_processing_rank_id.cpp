#include <fmt/format.h>

#include "kiln/isa/instructions/shared/collective.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/semantics/cost.h"
#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"

namespace kiln::isa::instruction::collective_permute_implicit_current_processing_rank_id {
namespace {
using namespace args::collective_permute_implicit_current_processing_rank_id;

constexpr Rule kLists{1, "a replica group names ranks from 0 on, each of them once, and no list is empty",
                      "list each rank in one group"};
constexpr Rule kStep{2, "iteration_id is 0 or more", "count the steps around the ring from 0"};
constexpr Rule kChannel{3, "channel_id is 0 to 3", "pass the channel of collective_permute_implicit"};
constexpr Rule kRules[] = {kLists, kStep, kChannel};

void check(Check& c) {
  c.require(kLists, are_replica_groups(c, replica_group), replica_group, [&] { return groups_text(c, replica_group); });
  c.require(kStep, c.is_register(iteration_id) || c.integer(iteration_id) >= 0, iteration_id,
            [&] { return fmt::format("iteration_id is {}", c.integer(iteration_id)); });
  c.require(kChannel, c.integer(channel_id) >= 0 && c.integer(channel_id) < kMostChannels, channel_id,
            [&] { return fmt::format("channel_id is {}", c.integer(channel_id)); });
}

// What is here after i steps came from i places before this rank.
void run(Run& r) {
  const RankList list = group_of(r, replica_group, r.rank_number);
  if (list.empty()) r.fail(kLists, fmt::format("rank {} is not in {}", r.rank_number, groups_text(r, replica_group)));
  const auto n = std::ssize(list);
  const std::int64_t step = r.is_register(iteration_id) ? static_cast<std::int32_t>(r.registers[r.reg(iteration_id)])
                                                        : r.integer(iteration_id);
  if (step < 0) r.fail(kStep, fmt::format("iteration_id is {}", step));
  const auto here = std::ranges::find(list, r.rank_number) - list.begin();
  r.registers[r.reg(dst)] = static_cast<std::uint32_t>(list[(here + n - step % n) % n]);
}

Cost cost(const CostQuery&) { return {.cycles = 1}; }

}  // namespace

extern const Semantics semantics = {
    .rules = kRules,
    .description =
        "dst = the rank whose data is here after iteration_id steps of collective_permute_implicit: at step 0 this "
        "rank, "
        "then the ranks before it in the group's list, one after the other.",
    .engine = nullptr,
    .check = check,
    .run = run,
    .cost = cost,
    .track = track_none,
    .cost_text = "1 (not documented)",
    .facts = {.sets_register = dst, .declares_register = true},
};

}  // namespace kiln::isa::instruction::collective_permute_implicit_current_processing_rank_id
