// The instruction table at run time: what instructions.def says, plus each instruction's meaning. Printer,
// parser, Python functions, manual pages, listings and completeness tests walk this; nothing types it again.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/arch/arch.h"
#include "kiln/base/dtype.h"
#include "kiln/base/rule.h"
#include "kiln/isa/facts.h"
#include "kiln/isa/opcode.h"

namespace kiln::isa {

enum class ParamKind : std::uint8_t { out, inout, opt_out, outs, in, ins, scalar_or_in, opt_scalar_or_in, attribute };

// Types of attributes. The enumerations carry their members in `enum_members`.
enum class AttrType : std::uint8_t {
  AluOp,
  ActFn,
  Engine,
  ReduceCmd,
  DgeMode,
  OobMode,
  MatmulPerfMode,
  DmaEngine,
  Bool,
  Int,
  Float,
  Number,
  OptBool,
  OptAlu,
  OptInt,
  Ints,
  Floats,
  Pattern,
  Groups,
  Reg,
  IntOrReg
};
std::span<const std::string_view> enum_members(AttrType type);  // empty when the type is no enumeration

struct ParamInfo {
  std::string_view name;
  ParamKind kind;
  AttrType type{};            // attributes
  std::uint8_t memories = 0;  // bit per Memory; tiles
  std::uint32_t dtypes = 0;   // bit per DType; tiles
  bool indirect = false;      // may be a gathered or scattered view
  bool sink = false;          // values decide which elements are touched
  bool own_start = false;     // its first partition is a matter of the instruction's own rules
  bool required = true;
  std::string_view memories_text, dtypes_text, default_text, type_text;

  bool is_tile() const { return kind != ParamKind::attribute; }
  bool is_list() const { return kind == ParamKind::ins || kind == ParamKind::outs; }
  bool is_output() const { return kind == ParamKind::inout || is_only_written(); }
  bool is_only_written() const {
    return kind == ParamKind::out || kind == ParamKind::opt_out || kind == ParamKind::outs;
  }
  bool is_input() const { return is_tile() && !is_only_written(); }
  bool allows(Memory m) const { return memories >> static_cast<int>(m) & 1; }
  bool allows(DType t) const { return dtypes >> static_cast<int>(t) & 1; }
};

class Check;
class Run;
class Track;
class CostQuery;
class InstView;
struct Cost;

// The meaning of an instruction: one of these per file isa/instructions/<name>.cpp.
struct Semantics {
  std::span<const Rule> rules;
  const char* description;  // semantics for the manual, in formulas
  Engine (*engine)(const InstView&,
                   const Arch&);  // null: the attribute `engine`, else the row's first engine
  void (*check)(Check&);
  void (*run)(Run&);
  Cost (*cost)(const CostQuery&);
  void (*track)(Track&);                         // which outputs depend on which inputs, for bytes never written
  const char* cost_text;                         // the formula for the manual
  unsigned (*state)(const InstView&) = nullptr;  // hidden engine state it touches (StateBit); null: none
  Facts facts = {};
};

struct InstructionInfo {
  std::string_view name;
  std::string_view title;  // "instruction nc_matmul"
  std::string_view group;
  std::vector<Engine> engines;
  int first_generation;
  std::string_view summary;
  std::vector<ParamInfo> params;
  const Semantics* semantics;
  int engine_param = -1;  // position of the attribute `engine`
  int group_param = -1;   // and of one that is a ReplicaGroup in Python
  int result = -1;        // position of the first tile that it writes

  bool is_query() const { return group == "query"; }
  bool is_register() const {
    return group == "register" || group == "rank";
  }  // executed by the sequencer that issues it
  bool is_of_ranks() const { return group == "collective" || group == "rank"; }  // a function of nki.collectives
  int find_param(std::string_view param) const;  // for whoever reads names that a user wrote; -1 when there is none
  int find_param(AttrType type) const;           // the first attribute of a type
  RuleTable rules() const { return {.prefix = name, .origin = title, .rules = semantics->rules, .has_marks = true}; }
};

extern const InstructionInfo* const kInstructionRows;
inline const InstructionInfo& info(Opcode opcode) { return kInstructionRows[static_cast<int>(opcode)]; }
std::span<const InstructionInfo> all_instructions();
bool parse_opcode(std::string_view name, Opcode& out);

// The vendor's signature, e.g. "tensor_copy(dst, src, engine=engine.unknown, name=None)".
std::string signature(const InstructionInfo& instruction);

// Parameter positions by name: args::nc_matmul::dst and so on, in step with the table.
namespace args {
#define KILN_INSTRUCTION(name, ...) \
  namespace name {                  \
  enum : int {
#define KILN_OUT(param, ...) param,
#define KILN_INOUT(param, ...) param,
#define KILN_OPT_OUT(param, ...) param,
#define KILN_IN(param, ...) param,
#define KILN_INS(param, ...) param,
#define KILN_OUTS(param, ...) param,
#define KILN_SCALAR_OR_IN(param, ...) param,
#define KILN_OPT_SCALAR_OR_IN(param, ...) param,
#define KILN_ARG(param, ...) param,
#define KILN_DEFAULT(param, ...) param,
#define KILN_END(name) \
  kCount               \
  }                    \
  ;                    \
  }
#include "kiln/isa/instructions.def"
#include "kiln/isa/undef_instruction_macros.h"
}  // namespace args

}  // namespace kiln::isa
