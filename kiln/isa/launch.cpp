#include "kiln/isa/launch.h"

#include <fmt/format.h>

#include <algorithm>

#include "kiln/isa/replica_groups.h"
#include "kiln/isa/text/print.h"
#include "kiln/isa/verify/launch_rules.h"

namespace kiln::isa {
namespace {

Diagnostic broken(const Rule& rule, std::string found) {
  return kiln::broken(launch_rules::kTable, rule, {.found = std::move(found)});
}

bool is_counted_right(const Launch& launch) {
  return launch.ranks >= 1 && (launch.cores_per_rank == 1 || launch.cores_per_rank == 2) &&
         std::ssize(launch.programs) == std::int64_t{launch.ranks} * launch.cores_per_rank;
}

// What is wrong with the ranks that a collective names, when rank `rank` of a launch issues it; null when nothing is.
const Rule* broken_rule(const InstView& inst, int rank, int ranks) {
  const Collective& collective = *inst.facts().collective;
  for (const RankList list : replica_groups(inst, collective.groups)) {
    if (std::ranges::any_of(list, [&](std::int64_t r) { return r < 0 || r >= ranks; })) return &launch_rules::kRanks;
  }
  if (!collective.by_pairs && group_of(inst, collective.groups, rank).empty()) return &launch_rules::kOwnGroup;
  return nullptr;
}

void verify_rank(const Program& program, int rank, int ranks, std::vector<Diagnostic>& out) {
  for (const Instruction& i : program.instructions) {
    const InstView inst(program, i);
    if (!inst.facts().collective) continue;
    const Rule* rule = broken_rule(inst, rank, ranks);
    if (!rule) continue;
    out.push_back(kiln::broken(launch_rules::kTable, *rule,
                               {.found = fmt::format("{} among {} on rank {} of {}", inst.row().name,
                                                     groups_text(inst, inst.facts().collective->groups), rank, ranks),
                                .loc = inst.loc(),
                                .context = print(program, i)}));
    return;  // the same holds for most of the others
  }
}

}  // namespace

Launch::Launch(const Program& program) : programs{&program} {}

Launch::Launch(std::vector<const Program*> cores)
    : programs(std::move(cores)), cores_per_rank(static_cast<int>(programs.size())) {}

Launch Launch::of(const std::vector<Program>& cores) {
  std::vector<const Program*> programs;
  for (const Program& program : cores) programs.push_back(&program);
  return Launch(std::move(programs));
}

Launch Launch::on_ranks(int count) const {
  Launch all;
  all.ranks = count;
  all.cores_per_rank = cores_per_rank;
  for (int rank = 0; rank < count; ++rank) all.programs.insert(all.programs.end(), cores().begin(), cores().end());
  return all;
}

Launch Launch::of_rank(int rank) const {
  const auto own = cores(rank);
  return Launch(std::vector<const Program*>(own.begin(), own.end()));
}

std::string Launch::name() const {
  std::string names;
  for (const Program* program : cores()) names += (names.empty() ? "" : " + ") + program->name;
  return names;
}

bool is_shared(const Tensor& tensor) { return tensor.role != Role::internal || tensor.memory == Memory::shared_hbm; }

std::vector<Diagnostic> verify(const Launch& launch) {
  if (!is_counted_right(launch)) {
    return {broken(launch_rules::kCount, fmt::format("{} programs for {} x {} cores", launch.programs.size(),
                                                     launch.ranks, launch.cores_per_rank))};
  }
  std::vector<Diagnostic> out;
  for (const Program* program : launch.programs) {
    if (program->target != launch.target()) {
      out.push_back(broken(launch_rules::kTarget, fmt::format("the targets are {} and {}", arch(launch.target()).name,
                                                              arch(program->target).name)));
      break;
    }
  }
  for (const Program* program : launch.programs) {
    if (launch.cores_per_rank == 2 && program->lnc != 2)
      out.push_back(broken(launch_rules::kLnc, fmt::format("program `{}` says lnc {}", program->name, program->lnc)));
  }
  return out;
}

std::vector<Diagnostic> verify_ranks(const Launch& launch) {
  std::vector<Diagnostic> out = verify(launch);
  for (int rank = 0; rank < launch.ranks && out.empty(); ++rank) {
    for (const Program* program : launch.cores(rank)) verify_rank(*program, rank, launch.ranks, out);
  }
  return out;
}

void require_ranks(const Launch& launch) {
  std::vector<Diagnostic> found = verify_ranks(launch);
  if (!found.empty()) throw Error(std::move(found));
}

void require_sound(const Launch& launch) {
  std::vector<Diagnostic> found = verify(launch);
  if (!found.empty()) throw Error(std::move(found));
}

}  // namespace kiln::isa
