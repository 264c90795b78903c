#include <fmt/format.h>

#include "kiln/advice/advice_rules.h"
#include "kiln/base/quantity_text.h"
#include "kiln/isa/semantics/cost.h"

namespace kiln::advice {
namespace {

constexpr double kTooOften = 1.5;

// The HBM tensor that a DMA loads from; isa::kNone when there is none.
isa::TensorId source_of(const isa::InstView& inst, const Arch& arch) {
  if (resolve_engine(inst, arch) != Engine::dma) return isa::kNone;
  for (int p = 0; p < static_cast<int>(inst.row().params.size()); ++p) {
    if (inst.row().params[p].is_input() && !inst.row().params[p].is_output() && inst.is_tile(p) && inst.in_hbm(p))
      return inst.access(p).tensor;
  }
  return isa::kNone;
}

// The loads of tensors that are read over and over.
class Reloads {
 public:
  explicit Reloads(const Evidence& e) {
    change.same_bytes = true;
    for (std::size_t core = 0; core < e.run.cores().size(); ++core) add(e, core);
    if (once_ > 0) change.merge = read_ / once_;
  }
  Change change;
  Places places;

 private:
  void add(const Evidence& e, std::size_t core) {
    const isa::Program& program = *e.run.cores()[core];
    std::vector<double> bytes(program.tensors.size());
    std::vector<isa::TensorId> source(program.instructions.size());
    for (std::size_t i = 0; i < source.size(); ++i) {
      const isa::InstView inst(program, program.instructions[i]);
      source[i] = source_of(inst, e.run.arch);
      if (source[i] != isa::kNone)
        bytes[source[i]] +=
            static_cast<double>(e.executions[core][i]) * cost_of(program, inst.inst(), e.run.arch).dma_bytes;
    }
    const auto size = [&](std::size_t t) {
      return static_cast<double>(program.tensors[t].size()) * size_bytes(program.tensors[t].dtype);
    };
    for (std::size_t t = 0; t < bytes.size(); ++t) {
      if (bytes[t] < kTooOften * size(t)) continue;
      read_ += bytes[t];
      once_ += size(t);
    }
    CoreChange& to = change.cores.emplace_back();
    for (std::size_t i = 0; i < source.size(); ++i) {
      if (source[i] == isa::kNone || bytes[source[i]] < kTooOften * size(source[i])) continue;
      places.add({program, program.instructions[i]});
      to.merged.push_back(static_cast<isa::InstructionId>(i));
    }
  }
  double read_ = 0, once_ = 0;
};

}  // namespace

std::optional<Advice> reload(const Evidence& e) {
  const timing::Timeline& t = e.run.timeline;
  const double moved = t.hbm_bytes_read + t.hbm_bytes_written;
  if (t.compulsory_bytes <= 0 || moved < kTooOften * t.compulsory_bytes) return {};
  Reloads reloads(e);
  if (reloads.change.merge <= 1) return {};
  return Advice{
      .found = fmt::format("{} move between HBM and the chip, {} would do ({:.1f} times as much)", bytes_text(moved),
                           bytes_text(t.compulsory_bytes), moved / t.compulsory_bytes),
      .remedy = "keep tiles that are used again in SBUF, or loop so that they are used while they are there",
      .places = std::move(reloads.places).take(),
      .gain_ns = e.gain_with(reloads.change),
      .estimate = e.estimate(fmt::format("these loads at 1/{:.{}f} of their cost, as if each tile were loaded once",
                                         reloads.change.merge, reloads.change.merge < 10 ? 1 : 0))};
}

}  // namespace kiln::advice
