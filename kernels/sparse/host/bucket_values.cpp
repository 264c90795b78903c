#include "kernels/sparse/host/bucket_values.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <mutex>

#include "kiln/sim/spare_memory.h"

namespace kiln::sparse {
using kernels::BucketPlan;
using kernels::kTile;

void GiveBack::operator()(float* memory) const { sim::give_memory_back(reinterpret_cast<std::byte*>(memory), bytes); }

PlanRef cached_plan(const std::string& key, const std::function<BucketPlan()>& make) {
  constexpr std::size_t kMost = 16;
  static std::mutex mutex;
  static std::deque<std::pair<std::string, PlanRef>> plans;
  {
    std::lock_guard lock(mutex);
    for (const auto& [known, plan] : plans) {
      if (known == key) return plan;
    }
  }
  auto plan = std::make_shared<const BucketPlan>(make());
  std::lock_guard lock(mutex);
  plans.emplace_front(key, plan);
  if (plans.size() > kMost) plans.pop_back();
  return plan;
}

namespace {

SpareFloats zeros(std::size_t count) {
  if (count == 0) return {};
  const std::size_t bytes = count * sizeof(float);
  std::byte* memory = sim::take_memory(bytes);
  std::memset(memory, 0, bytes);
  return {reinterpret_cast<float*>(memory), GiveBack{bytes}};
}

// What a thread keeps, for the plan that it came with last.
struct Held {
  PlanRef plan;
  BucketValues values;
  std::vector<float> elements;    // that lie there
  bool has_equal_places = false;  // elements that are added up

  void begin(const PlanRef& next) {
    plan = next;
    elements.clear();
    const kernels::RowBuckets& b = plan->buckets;
    values.slots.assign(kTile * b.slot_count, 0.0f);
    values.blocks = zeros(static_cast<std::size_t>(kTile * b.tile_count * kTile));
    std::vector<std::int64_t> places;
    std::copy_if(plan->in_block.begin(), plan->in_block.end(), std::back_inserter(places),
                 [](std::int64_t place) { return place >= 0; });
    const std::size_t count = places.size();
    values.in_blocks = {values.blocks.get(), static_cast<std::size_t>(kTile),
                        static_cast<std::size_t>(b.tile_count * kTile), std::move(places)};
    values.in_blocks.times_finite = true;  // others have no blocks (spmm in products.cpp)
    has_equal_places = values.in_blocks.elements.size() < count;
  }
};

}  // namespace

BucketValues& bucket_values(const PlanRef& plan, const float* from) {
  thread_local Held held;
  if (held.plan != plan) held.begin(plan);
  BucketValues& v = held.values;
  const std::vector<std::int64_t>&slot = plan->slot, &in_block = plan->in_block;
  // The same matrix again, bit for bit: -0 and NaN are themselves.
  const std::size_t bytes = slot.size() * sizeof(float);
  if (held.elements.size() == slot.size() && std::memcmp(held.elements.data(), from, bytes) == 0) return v;
  held.elements.assign(from, from + slot.size());
  if (held.has_equal_places) {
    for (const std::int64_t place : in_block) {
      if (place >= 0) v.blocks[place] = 0;
    }
  }
  for (std::size_t e = 0; e < slot.size(); ++e) {
    if (slot[e] >= 0)
      v.slots[slot[e]] = from[e];
    else if (held.has_equal_places)
      v.blocks[in_block[e]] += from[e];
    else
      v.blocks[in_block[e]] = from[e];
  }
  v.in_blocks.read_values();
  return v;
}

}  // namespace kiln::sparse
