// Roofline: how near the program comes to what each part of the machine could do.
#pragma once

#include <string>
#include <vector>

#include "kiln/analysis/work.h"
#include "kiln/timing/timed_run.h"

namespace kiln::views {

using timing::TimedRun;

// The least time that one part of the machine needs for its share, were nothing else in the way.
struct Ceiling {
  std::string name;  // tensor engine, HBM, SBUF, PSUM
  double work = 0;   // operations or bytes
  double peak_per_ns = 0;
  bool is_bytes = true;  // else operations
  double least_ns() const { return peak_per_ns > 0 ? work / peak_per_ns : 0; }
};

struct Roofline {
  double flops = 0;  // operations of the tensor engine, in bfloat16 passes
  double hbm_bytes = 0;
  double peak_flops_per_ns = 0, peak_bytes_per_ns = 0;
  double achieved_flops_per_ns = 0;
  std::vector<Ceiling> ceilings;  // the tensor engine first

  double intensity() const { return hbm_bytes > 0 ? flops / hbm_bytes : 0; }  // operations per byte of HBM
  double ridge() const { return peak_bytes_per_ns > 0 ? peak_flops_per_ns / peak_bytes_per_ns : 0; }
  // The ceiling that stands lowest: the part that would bind if everything overlapped perfectly.
  const Ceiling& lowest() const;
};
Roofline roofline_of(const TimedRun& run, const analysis::Work& work);

}  // namespace kiln::views
