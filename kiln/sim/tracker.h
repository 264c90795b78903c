// The tracker: isa::Track over the storages of a core. Runs in program order on the issuing thread.
#pragma once

#include <array>
#include <map>
#include <unordered_map>
#include <vector>

#include "kiln/isa/semantics/run.h"
#include "kiln/isa/semantics/track.h"
#include "kiln/sim/storage.h"

namespace kiln::sim {

// Where bytes that were never written come from, on all cores of a run, and which instruction brought what
// depends on them into an output. When there are many tensors, those of one source line share a number; the
// last number stands for every origin that has none.
class Origins {
 public:
  isa::Shadow add(const isa::Program& program, isa::TensorId tensor);
  // What bytes of placed tensors start with: windows may lie over each other, so only a read tells whose
  // bytes they are.
  static isa::Shadow unread();
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
  };
  void arrive(const Storage* output, isa::Shadow shadow, Arrival arrival) { arrivals_[{output, shadow}] = arrival; }
  const Arrival* arrival(const Storage* output, isa::Shadow shadow) const {
    const auto it = arrivals_.find({output, shadow});
    return it == arrivals_.end() ? nullptr : &it->second;
  }
  bool any_arrivals() const { return !arrivals_.empty(); }

 private:
  std::vector<Origin> known_;
  std::unordered_map<std::size_t, isa::Shadow> by_place_;
  std::map<std::pair<const isa::Program*, isa::TensorId>, isa::Shadow> placed_;
  std::map<std::pair<const Storage*, isa::Shadow>, Arrival> arrivals_;
};

// The diagnostic for an element that depends on bytes that were never written.
Diagnostic unwritten_diagnostic(const Origins& origins, isa::Shadow shadow, const Rule& rule,
                                const std::string& element, const isa::Tensor& reached, const isa::InstView& inst,
                                const char* what);

// What engines hold between instructions, as far as the tracker cares.
struct TrackedState {
  std::array<isa::TrackedLane, kMaxPartitions> act_registers, vector_accumulators;
};

// A resolved operand as the tracker sees it.
struct TrackedOperand {
  int param;
  const isa::Access* access;
  Storage* storage;
  isa::Tile tile;  // addresses relative to the storage's data
};

// The rectangle of its storage that an operand lies in.
Region region_of(const TrackedOperand& operand);

// The index of an element in the view, as text; elements count in row-major order.
std::string index_text(const isa::Access& access, std::int64_t element);

class Tracker final : public isa::Track {
 public:
  Tracker(const isa::Program& program, const isa::Instruction& inst, const Arch& arch, Origins& origins,
          TrackedState& state, std::vector<TrackedOperand>& operands, isa::WarningSink& warnings)
      : Track(program, inst, arch), origins_(origins), state_(state), operands_(operands), warnings_(warnings) {}

  bool is_clean(int param) override;
  std::vector<isa::Shadow> read(int param) override;
  void write(int param, const std::vector<isa::Shadow>& shadow) override;
  void write_clean(int param) override;
  void write_where(int param, const std::vector<isa::Shadow>& shadow, const std::vector<std::uint8_t>& where) override;
  void mark_padding(int param, const std::vector<std::uint8_t>& where) override;
  std::vector<std::uint8_t> skipped_rows(int param) override;
  void check_offsets(int param, std::int64_t group, std::int64_t count) override;
  std::vector<std::uint32_t> bits(int param) override;
  std::vector<std::uint8_t> psum_state(int param) override;
  int uniform_psum_state(int param) override;
  void mark_matmul(int param) override;
  void set_psum_mode(isa::PsumMode mode, std::vector<std::uint8_t> add) override;
  isa::TrackedLane* lanes(unsigned state_bit, int param) override;
  [[noreturn]] void fail(const Rule& rule, std::string found) override;
  void warn(const Rule& rule, std::string found) override;

  // An index, predicate or register source must not hold bytes that were never written.
  void check_sinks();
  void check_sink(const TrackedOperand& operand, const char* what);
  void check_offsets(const TrackedOperand& operand, std::int64_t group, std::int64_t count);

  std::int64_t sequence = 0;   // of the instruction
  TaskQueue* queue = nullptr;  // whose tasks `bits` waits for
  bool saw_unwritten = false;  // an operand that was asked about has bytes that were never written
  isa::PsumMode psum_mode = isa::PsumMode::overwrite;
  std::shared_ptr<std::vector<std::uint8_t>> psum_add;

 private:
  TrackedOperand& operand(int param);
  // Of an element that is read: the first byte of it that was never written.
  isa::Shadow shadow_of(const TrackedOperand& o, std::int64_t begin, std::int64_t end) const {
    return origins_.read_through(o.storage->shadow.first_nonzero(begin, end), program(), o.access->tensor);
  }
  [[noreturn]] void report(const TrackedOperand& o, isa::Shadow shadow, std::int64_t element, const Rule& rule,
                           const char* what);

  Origins& origins_;
  TrackedState& state_;
  std::vector<TrackedOperand>& operands_;
  isa::WarningSink& warnings_;
};

}  // namespace kiln::sim
