#include "kiln/isa/launch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

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

// Every rank stands in the groups once.
bool is_partition(const Launch& launch) {
  std::vector<int> all;
  for (const std::vector<int>& group : launch.replica_groups) all.insert(all.end(), group.begin(), group.end());
  std::ranges::sort(all);
  for (int rank = 0; rank < launch.ranks; ++rank) {
    if (rank >= std::ssize(all) || all[rank] != rank) return false;
  }
  return std::ssize(all) == launch.ranks;
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

std::string Launch::name() const {
  std::string names;
  for (const Program* program : programs) names += (names.empty() ? "" : " + ") + program->name;
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
  if (!is_partition(launch)) {
    out.push_back(
        broken(launch_rules::kReplicaGroups,
               fmt::format("the groups are {} for {} ranks", fmt::join(launch.replica_groups, ", "), launch.ranks)));
  }
  if (launch.ranks > 1) {
    out.push_back(kiln::broken(launch_rules::kTable, launch_rules::kOneRank,
                               {.found = fmt::format("{} ranks", launch.ranks), .category = Category::not_yet}));
  }
  return out;
}

void require_sound(const Launch& launch) {
  std::vector<Diagnostic> found = verify(launch);
  if (!found.empty()) throw Error(std::move(found));
}

}  // namespace kiln::isa
