// TensorMemory: the bytes of SBUF and PSUM that the tensors without an address of a program take and give back. In
// program order they come from pools; the list scheduler gives them out in its own order, as stays.
#pragma once

#include <array>
#include <vector>

#include "kiln/timing/by_tensor.h"
#include "kiln/timing/plan.h"
#include "kiln/timing/pool.h"
#include "kiln/timing/stays.h"

namespace kiln::timing {

class TensorMemory {
 public:
  TensorMemory(const isa::Program& program, const Plan& plan, const Arch& arch, bool reorder);

  void declare(isa::TensorId id);
  void release(isa::TensorId id, const Users& users, bool for_good);  // `for_good`: it is not declared again

  // In program order: who must be done before the tensor may be written for the first time.
  const std::vector<OpId>& users_before(isa::TensorId id) const { return places_.at(id).before; }
  // Bytes that no tensor has used yet.
  std::array<std::int64_t, 2> unused() const { return {pools_[0].unused(), pools_[1].unused()}; }

  // List scheduler: adds the tensor's stay to those of an instruction that uses it.
  void add_stay(isa::TensorId id, StayIds& of_instruction) {
    if (const StayId stay = places_.at(id).stay; stay != isa::kNone) stays_.use(stay, of_instruction);
  }
  Stays& stays() { return stays_; }
  const Stays& stays() const { return stays_; }

 private:
  struct Place {
    std::vector<OpId> before;  // users of its memory before it
    StayId stay = isa::kNone;
  };
  std::int64_t pool_bytes(isa::TensorId id) const;
  bool in_psum(isa::TensorId id) const;

  const isa::Program& program_;
  const Plan& plan_;
  int partitions_;
  bool reorder_;
  Pool pools_[2];  // SBUF, PSUM
  Stays stays_;
  ByTensor<Place> places_;
};

}  // namespace kiln::timing
