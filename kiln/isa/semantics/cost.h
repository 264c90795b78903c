// Cost: what an instruction takes on its engine, in the engine's cycles, from the numbers of arch/. For DMA,
// what has to move; the timing model turns both into nanoseconds.
#pragma once

#include "kiln/arch/arch.h"
#include "kiln/isa/inst_view.h"

namespace kiln::isa {

struct Cost {
  double cycles = 0;  // occupancy: interval to the next instruction of the same engine
  double dma_bytes = 0;
  double dma_descriptors = 0;  // contiguous runs
  double dma_rate = 1;         // share of the copy rate
  double load_cycles = 0;      // tensor engine: loading the stationary operand; hides behind the matmul before
  int parts = 1;               // tensor engine: matmuls on the device that it is made of
  double link_ns = 0;          // collectives: on the links between ranks
  bool reads_hbm = false;      // by an engine itself: it takes as long as such a load
  bool background = false;     // tensor engine: may run beside another matmul (transposes, gen4)
};

class CostQuery : public InstView {
 public:
  // `bare`: without the shortest interval that stream() keeps, which is how long data take to pass.
  CostQuery(const Program& program, const Instruction& inst, const Arch& arch, bool bare = false)
      : InstView(program, inst), arch_(arch), engine_(resolve_engine(*this, arch)), bare_(bare) {}
  const Arch& arch() const { return arch_; }
  Engine engine() const { return engine_; }
  const EngineSpec& spec() const { return arch_.engine(engine_); }

  // max(min interval, elements / rate), plus the engine's start; dynamic addresses cost at least
  // dynamic_address_cycles.
  double stream(double elements, double rate = 1) const;
  // Elements per lane and cycle of the vector engine's fast modes for a one-input instruction from `src` to
  // `dst`.
  double copy_rate(int dst, int src) const;
  // The same for an instruction with two tile inputs.
  double two_input_rate(int dst, int a, int b) const;
  // Whether the innermost dimension of a tile has stride 1.
  bool has_unit_stride(int param) const;

 private:
  bool has_dynamic_address() const;
  const Arch& arch_;
  Engine engine_;
  bool bare_;
};

// A product on the tensor engine: `columns` of the stationary operand, `cycles` for one pass of the moving
// one. A float32 operand takes several passes; the device shows two of them as one matmul.
Cost matmul_cost(const CostQuery& q, double passes, double columns, double cycles, bool transpose);

Cost cost_of(const Program& program, const Instruction& inst, const Arch& arch, bool bare = false);

}  // namespace kiln::isa
