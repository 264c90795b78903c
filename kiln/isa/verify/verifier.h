// The verifier behind verify(): one walk that lays the program out, then one check per thing.
#pragma once

#include <string>
#include <vector>

#include "kiln/isa/program.h"
#include "kiln/isa/table.h"
#include "kiln/isa/verify/program_rules.h"
#include "kiln/isa/verify/verify.h"

namespace kiln::isa {

inline constexpr LoopId kUnseen = kNone - 1;  // no loop has this number

// Where something stands: its place in program order and the innermost loop around it.
struct Site {
  std::uint32_t order = kNone;
  LoopId loop = kNone;
};

class Verifier {
 public:
  Verifier(const Program& program, const Arch& arch) : program_(program), arch_(arch) {}
  std::vector<Diagnostic> run();

 private:
  // verify_indices.cpp: R1
  bool indices();
  bool block_indices(const Block& block);
  bool instruction_indices(const Instruction& inst);
  bool arg_indices(const Arg& a);
  bool access_indices(const Access& a);
  bool loop_indices(const Loop& loop);

  // verify_layout.cpp: where everything stands
  bool lay_out();
  void lay_out(const Block& block, LoopId loop, int depth);
  void place(std::vector<Site>& sites, const Node& node, LoopId loop, const char* what);
  bool encloses(LoopId outer, LoopId inner) const;  // kNone is the program's body
  bool in_dynamic_loops_of(LoopId producer, LoopId consumer) const;

  // verify.cpp: declarations, loops, instructions
  void names();
  void tensor(TensorId id);
  void loop(LoopId id);
  void instruction(InstructionId id);
  void argument(const ParamInfo& param, const Arg& a);
  void dependencies(InstructionId id);
  void outputs();

  // verify_access.cpp: accesses
  void access(const Access& a, bool written);
  void access_shape(const Access& a);
  void access_scope(const Access& a);
  bool access_pattern(const Access& a);
  bool access_terms(const Affine& affine);
  bool small_parts(const Access& a) const;
  void access_dynamic(const Access& a);
  void access_bounds(const Access& a);
  void access_partitions(const Access& a);

  bool full() const;
  void report(const Rule& rule, LocId loc, std::string context, std::string found, std::string allowed = "",
              std::string operand = "");
  // At the current instruction.
  void report_here(const Rule& rule, std::string found, std::string allowed = "", std::string_view operand = "");

  const Program& program_;
  const Arch& arch_;
  std::vector<Diagnostic> out_;
  std::vector<Site> instructions_, tensors_, loops_;
  std::vector<bool> written_;
  std::vector<LoopId> sound_in_;  // accesses found sound, and in which loop; kUnseen before
  std::uint32_t order_ = 0;
  const Instruction* inst_ = nullptr;
  InstructionId inst_id_ = kNone;
  std::string context_;  // of the current instruction, made on demand
};

}  // namespace kiln::isa
