// Origins: where bytes that were never written come from.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "kiln/base/rule.h"
#include "kiln/isa/inst_view.h"
#include "kiln/isa/semantics/pass.h"
#include "kiln/isa/semantics/track.h"
#include "kiln/sim/storage.h"

namespace kiln::sim {

// On all cores of a run, with the instruction that brought what depends on them into an output. When there are many
// tensors, those of one source line share a number; the last number stands for every origin that has none.
class Origins {
 public:
  isa::Shadow add(const isa::Program& program, isa::TensorId tensor);
  // What bytes of placed tensors start with: windows may lie over each other, so only a read tells whose
  // bytes they are.
  static isa::Shadow unread();
  static isa::Shadow many();  // the number of origins that have none
  isa::Shadow read_through(isa::Shadow shadow, const isa::Program& program, isa::TensorId tensor);
  // The tensor, or null when it is one of many.
  struct Origin {
    const isa::Program* program;
    isa::TensorId tensor;
    isa::Shadow plain = 0;  // of a scale tile's padding: the shadow that the tensor has elsewhere
    bool shared = false;    // the tensor is the first of several
  };
  const Origin* find(isa::Shadow shadow) const { return shadow <= known_.size() ? &known_[shadow - 1] : nullptr; }

  // The rows of a scale tile that hold no scale may be carried along by copies; any other use is like that of
  // every unwritten byte.
  isa::Shadow padding_of(isa::Shadow shadow);
  bool is_padding(isa::Shadow shadow) const {
    return shadow != 0 && shadow <= known_.size() && known_[shadow - 1].plain != 0;
  }

  // The last instruction that stored values of an origin into an output. What matters is whether they are
  // still there at the end.
  struct Arrival {
    const isa::Program* program;
    const isa::Instruction* inst;
    isa::Pass pass;
  };
  void arrive(const Storage* output, isa::Shadow shadow, Arrival arrival) {
    arrivals_[{output, shadow}] = std::move(arrival);
  }
  const Arrival* arrival(const Storage* output, isa::Shadow shadow) const {
    const auto it = arrivals_.find({output, shadow});
    return it == arrivals_.end() ? nullptr : &it->second;
  }
  bool any_arrivals() const { return !arrivals_.empty(); }

 private:
  // Of a program: the numbers of its tensors, and hashes of the places where they were declared; 0: not yet.
  struct Added {
    std::vector<isa::Shadow> by_tensor;
    std::vector<std::size_t> by_loc;
  };
  isa::Shadow number_of(const isa::Program& program, isa::TensorId tensor, Added& added);

  std::vector<Origin> known_;
  std::unordered_map<const isa::Program*, Added> added_;
  std::unordered_map<std::size_t, isa::Shadow> by_place_;
  std::map<std::pair<const isa::Program*, isa::TensorId>, isa::Shadow> placed_;
  std::map<std::pair<const Storage*, isa::Shadow>, Arrival> arrivals_;
};

// The diagnostic for an element that depends on bytes that were never written.
Diagnostic unwritten_diagnostic(const Origins& origins, isa::Shadow shadow, const Rule& rule,
                                const std::string& element, const isa::Tensor& reached, const isa::InstView& inst,
                                const char* what);

}  // namespace kiln::sim
