#include "kiln/advice/advice.h"

#include <algorithm>

#include "kiln/advice/advice_rules.h"

namespace kiln::advice {
namespace {

constexpr AdviceRule kRules[] = {
    {"small_dma", "a DMA moves at least 2 KiB per contiguous run", small_dma},
    {"fp32_matmul", "a matmul reads bfloat16 where its precision is enough", fp32_matmul},
    {"psum_evacuation", "the tensor engine fills one PSUM bank while another is emptied", psum_evacuation},
    {"double_buffering", "a tile is loaded while another one is used", double_buffering},
    {"engine_imbalance", "engines that can do the same work share it", engine_imbalance},
    {"vector_fast_mode", "vector instructions run in the 2x and 4x modes", vector_fast_mode},
    {"reload", "an input is read from HBM once", reload},
    {"exposed_communication", "engines work while collectives are under way", exposed_communication},
    {"small_messages", "a collective takes longer for its bytes than for its steps", small_messages},
    {"late_collectives", "a collective begins when what it sends is there", late_collectives},
};

}  // namespace

void Places::add(const std::string& file, int line) {
  const std::size_t known = seen_.size();
  if (seen_(file, line) < known) return;
  if (list_.first.size() < kMaxPlaces) {
    list_.first.push_back({file, line});
  } else {
    ++list_.left_out;
  }
}

std::span<const AdviceRule> advice_rules() { return kRules; }

std::vector<Advice> advise(const TimedRun& run) {
  const Evidence evidence(run);
  std::vector<Advice> advice;
  for (const AdviceRule& rule : kRules) {
    if (run.options.done)
      run.options.done->store(static_cast<double>(&rule - kRules) / std::size(kRules), std::memory_order_relaxed);
    std::optional<Advice> found = rule.look(evidence);
    if (!found || found->gain_ns < kLeastAdvice * evidence.total_ns()) continue;
    found->rule = rule.name;
    advice.push_back(std::move(*found));
  }
  std::stable_sort(advice.begin(), advice.end(),
                   [](const Advice& a, const Advice& b) { return a.gain_ns > b.gain_ns; });
  return advice;
}

}  // namespace kiln::advice
