// When tensors die: a long unrolled program declares far more tensors than are alive at a time.
#pragma once

#include <unordered_map>
#include <vector>

#include "kiln/isa/program.h"

namespace kiln::sim {

// Whether a tensor gets its storage when it is declared. Others live as long as the run: those that the
// caller or other cores see, and those with an address.
bool is_declared_storage(const isa::Tensor& tensor);

class Lifetimes {
 public:
  // Empty for programs whose tensors fit into memory together anyway.
  explicit Lifetimes(const isa::Program& program);
  bool empty() const { return dying_.empty(); }

  // Tensors declared in this block whose last use is statement `position` of it.
  const std::vector<isa::TensorId>* after(const isa::Block* block, std::size_t position) const;

 private:
  struct Key {
    const isa::Block* block;
    std::size_t position;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& k) const {
      return reinterpret_cast<std::size_t>(k.block) * 31 + k.position * 0x9e3779b97f4a7c15ull;
    }
  };
  std::unordered_map<Key, std::vector<isa::TensorId>, Hash> dying_;
};

}  // namespace kiln::sim
