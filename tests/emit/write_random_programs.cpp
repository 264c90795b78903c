// write_random_programs FOLDER FIRST COUNT: random programs that pass check, as kernels whose arguments lie in HBM, one
// file per core, named by seed: FOLDER/<seed>.core<n>.kiln.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "kiln/base/file.h"
#include "kiln/check/check_program.h"
#include "kiln/isa/default_arg.h"
#include "kiln/isa/text/print.h"
#include "tests/programs/random_program.h"

namespace {

using namespace kiln;
using namespace kiln::isa;

// Random programs are fragments: what they are given and give back lies on chip. Here copies from and to HBM are put
// around them, through SBUF where the DMA does not reach.
class Wrapped {
 public:
  explicit Wrapped(Program program) : p_(std::move(program)) {
    p_.fragment = false;
    p_.nki = kNewestNki;
  }

  Program run() {
    const std::size_t tensors = p_.tensors.size();
    for (TensorId id = 0; id < tensors; ++id) {
      if (p_.tensors[id].role == Role::internal || is_hbm(p_.tensors[id].memory)) continue;
      wrap(id);
    }
    Block body = std::move(declared_);
    body.insert(body.end(), before_.begin(), before_.end());
    for (const Node& node : p_.body) {
      if (node.kind != Node::Kind::declare || !moved(node.index)) body.push_back(node);
    }
    body.insert(body.end(), after_.begin(), after_.end());
    p_.body = std::move(body);
    return std::move(p_);
  }

 private:
  bool moved(TensorId id) const { return std::find(moved_.begin(), moved_.end(), id) != moved_.end(); }

  void wrap(TensorId id) {
    moved_.push_back(id);
    const TensorId hbm = twin(id, Memory::hbm, Role::inout, "hbm");
    p_.tensors[id].role = Role::internal;
    declare(hbm);
    declare(id);
    TensorId stage = id;
    if (p_.tensors[id].memory == Memory::psum) declare(stage = twin(id, Memory::sbuf, Role::internal, "stage"));
    copy(before_, Opcode::dma_copy, stage, hbm);
    if (stage != id) {
      copy(before_, Opcode::tensor_copy, id, stage);
      copy(after_, Opcode::tensor_copy, stage, id);
    }
    copy(after_, Opcode::dma_copy, hbm, stage);
  }

  void declare(TensorId id) { declared_.push_back({Node::Kind::declare, id}); }

  TensorId twin(TensorId id, Memory memory, Role role, const char* word) {
    Tensor t = p_.tensors[id];
    t.name = fmt::format("{}_{}", word, id);
    t.memory = memory;
    t.role = role;
    t.address.reset();
    p_.tensors.push_back(std::move(t));
    return static_cast<TensorId>(p_.tensors.size() - 1);
  }

  // Both instructions take dst, then src.
  void copy(Block& block, Opcode opcode, TensorId dst, TensorId src) {
    Instruction inst{.opcode = opcode, .first_arg = static_cast<std::uint32_t>(p_.args.size())};
    std::vector<Arg> args(default_args(opcode).begin(), default_args(opcode).end());
    for (const auto& [param, tensor] : {std::pair(0, dst), std::pair(1, src)}) {
      args[param].kind = Arg::Kind::access;
      args[param].index = static_cast<std::uint32_t>(p_.accesses.size());
      p_.accesses.push_back(whole(p_, tensor));
    }
    p_.args.insert(p_.args.end(), args.begin(), args.end());
    block.push_back({Node::Kind::instruction, static_cast<std::uint32_t>(p_.instructions.size())});
    p_.instructions.push_back(inst);
  }

  Program p_;
  Block declared_, before_, after_;
  std::vector<TensorId> moved_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const std::uint64_t first = std::strtoull(argv[2], nullptr, 10), count = std::strtoull(argv[3], nullptr, 10);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    Choices choices(seed);
    std::vector<Program> cores = random_launch(choices);
    bool ok = true;
    for (Program& p : cores) {
      p = Wrapped(std::move(p)).run();
      ok = ok && check::check_program(p, arch(p.target)).ok();
    }
    for (std::size_t i = 0; ok && i < cores.size(); ++i)
      write_atomically(fmt::format("{}/{}.core{}.kiln", argv[1], seed, i), print(cores[i]));
  }
}
