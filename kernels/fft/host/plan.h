// Plan: a transform of rows that is computed again and again: the fastest way for a chip by predicted time, its program
// and its tables. Plans are kept; a second call with the same numbers makes nothing.
#pragma once

#include <list>
#include <memory>
#include <string_view>

#include "kernels/backend/call.h"
#include "kernels/fft/transform.h"
#include "kiln/num/known_table.h"

namespace kiln::fft {

using kernels::Spectrum;
using kernels::TransformConfig;

class Plan {
 public:
  // Tries the ways there are by simulated time, for one core or those that two can share. Throws Error (fft.R1 to R3):
  // sizes, a length beyond 2^24, no way for two cores.
  enum class Cores : std::uint8_t { one, pair };
  Plan(const TransformConfig& config, Target target, Cores cores = Cores::one);

  const TransformConfig& config() const { return config_; }
  // The transform that the program has: half a spectrum of an odd length may be faster as a whole one.
  const TransformConfig& computed() const { return computed_; }
  const kernels::Way& way() const { return way_; }
  const kernels::Tables& tables() const { return tables_; }
  isa::Program program(Target target) const { return kernels::transform(computed_, way_, target); }
  std::string key() const;

  // Rows of x, config().x_width() numbers each, to rows of y, on the simulator or a device.
  void execute(const float* x, float* y, backend::Backend backend) const;

 private:
  friend void execute_pair(const TransformConfig&, const float*, float*, backend::Backend);
  std::vector<backend::Array> arrays(const float* x, float* y) const;
  void run(backend::Call& call, const float* x, float* y, backend::Backend backend) const;
  bool keep_apart(backend::Call& call, backend::Backend backend) const;

  TransformConfig config_, computed_;
  kernels::Way way_;
  kernels::Tables tables_;
  std::list<KnownTable> known_;  // those that stay on the chip, for the simulator
};

// The plan of a transform for the current target; made when it is not there. The oldest ones are forgotten.
inline constexpr std::size_t kMostPlans = 64;
std::shared_ptr<const Plan> plan(const TransformConfig& config, Plan::Cores cores = Plan::Cores::one);
std::size_t plan_count();
void clear_plans();

// Rows on the two cores of a pair, by the simulator or a device; throws Error (fft.R3) where the chip has no pairs or
// one row cannot be shared. pair_ns is what is predicted for it.
void execute_pair(const TransformConfig& config, const float* x, float* y, backend::Backend backend);
double pair_ns(const TransformConfig& config);

// The transform of rows, on the backend that is not native; `backend::note_native` tells of a native one.
void execute(const TransformConfig& config, const float* x, float* y, backend::Backend backend);
void note_native(const TransformConfig& config);

}  // namespace kiln::fft
