// Trace: one run of a kernel's Python, as the Program it issues. Tensors and registers of Python are views
// and numbers of this program.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "kiln/arch/arch.h"
#include "kiln/isa/builder/builder.h"
#include "kiln/isa/semantics/operand_rules.h"
#include "kiln/rewrite/probe.h"
#include "python/src/location.h"

namespace kiln::python {

class Trace;
using TraceRef = std::shared_ptr<Trace>;

// NkiTensor of Python: a view, and the trace it belongs to.
struct Tensor {
  TraceRef trace;
  isa::View view;
  bool outside = false;  // reaches beyond its storage: may be made, not used
  int empty_dim = -1;    // sliced to nothing: may be made, not used; `view` has one element there
  std::shared_ptr<const isa::View> under_ap = {};  // of what .ap made: the view it was called on
};

// VirtualRegister of Python.
struct Register {
  TraceRef trace;
  isa::RegisterId id;
};

// NkiInstruction of Python.
struct Instruction {
  TraceRef trace;
  isa::InstructionId id;
};

class Trace : public std::enable_shared_from_this<Trace> {
 public:
  Trace(std::string name, Target target, int lnc, int program_id, std::int64_t max_instructions);
  ~Trace();

  isa::Kernel kernel;
  const Arch& arch;
  const int lnc, program_id;

  Tensor tensor(Memory memory, isa::Role role, isa::Shape shape, DType dtype, std::string name,
                std::optional<isa::Address> address);
  // The place that is running now; statements that follow stand there.
  isa::LocId here();
  // What stands between the last begin() of the kernel and here is an instruction: checks its rules and keeps
  // it, or throws and takes it back.
  Instruction issue(std::string name);
  std::string unique_name(const std::string& base);
  // Marks this point of the program; returns the number of the probe.
  std::size_t add_probe(const Tensor& tensor);
  const std::vector<rewrite::Probe>& probes() const { return probes_; }
  // The instruction that wrote a tensor last; kNone when none has.
  isa::InstructionId last_writer(isa::TensorId tensor);
  // Kernel.with_schedule: instructions named `consumer` run after those named in `producers`.
  void schedule(const std::string& consumer, const std::vector<std::string>& producers);

  // How many instructions each place has issued: its line, and its callers as SourceLoc has them.
  std::vector<std::pair<SourceLoc, std::int64_t>> places() const;

  // Instructions issued inside nl.no_reorder() are ordered one after the other.
  void enter_no_reorder() { ++no_reorder_; }
  void leave_no_reorder() {
    if (--no_reorder_ == 0) last_ordered_.reset();
  }
  bool in_no_reorder() const { return no_reorder_ > 0; }

 private:
  void check_rank(const isa::Instruction& inst);
  bool was_made(const std::string& name) const;
  std::vector<isa::InstructionId> named(const std::string& name) const;

  Locator locator_;
  std::unordered_map<std::string, int> names_;
  int no_reorder_ = 0;
  std::optional<isa::InstructionId> last_ordered_;
  std::int64_t max_instructions_;
  std::vector<Diagnostic> found_;
  isa::SoundFor sound_;
  std::vector<rewrite::Probe> probes_;
  std::vector<isa::InstructionId> last_writers_;  // by tensor, of the instructions before looked_at_
  isa::InstructionId looked_at_ = 0;
};

// The trace that runs on this thread; throws when there is none.
Trace& current_trace(const char* what);
Trace* current_trace_or_null();

// Throws when a view reaches beyond its storage, or has no elements.
void check_inside(const Tensor& tensor);

// Throws when a tensor or register belongs to another kernel run.
void check_owner(const Trace& trace, const Trace* owner, const char* what);

}  // namespace kiln::python
