// Where each tensor of a core lives now.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kiln/isa/launch.h"
#include "kiln/sim/origins.h"
#include "kiln/sim/storage.h"

namespace kiln::sim {

struct Binding {
  std::shared_ptr<Storage> storage;
  std::int64_t row = 0, byte = 0;  // of the tensor's first element
};

// Tensors that several cores see (isa::is_shared), by name.
using SharedTensors = std::map<std::string, Binding, std::less<>>;

class Bindings {
 public:
  // Binds the tensors that live as long as the run: those in `shared`, where missing ones are added, and those
  // with an address. Outputs and what belongs to the core begin unwritten.
  Bindings(const isa::Program& program, const Arch& arch, SharedTensors& shared, Origins& origins);

  const Binding& operator[](isa::TensorId id) const { return bindings_[id]; }
  // A tensor comes to life in a storage: its content is undefined.
  void declare(isa::TensorId id, std::shared_ptr<Storage> storage);
  // It lives elsewhere from now on; what is known of its content is known there.
  void move(isa::TensorId id, Binding to) { bindings_[id] = std::move(to); }
  void release(isa::TensorId id) { bindings_[id] = {}; }

 private:
  void bind_shared(isa::TensorId id, SharedTensors& shared);
  void bind_placed(isa::TensorId id, const Arch& arch);

  const isa::Program& program_;
  Origins& origins_;
  std::vector<Binding> bindings_;
  std::vector<isa::Shadow> origin_;     // 0: not declared so far
  std::shared_ptr<Storage> placed_[2];  // SBUF and PSUM of tensors with an address
};

}  // namespace kiln::sim
