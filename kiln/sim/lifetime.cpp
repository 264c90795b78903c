#include "kiln/sim/lifetime.h"

#include "kiln/isa/uses.h"

namespace kiln::sim {
using namespace isa;
namespace {

constexpr std::int64_t kKeepAllBytes = 256 << 20;  // below this nothing is gained by giving storages back

std::int64_t declared_bytes(const Program& program) {
  std::int64_t bytes = 0;
  for (const Tensor& t : program.tensors) {
    if (is_declared_storage(t)) bytes += t.partitions() * t.bytes_per_partition();
  }
  return bytes;
}

// Walks the program and remembers, per tensor, the last statement of its own block that touches it.
class Walk {
 public:
  struct Last {
    const Block* block = nullptr;
    std::size_t position = 0;
  };

  explicit Walk(const Program& program) : program_(program), last_(program.tensors.size()) { block(program.body); }
  const std::vector<Last>& last() const { return last_; }

 private:
  struct Open {
    const Block* block;
    std::size_t position;
  };

  void block(const Block& b) {
    open_.push_back({&b, 0});
    for (std::size_t i = 0; i < b.size(); ++i) {
      open_.back().position = i;
      switch (b[i].kind) {
        case Node::Kind::declare:
          last_[b[i].index] = {&b, i};
          break;
        case Node::Kind::loop:
          block(program_.loops[b[i].index].body);
          break;
        case Node::Kind::instruction:
          instruction(program_.instructions[b[i].index]);
          break;
      }
    }
    open_.pop_back();
  }

  void instruction(const Instruction& inst) {
    for_each_use(program_, inst, [&](const Access& a, Use) {
      Last& last = last_[a.tensor];
      for (const Open& o : open_) {
        if (o.block == last.block) last.position = o.position;
      }
    });
  }

  const Program& program_;
  std::vector<Last> last_;
  std::vector<Open> open_;
};

}  // namespace

bool is_declared_storage(const Tensor& t) {
  return t.role == Role::internal && t.memory != Memory::shared_hbm && !(t.address && is_on_chip(t.memory));
}

Lifetimes::Lifetimes(const Program& program) {
  if (declared_bytes(program) <= kKeepAllBytes) return;
  const Walk walk(program);
  for (TensorId id = 0; id < program.tensors.size(); ++id) {
    const Walk::Last& last = walk.last()[id];
    if (is_declared_storage(program.tensors[id]) && last.block) dying_[{last.block, last.position}].push_back(id);
  }
}

const std::vector<TensorId>* Lifetimes::after(const Block* block, std::size_t position) const {
  const auto it = dying_.find({block, position});
  return it == dying_.end() ? nullptr : &it->second;
}

}  // namespace kiln::sim
