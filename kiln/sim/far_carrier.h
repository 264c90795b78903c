// FarCarrier: carries the elements of a gathering whose members are ranks of several processes. All processes that
// have a member name the same moves and reductions in the same order; each does its part of them.
#pragma once

#include <deque>
#include <vector>

#include "kiln/isa/semantics/gathering.h"
#include "kiln/sim/scratch.h"
#include "kiln/sim/slice_stream.h"
#include "kiln/sim/wire.h"

namespace kiln::sim {

class FarCarrier final : public isa::Carrier {
 public:
  using Spot = isa::Gathering::Spot;
  // `homes`: the process of each member. `scratch` has nobody else's memory.
  FarCarrier(Processes& processes, std::vector<int> homes, bool with_shadows, const Kernels& kernels, Scratch& scratch);

  void move(const isa::Gathering& g, const Spot& from, const Spot& to, std::int64_t count) override;
  void reduce(const isa::Gathering& g, AluOp op, const std::vector<Spot>& from, const std::vector<Spot>& to,
              std::int64_t count) override;
  // Gives members of other processes what they brought for a parameter, which every rank looks at.
  void mirror(std::vector<isa::Gathering::Member>& members, int param);
  // Until everything is where it belongs.
  void finish();

 private:
  // Elements [first, first + count) of a reduction, which one process computes.
  struct Part {
    int process;
    std::int64_t first, count;
  };
  bool is_here(const Spot& s) const { return homes_[s.member] == self_; }
  std::vector<Part> parts_of(const std::vector<Spot>& from, const std::vector<Spot>& to, std::int64_t count) const;
  FarReduction reduction_of(const isa::Gathering& g, AluOp op, const std::vector<Spot>& from,
                            const std::vector<Spot>& to, const Part& part);
  void begin(FarReduction& r);
  void hand_out(const FarReduction& r);
  void send(int to, const isa::Parcel& from, std::int64_t first, std::int64_t count);
  void receive(int from, const isa::Parcel& to, std::int64_t first, std::int64_t count);
  isa::Parcel make_scratch(DType dtype, std::int64_t count);

  const int self_;
  const std::vector<int> homes_;
  const bool with_shadows_;
  const Kernels& kernels_;
  Wire wire_;
  std::deque<FarReduction> reductions_;
  Scratch& scratch_;
  SliceStream stream_;
};

}  // namespace kiln::sim
