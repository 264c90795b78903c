#include "kiln/isa/verify/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <unordered_map>

#include "kiln/isa/text/print.h"
#include "kiln/isa/text/text_limits.h"
#include "kiln/isa/verify/verifier.h"

namespace kiln::isa {
namespace {

constexpr std::size_t kMaxDiagnostics = 100;
constexpr std::size_t kMaxText = 400;

constexpr const char* kKindNames[] = {"nothing",         "a tile",    "a list of tiles", "an integer",
                                      "a real",          "a boolean", "an enumerator",   "a list of integers",
                                      "a list of reals", "a register"};

bool is_one_of(Arg::Kind kind, std::initializer_list<Arg::Kind> kinds) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

// Whether a value that is given suits a tile parameter.
bool suits_tile(ParamKind param, Arg::Kind kind) {
  using enum Arg::Kind;
  switch (param) {
    case ParamKind::ins:
    case ParamKind::outs:
      return kind == accesses;
    case ParamKind::scalar_or_in:
    case ParamKind::opt_scalar_or_in:
      return is_one_of(kind, {access, integer, real});
    default:
      return kind == access;
  }
}

bool suits_attribute(const ParamInfo& param, const Arg& a) {
  using enum Arg::Kind;
  const auto members = enum_members(param.type);
  if (!members.empty()) {
    return a.kind == enumerator && a.integer >= 0 && a.integer < static_cast<std::int64_t>(members.size());
  }
  switch (param.type) {
    case AttrType::Bool:
    case AttrType::OptBool:
      return a.kind == boolean;
    case AttrType::Float:
      return a.kind == real;
    case AttrType::Number:
      return is_one_of(a.kind, {integer, real});
    case AttrType::Ints:
    case AttrType::Groups:
      return a.kind == integers;
    case AttrType::Pattern:
      return a.kind == integers && a.count % 2 == 0;
    case AttrType::Floats:
      return a.kind == reals;
    case AttrType::Reg:
      return a.kind == reg;
    case AttrType::IntOrReg:
      return is_one_of(a.kind, {integer, reg});
    default:
      return a.kind == integer;
  }
}

std::string wanted(const ParamInfo& param) {
  if (!param.is_tile()) return std::string(param.type_text);
  const bool scalar = param.kind == ParamKind::scalar_or_in || param.kind == ParamKind::opt_scalar_or_in;
  return param.is_list() ? "a list of tiles" : scalar ? "a number or a tile" : "a tile";
}

// Whether leaving the value out means something of its own, rather than the default.
bool may_be_none(const ParamInfo& param) { return !param.required && (param.is_tile() || param.default_text == "{}"); }

}  // namespace

std::vector<Diagnostic> verify(const Program& program, const Arch& arch) { return Verifier(program, arch).run(); }
std::vector<Diagnostic> verify(const Program& program) { return verify(program, arch(program.target)); }

bool Verifier::full() const { return out_.size() >= kMaxDiagnostics; }

void Verifier::report(const Rule& rule, LocId loc, std::string context, std::string found, std::string allowed,
                      std::string operand) {
  if (full()) return;
  out_.push_back(broken(program_rules::kTable, rule,
                        {.found = std::move(found),
                         .allowed = std::move(allowed),
                         .loc = loc < program_.locs.size() ? program_.locs[loc] : SourceLoc{},
                         .context = std::move(context),
                         .operand = std::move(operand)}));
}

void Verifier::report_here(const Rule& rule, std::string found, std::string allowed, std::string_view operand) {
  if (context_.empty()) {
    context_ = print(program_, *inst_);
    if (context_.size() > kMaxText) context_ = context_.substr(0, kMaxText) + " ...";
  }
  report(rule, inst_->loc, context_, std::move(found), std::move(allowed), std::string(operand));
}

std::vector<Diagnostic> Verifier::run() {
  if (!indices() || !lay_out()) return std::move(out_);
  written_.assign(program_.tensors.size(), false);
  sound_in_.assign(program_.accesses.size(), kUnseen);
  if (program_.lnc < 1 || program_.lnc > (arch_.features.lnc2 ? 2 : 1)) {
    report(program_rules::kLnc, 0, program_.name, fmt::format("lnc {} on {}", program_.lnc, arch_.name));
  }
  names();
  for (TensorId i = 0; i < program_.tensors.size(); ++i) tensor(i);
  for (LoopId i = 0; i < program_.loops.size(); ++i) loop(i);
  // Bounds of accesses mean nothing while tensors or loops are wrong.
  if (!out_.empty()) return std::move(out_);
  for (InstructionId i = 0; i < program_.instructions.size() && !full(); ++i) instruction(i);
  outputs();
  return std::move(out_);
}

void Verifier::names() {
  // There may be a tensor for each instruction, so the table has their numbers only.
  std::vector<TensorId> table(std::bit_ceil(2 * program_.tensors.size() + 1), kNone);
  for (TensorId id = 0; id < program_.tensors.size(); ++id) {
    const Tensor& t = program_.tensors[id];
    std::size_t at = std::hash<std::string_view>()(t.name) % table.size();
    while (table[at] != kNone && program_.tensors[table[at]].name != t.name) at = (at + 1) % table.size();
    const bool fresh = table[at] == kNone;
    if (fresh) table[at] = id;
    if (fresh && !t.name.empty()) continue;
    report(program_rules::kNames, t.loc, t.name,
           t.name.empty() ? "a tensor without a name" : "two tensors of this name");
    if (!fresh && !full())
      out_.back().notes.push_back({"the first one", program_.locs[program_.tensors[table[at]].loc]});
  }
  std::unordered_map<std::string_view, int> registers;
  for (const Register& r : program_.registers) {
    if (!r.name.empty() && registers[r.name]++ == 0) continue;
    report(program_rules::kNames, 0, r.name,
           r.name.empty() ? "a register without a name" : "two registers of this name");
  }
}

void Verifier::tensor(TensorId id) {
  const Tensor& t = program_.tensors[id];
  const bool on_chip = is_on_chip(t.memory);
  std::int64_t size = 1;
  bool sound = static_cast<int>(t.shape.size()) <= max_rank(on_chip) && t.shape.size() >= (on_chip ? 2 : 1);
  for (const std::int64_t d : t.shape) {
    sound = sound && d > 0 && !__builtin_mul_overflow(size, d, &size) && size <= kMaxTensorSize;
  }
  if (!sound) {
    report(program_rules::kShape, t.loc, t.name,
           fmt::format("{} tensor [{}]", name(t.memory), fmt::join(t.shape, ", ")));
  }
  if (t.role == Role::internal) return;
  if (on_chip && !program_.fragment) {
    report(program_rules::kIoMemory, t.loc, t.name, fmt::format("{} in {}", name(t.role), name(t.memory)));
  }
  if (tensors_[id].loop != kNone) {
    report(program_rules::kIoScope, t.loc, t.name, fmt::format("{} declared inside a loop", name(t.role)));
  }
}

void Verifier::loop(LoopId id) {
  const Loop& loop = program_.loops[id];
  const bool is_static = loop.kind == Loop::Kind::static_for;
  if (!is_static && loop.reg == kNone) report(program_rules::kLoopRegister, loop.loc, loop.variable, "no register");
  if (loop.usual != Loop::kUnsaid && (is_static || loop.usual < 0 || loop.usual > kMaxLoopBound))
    report(program_rules::kLoop, loop.loc, loop.variable, fmt::format("usually {}", loop.usual));
  if (loop.kind == Loop::Kind::dynamic_while) return;
  if (loop.step <= 0 || loop.step > kMaxLoopBound) {
    report(program_rules::kLoop, loop.loc, loop.variable, fmt::format("step {}", loop.step));
  }
  for (const Bound& b : {loop.lower, loop.upper}) {
    if (b.is_register && is_static) {
      report(program_rules::kLoop, loop.loc, loop.variable, "a register as bound of a static loop");
    } else if (!b.is_register && (b.value > kMaxLoopBound || b.value < -kMaxLoopBound)) {
      report(program_rules::kLoop, loop.loc, loop.variable, fmt::format("bound {}", b.value));
    }
  }
}

void Verifier::instruction(InstructionId id) {
  inst_ = &program_.instructions[id];
  inst_id_ = id;
  context_.clear();
  const InstructionInfo& row = info(inst_->opcode);
  if (row.is_query()) return report_here(program_rules::kQuery, std::string(row.name));
  for (std::size_t p = 0; p < row.params.size(); ++p) {
    argument(row.params[p], program_.arg(*inst_, static_cast<int>(p)));
  }
  dependencies(id);
}

void Verifier::argument(const ParamInfo& param, const Arg& a) {
  if (a.kind == Arg::Kind::none) {
    if (param.required) {
      report_here(program_rules::kRequired, fmt::format("no `{}`", param.name), "", param.name);
    } else if (!may_be_none(param)) {
      report_here(program_rules::kKind, fmt::format("nothing for `{}`", param.name), wanted(param), param.name);
    }
    return;
  }
  if (param.is_tile() ? !suits_tile(param.kind, a.kind) : !suits_attribute(param, a)) {
    const char* kind = kKindNames[static_cast<int>(a.kind)];
    return report_here(program_rules::kKind, fmt::format("{} for `{}`", kind, param.name), wanted(param), param.name);
  }
  if (a.kind == Arg::Kind::access) access(program_.accesses[a.index], param.is_output());
  if (a.kind == Arg::Kind::accesses) {
    for (std::uint32_t i = 0; i < a.count && !full(); ++i) access(program_.accesses[a.index + i], param.is_output());
  }
  // The one way to write a register is an attribute called dst.
  if (a.kind == Arg::Kind::reg && param.name == "dst" && program_.registers[a.index].frozen) {
    report_here(program_rules::kFrozen, fmt::format("register {}", program_.registers[a.index].name));
  }
}

void Verifier::dependencies(InstructionId id) {
  for (std::uint32_t i = 0; i < inst_->dep_count; ++i) {
    const InstructionId producer = program_.deps[inst_->first_dep + i];
    const auto text = [&] { return print(program_, program_.instructions[producer]).substr(0, kMaxText); };
    if (instructions_[producer].order >= instructions_[id].order) {
      report_here(program_rules::kEarlier, text());
    } else if (!in_dynamic_loops_of(instructions_[producer].loop, instructions_[id].loop)) {
      report_here(program_rules::kInward, text());
    }
  }
}

void Verifier::outputs() {
  for (TensorId i = 0; i < program_.tensors.size(); ++i) {
    const Tensor& t = program_.tensors[i];
    // In a pair the other core may be the one that writes.
    const bool elsewhere = program_.lnc == 2 && t.memory == Memory::shared_hbm;
    if (t.role == Role::output && !written_[i] && !elsewhere)
      report(program_rules::kOutput, t.loc, t.name, "no instruction writes it");
  }
}

}  // namespace kiln::isa
