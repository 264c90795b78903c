#include "kernels/backend/neuron.h"

#include <mutex>

namespace kiln::backend {
namespace {

std::mutex mutex;
NeuronExecutor& executor() {
  static auto* e = new NeuronExecutor;  // stays: what it holds may belong to an interpreter that ends before us
  return *e;
}
NeuronExecutor registered() {
  std::lock_guard lock(mutex);
  return executor();
}

}  // namespace

void register_neuron(NeuronExecutor e) {
  std::lock_guard lock(mutex);
  executor() = std::move(e);
}

std::string why_no_neuron() {
  const NeuronExecutor e = registered();
  return e.why_not ? e.why_not() : "no executor is registered: the vendor's package is reached from Python";
}

bool has_device() {
  const NeuronExecutor e = registered();
  return e.has_device && e.has_device();
}

void run_on_neuron(const std::vector<std::shared_ptr<const isa::Program>>& programs, const std::vector<Array>& arrays) {
  registered().run(programs, arrays);
}

}  // namespace kiln::backend
