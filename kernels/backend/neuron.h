// The door to the vendor's package: whoever can import it (kiln.blas in Python) says how a program is run on a device.
#pragma once

#include <functional>
#include <string>

#include "kernels/backend/call.h"

namespace kiln::backend {

struct NeuronExecutor {
  std::function<std::string()> why_not;  // "" when `run` can be called
  std::function<bool()> has_device;      // asked by `auto` and `nki`
  // One program for each core of a launch.
  std::function<void(const std::vector<std::shared_ptr<const isa::Program>>&, const std::vector<Array>&)> run;
};
void register_neuron(NeuronExecutor executor);

std::string why_no_neuron();
bool has_device();
void run_on_neuron(const std::vector<std::shared_ptr<const isa::Program>>& programs, const std::vector<Array>& arrays);

}  // namespace kiln::backend
