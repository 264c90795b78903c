#include "kiln/views/advice.h"

#include <algorithm>

#include "kiln/views/advice_rules.h"
#include "kiln/views/work.h"

namespace kiln::views {
namespace {

constexpr double kLeastShare = 0.01;

constexpr AdviceRule kRules[] = {
    {"small_dma", "a DMA moves at least 2 KiB per contiguous run", small_dma},
    {"fp32_matmul", "a matmul reads bfloat16 where its precision is enough", fp32_matmul},
    {"psum_evacuation", "the tensor engine fills one PSUM bank while another is emptied", psum_evacuation},
    {"double_buffering", "a tile is loaded while another one is used", double_buffering},
    {"engine_imbalance", "engines that can do the same work share it", engine_imbalance},
    {"vector_fast_mode", "vector instructions run in the 2x and 4x modes", vector_fast_mode},
    {"reload", "an input is read from HBM once", reload},
};

std::vector<std::vector<std::int64_t>> all_executions(const TimedRun& run) {
  std::vector<std::vector<std::int64_t>> all;
  for (int core = 0; core < static_cast<int>(run.cores.size()); ++core) all.push_back(executions(run, core));
  return all;
}

timing::Time total_of(const std::vector<const isa::Program*>& cores, const Arch& arch,
                      timing::TimingOptions options) {
  options.what_if.clear();  // `arch` has them already
  options.extrapolate = true;
  options.keep_events = 0;
  return (cores.size() == 1 ? timing::simulate(*cores[0], arch, options)
                            : timing::simulate(cores, arch, options))
      .total;
}

}  // namespace

Evidence::Evidence(const TimedRun& run) : run(run), executions(all_executions(run)) {}

double Evidence::gain_with(const std::vector<timing::WhatIf>& changes) const {
  const timing::Time total = total_of(run.cores, timing::apply(run.arch, changes), run.options);
  return timing::to_ns(run.timeline.total - total);
}

double Evidence::gain_with(const std::vector<isa::Program>& cores) const {
  std::vector<const isa::Program*> pointers;
  for (const isa::Program& core : cores) pointers.push_back(&core);
  return timing::to_ns(run.timeline.total - total_of(pointers, run.arch, run.options));
}

void Places::add(const Place& place) {
  if (!seen_.insert(place).second) return;
  if (list_.first.size() < kMaxPlaces) {
    list_.first.push_back(place);
  } else {
    ++list_.left_out;
  }
}

std::span<const AdviceRule> advice_rules() { return kRules; }

std::vector<Advice> advise(const TimedRun& run) {
  const Evidence evidence(run);
  std::vector<Advice> advice;
  for (const AdviceRule& rule : kRules) {
    std::optional<Advice> found = rule.look(evidence);
    if (!found || found->gain_ns < kLeastShare * evidence.total_ns()) continue;
    found->rule = rule.name;
    advice.push_back(std::move(*found));
  }
  std::stable_sort(advice.begin(), advice.end(),
                   [](const Advice& a, const Advice& b) { return a.gain_ns > b.gain_ns; });
  return advice;
}

}  // namespace kiln::views
