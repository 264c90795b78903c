#include "kiln/sim/memory_need.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "kiln/analysis/liveness.h"
#include "kiln/base/memory_limit.h"
#include "kiln/base/quantity_text.h"
#include "kiln/sim/declared_storage.h"

namespace kiln::sim {
using namespace isa;

namespace {

double bytes_of(const Tensor& t) {
  return static_cast<double>(t.partitions()) * static_cast<double>(t.bytes_per_partition());
}

// The most that tensors of HBM take at once which come and go with their declarations.
double declared_bytes(const Program& program) {
  const bool comes_and_goes = gives_storages_back(program);
  const auto is_counted = [](const Tensor& t) { return is_declared_storage(t) && is_hbm(t.memory); };
  if (std::none_of(program.tensors.begin(), program.tensors.end(), is_counted)) return 0;
  const analysis::Liveness uses = analysis::use_intervals(program);
  std::vector<double> change(uses.nodes.size() + 1);
  for (TensorId id = 0; id < program.tensors.size(); ++id) {
    const analysis::Interval& alive = uses.tensors[id];
    if (!is_counted(program.tensors[id]) || alive.empty()) continue;
    const double bytes = bytes_of(program.tensors[id]);
    change[alive.begin] += bytes;
    if (comes_and_goes) change[alive.end + 1] -= bytes;
  }
  double now = 0, most = 0;
  for (const double c : change) most = std::max(most, now += c);
  return most;
}

}  // namespace

double memory_need(const Launch& launch) {
  double sum = 0;
  std::map<const Program*, double> declared;  // ranks may run the same program
  for (int rank = 0; rank < launch.ranks; ++rank) {
    std::set<std::string_view> seen;
    for (const Program* program : launch.cores(rank)) {
      for (const Tensor& t : program->tensors) {
        if (is_shared(t) && seen.insert(t.name).second) sum += bytes_of(t);
      }
      const auto [it, fresh] = declared.try_emplace(program);
      if (fresh) it->second = declared_bytes(*program);
      sum += it->second;
    }
  }
  return sum;
}

namespace {

// No less than the need: as if all tensors were there at once.
double most_memory(const Launch& launch) {
  double sum = 0;
  for (int rank = 0; rank < launch.ranks; ++rank) {
    for (const Program* program : launch.cores(rank)) {
      for (const Tensor& t : program->tensors) {
        if (is_shared(t) || is_hbm(t.memory)) sum += bytes_of(t);
      }
    }
  }
  return sum;
}

}  // namespace

void require_memory(const Launch& launch, std::int64_t max_memory) {
  if (most_memory(launch) <= static_cast<double>(max_memory > 0 ? max_memory : default_max_memory())) return;
  const double need = memory_need(launch);
  const Tensor* largest = nullptr;
  const Program* owner = nullptr;
  for (const Program* program : launch.programs) {
    for (const Tensor& t : program->tensors) {
      if (!largest || bytes_of(t) > bytes_of(*largest)) largest = &t, owner = program;
    }
  }
  if (!largest) return;
  kiln::require_memory(need, max_memory,
                       fmt::format("tensors of the run{}, the largest `{}` of {}",
                                   launch.ranks > 1 ? fmt::format(", {} on each of {} ranks",
                                                                  bytes_text(need / launch.ranks), launch.ranks)
                                                    : "",
                                   largest->name, bytes_text(bytes_of(*largest))),
                       owner->locs[largest->loc]);
}

}  // namespace kiln::sim
