#include "kiln/emit/emit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "kiln/arch/arch.h"
#include "kiln/emit/access_text.h"
#include "kiln/emit/emit_rules.h"
#include "kiln/emit/kernel_text.h"
#include "kiln/emit/main_text.h"
#include "kiln/emit/merge_cores.h"
#include "kiln/emit/odd_pass.h"
#include "kiln/emit/roll.h"
#include "kiln/emit/same_statements.h"
#include "kiln/isa/table.h"
#include "kiln/isa/verify/verify.h"
#include "kiln/rewrite/allocate_registers.h"

namespace kiln::emit {
namespace {

using isa::Program;
using isa::Role;

[[noreturn]] void refuse(const Rule& rule, std::string found, SourceLoc loc = {}) {
  raise(emit_rules::kTable, rule, {.found = std::move(found), .loc = std::move(loc)});
}

bool is_argument(const isa::Tensor& t) { return t.role == Role::input || t.role == Role::inout; }

// In the source, a name begins to stand for a register at one place.
void require_one_beginning(const Program& program) {
  std::vector<int> beginnings(program.registers.size());
  for (const isa::Instruction& inst : program.instructions) {
    const isa::Facts& facts = info(inst.opcode).semantics->facts;
    if (facts.declares_register) ++beginnings[program.arg(inst, facts.sets_register).index];
  }
  for (const isa::Loop& loop : program.loops) {
    if (loop.kind == isa::Loop::Kind::dynamic_for) ++beginnings[loop.reg];
  }
  for (std::size_t i = 0; i < beginnings.size(); ++i) {
    if (beginnings[i] > 1)
      refuse(emit_rules::kRegister, fmt::format("`{}` begins at {} places", program.registers[i].name, beginnings[i]));
  }
}

void require_emittable(const Program& program) {
  if (auto found = isa::verify(program); !found.empty()) throw Error(std::move(found));
  if (program.nki != isa::kNewestNki) refuse(emit_rules::kNewest, fmt::format("it means NKI 0.{}.0", program.nki));
  for (const isa::Tensor& t : program.tensors) {
    if (is_argument(t) && t.dtype == DType::tfloat32)
      refuse(emit_rules::kDtype, fmt::format("the argument `{}` is {}", t.name, name(t.dtype)), program.locs[t.loc]);
    if (t.role != Role::internal && is_on_chip(t.memory))
      refuse(emit_rules::kWholeKernel, fmt::format("the {} `{}` in {}", name(t.role), t.name, name(t.memory)),
             program.locs[t.loc]);
  }
  require_one_beginning(program);
}

// The outline of one core, before and after rolling.
struct Core {
  const Program* program;
  std::span<const std::string> groups;
  Outline plain = {}, rolled = {};
};
const std::vector<std::string> kNoGroups;

class Emission {
 public:
  Emission(const isa::Launch& launch, const EmitOptions& options) : launch_(launch), options_(options) {
    isa::require_sound(launch);
    for (const Program* program : launch.cores()) require_emittable(*program);
    for (const Program* program : launch.cores()) programs_.push_back(rewrite::allocate_registers(*program));
  }

  std::string run() {
    outline();
    name_border();
    constants();
    signature();
    statements();
    results();
    require_same();
    if (options_.main) write_main(kernel_, arguments_, returned_, launch_.cores_per_rank, lines_);
    const std::string body = lines_.text();
    return header(body) + body;
  }

 private:
  const Program& program(int core) const { return programs_[core]; }
  bool is_pair() const { return launch_.cores_per_rank == 2; }

  void outline() {
    for (std::size_t i = 0; i < programs_.size(); ++i) {
      const Program& p = programs_[i];
      cores_.push_back({.program = &p, .groups = i < options_.groups.size() ? options_.groups[i] : kNoGroups});
      cores_.back().plain = outline_of(p, keys_, is_pair() ? 1 : 0, cores_.back().groups);
    }
    for (Core& core : cores_) core.rolled = core.plain;
    if (is_pair()) is_one_ = merge_cores(cores_[0].rolled, program(0), cores_[1].plain, program(1));
    for (int i = 0; i < (is_one_ ? 1 : 2); ++i) {
      roll_up(cores_[i].rolled, keys_, options_.roll);
      if (options_.roll) fold_odd_passes(cores_[i].rolled);
    }
  }

  // Rolling and merging may change nothing: what is written, run as Python runs it, issues every statement.
  void require_same() const {
    for (int i = 0; i < launch_.cores_per_rank; ++i) {
      const Core& written = cores_[is_one_ ? 0 : i];
      KILN_ASSERT(same_statements(written.rolled, cores_[i].plain, i, arguments_of(*written.program, program(i))));
    }
  }

  static std::vector<std::pair<Entity, Entity>> arguments_of(const Program& ours, const Program& theirs) {
    std::vector<std::pair<Entity, Entity>> out;
    for (Entity a = 0; a < ours.tensors.size(); ++a) {
      for (Entity b = 0; is_argument(ours.tensors[a]) && b < theirs.tensors.size(); ++b) {
        if (is_argument(theirs.tensors[b]) && ours.tensors[a].name == theirs.tensors[b].name) out.emplace_back(a, b);
      }
    }
    return out;
  }

  // The kernel, its arguments, its constants, its outputs and what its cores share: names that all cores have.
  void name_border() {
    kernel_ = names_.take(program(0).name);
    if (is_pair()) core_ = names_.take("core");
    std::vector<std::string> changed;  // arguments that are written
    for (int i = 0; i < launch_.cores_per_rank; ++i) {
      for (const isa::Tensor& t : program(i).tensors) {
        if (is_inside(t) || border_.contains(t.name)) continue;
        const bool is_constant = options_.constants.contains(t.name);
        border_[t.name] = names_.take(is_constant ? "constant" : t.name);
        if (is_constant) constants_.push_back(t.name);
        if (is_argument(t) && !is_constant) arguments_.push_back({border_[t.name], &t});
        if (t.role == Role::output) outputs_.push_back(t.name);
        if (t.role == Role::inout) changed.push_back(t.name);
      }
    }
    std::vector<std::string> results = outputs_;
    results.insert(results.end(), changed.begin(), changed.end());
    for (const std::string& name : options_.outputs.empty() ? results : options_.outputs) {
      if (border_.contains(name)) returned_.push_back(border_[name]);
    }
  }

  // What it is, how it was made, and what `body` imports.
  std::string header(const std::string& body) {
    const std::string code = without_strings(body);
    const auto uses = [&](std::string_view module) { return has_word(code, module); };
    SourceLines lines;
    lines.line(fmt::format("\"\"\"The kernel `{}` for {}, in NKI 0.{}.0.", printable(program(0).name),
                           arch(program(0).target).name, program(0).nki));
    lines.line();
    for (const Argument& a : arguments_) lines.line(describe(a.name, *a.tensor));
    for (const std::string& name : outputs_) lines.line(describe(border_[name], *find(name)));
    if (!arguments_.empty() || !outputs_.empty()) lines.line();
    lines.line(
        fmt::format("Written by `kiln emit`{}.", options_.origin.empty() ? "" : " from " + printable(options_.origin)));
    lines.line("\"\"\"");
    lines.line();
    if (uses("nl.fori_loop") || uses("nl.while_loop")) {
      lines.line("# Loops on registers are inner functions, which NKI 0.6.0 traces and its old parser refuses.");
      lines.line("# kiln: profile tracer");
      lines.line();
    }
    if (uses("base64.")) {
      lines.line("import base64");
      if (uses("zlib.")) lines.line("import zlib");
      lines.line();
    }
    if (uses("ml_dtypes.")) lines.line("import ml_dtypes");
    if (uses("np.")) {
      lines.line("import numpy as np");
      lines.line();
    }
    lines.line("import nki");
    if (uses("ncc.")) lines.line("import nki.collectives as ncc");
    if (uses("nisa.")) lines.line("import nki.isa as nisa");
    if (uses("nl.")) lines.line("import nki.language as nl");
    return lines.text();
  }

  // `word`, and not as the end of a longer one.
  static bool has_word(std::string_view code, std::string_view word) {
    const auto goes_on = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
    for (std::size_t at = code.find(word); at != std::string_view::npos; at = code.find(word, at + 1)) {
      if (at == 0 || !goes_on(code[at - 1])) return true;
    }
    return false;
  }

  static std::string without_strings(const std::string& text) {
    std::string out;
    bool is_quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (is_quoted && text[i] == '\\') {
        ++i;
      } else if (text[i] == '"') {
        is_quoted = !is_quoted;
      } else if (!is_quoted) {
        out += text[i];
      }
    }
    return out;
  }

  // Text that can stand in a docstring.
  static std::string printable(const std::string& text) {
    std::string out;
    for (const char c : text) {
      const bool is_plain = static_cast<unsigned char>(c) >= 0x20 && c != '\\' && c != '"' && c != 0x7f;
      out += is_plain ? c : '?';
    }
    return out;
  }

  static std::string describe(const std::string& name, const isa::Tensor& t) {
    return fmt::format("{}: {} {}{}", name, isa::name(t.role), kiln::name(t.dtype), shape_text(t.shape));
  }

  const isa::Tensor* find(const std::string& name) const {
    for (int i = 0; i < launch_.cores_per_rank; ++i) {
      for (const isa::Tensor& t : program(i).tensors) {
        if (t.name == name) return &t;
      }
    }
    return nullptr;
  }

  void constants() {
    if (constants_.empty()) return;
    lines_.line();
    for (const std::string& name : constants_) {
      arrays_.push_back(names_.take("CONSTANT"));
      lines_.line(fmt::format("{} = {}", arrays_.back(), options_.constants.at(name)));
    }
  }

  void signature() {
    lines_.line();
    lines_.line();
    lines_.line("@nki.jit");
    std::vector<std::string> names;
    for (const Argument& a : arguments_) names.push_back(a.name);
    lines_.call("def " + kernel_, names, "):");
    lines_.deeper();
    for (const Argument& a : arguments_) require(a);
    for (std::size_t i = 0; i < constants_.size(); ++i)
      lines_.line(fmt::format("{} = nl.shared_constant({})", border_[constants_[i]], arrays_[i]));
  }

  // What the kernel was made for. NKI has two words for some floats of 8 bits: those are not compared.
  void require(const Argument& a) {
    const DType dtype = a.tensor->dtype;
    const std::string shape = fmt::format("assert {}.shape == {}", a.name, shape_text(a.tensor->shape));
    const std::string is_of = fmt::format("{}.dtype == nl.{}", a.name, kiln::name(dtype));
    const bool compares = is_integer(dtype) || (!is_packed(dtype) && size_bytes(dtype) > 1);
    const bool in_one = 4 + shape.size() + 5 + is_of.size() <= kColumns;
    lines_.line(compares && in_one ? fmt::format("{} and {}", shape, is_of) : shape);
    if (compares && !in_one) lines_.line("assert " + is_of);
  }

  // Nobody but one core sees it.
  bool is_inside(const isa::Tensor& t) const { return t.role == Role::internal && !(is_pair() && isa::is_shared(t)); }

  Border border_of(const Program& p) const {
    Border border;
    for (const isa::Tensor& t : p.tensors) {
      border.names.push_back(is_inside(t) ? "" : border_.at(t.name));
    }
    return border;
  }

  void statements() {
    const std::size_t before = lines_.count();
    if (is_one_) {
      if (is_pair() && uses_core(cores_[0].rolled)) read_core();
      write(cores_[0]);
    } else {
      read_core();
      lines_.line(fmt::format("if {} == 0:", core_));
      branch(cores_[0]);
      lines_.line("else:");
      branch(cores_[1]);
    }
    if (lines_.count() == before && returned_.empty() && arguments_.empty()) lines_.line("pass");
  }

  void read_core() { lines_.line(fmt::format("{} = nl.program_id(0)", core_)); }

  // Whether a number depends on the core: its coefficient stands behind the constant.
  static bool uses_core(const Outline& outline) {
    for (const Item& item : outline.items) {
      for (std::size_t i = 1; i < item.numbers.size(); i += item.width) {
        if (item.numbers[i]) return true;
      }
    }
    return false;
  }

  void branch(const Core& core) {
    lines_.deeper();
    const std::size_t before = lines_.count();
    write(core);
    if (lines_.count() == before) lines_.line("pass");
    lines_.back();
  }

  void write(const Core& core) {
    std::vector<Variable> around;
    if (is_pair()) around.push_back({core_, 0, 1});
    write_statements({*core.program, core.rolled, core.groups}, border_of(*core.program), names_, std::move(around),
                     lines_);
  }

  void results() {
    const std::string list = fmt::format("return {}", fmt::join(returned_, ", "));
    if (!lines_.has_room(list)) {
      lines_.call("return ", returned_);  // a tuple in brackets, which may take several lines
    } else if (!returned_.empty()) {
      lines_.line(list);
    }
    lines_.back();
  }

  const isa::Launch& launch_;
  const EmitOptions& options_;
  std::vector<Program> programs_;  // by core
  Keys keys_;
  std::vector<Core> cores_;
  bool is_one_ = true;  // one text serves all cores
  Names names_;
  std::string kernel_, core_;
  std::map<std::string, std::string> border_;  // tensors that cross the border: their names in the source
  std::vector<std::string> constants_;         // of those
  std::vector<std::string> arrays_;            // by constant: the name of its array
  std::vector<Argument> arguments_;
  std::vector<std::string> outputs_, returned_;
  SourceLines lines_;
};

}  // namespace

std::string emit(const isa::Launch& launch, const EmitOptions& options) { return Emission(launch, options).run(); }

}  // namespace kiln::emit
