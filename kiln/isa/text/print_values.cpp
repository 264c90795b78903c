#include "kiln/isa/text/print_values.h"

#include <algorithm>

#include "kiln/isa/default_arg.h"
#include "kiln/isa/text/append.h"
#include "kiln/isa/text/text_limits.h"
#include "kiln/isa/text/text_words.h"

namespace kiln::isa {
namespace {

// Like comparing with whole(), but safe for tensors whose size overflows.
bool is_whole(const Program& program, const Access& a) {
  const Tensor& t = program.tensors[a.tensor];
  if (a.dynamic != kNone || a.dtype != t.dtype || a.rank != t.shape.size()) return false;
  if (a.offset.constant || a.offset.term_count || a.partition.constant || a.partition.term_count) return false;
  std::int64_t stride = 1;
  for (int i = a.rank - 1; i >= 0; --i) {
    if (a.dims[i] != Dim{i == 0 && is_on_chip(t.memory) ? 1 : stride, t.shape[i]}) return false;
    if (__builtin_mul_overflow(stride, t.shape[i], &stride)) return false;
  }
  return true;
}

std::uint64_t magnitude(std::int64_t value) {
  return value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
}

}  // namespace

std::string ValuePrinter::loop_name(LoopId loop) const {
  if (loop < loop_names_.size()) return name_text(loop_names_[loop]);
  return loop < program_.loops.size() ? name_text(program_.loops[loop].variable) : fmt::format("?loop{}", loop);
}

std::string ValuePrinter::tensor_name(TensorId tensor) const {
  return tensor < program_.tensors.size() ? name_text(program_.tensors[tensor].name) : fmt::format("?tensor{}", tensor);
}

std::string ValuePrinter::register_name(std::int64_t reg) const {
  const bool known = reg >= 0 && reg < static_cast<std::int64_t>(program_.registers.size());
  return known ? name_text(program_.registers[reg].name) : fmt::format("?register{}", reg);
}

void ValuePrinter::affine(std::string& out, const Affine& a) const {
  bool first = true;
  const auto sign = [&](std::int64_t value) {
    out += first ? (value < 0 ? "-" : "") : (value < 0 ? " - " : " + ");
    first = false;
  };
  for (const Term& term : program_.terms_of(a)) {
    sign(term.coefficient);
    if (magnitude(term.coefficient) != 1) append(out, "{}*", magnitude(term.coefficient));
    out += loop_name(term.loop);
  }
  if (a.constant == 0 && !first) return;
  sign(a.constant);
  append(out, "{}", magnitude(a.constant));
}

void ValuePrinter::dims(std::string& out, const Access& a, int first) const {
  out += '[';
  for (int i = first; i < std::min<int>(a.rank, kMaxRank); ++i) {
    append(out, "{}[{}, {}]", i > first ? ", " : "", a.dims[i].stride, a.dims[i].count);
  }
  out += ']';
}

void ValuePrinter::dynamic(std::string& out, const Access& a, int depth) const {
  const Dynamic& d = program_.dynamics[a.dynamic];
  constexpr const char* kWords[] = {"scalar_offset", "scalar_offset", "vector_offset", "indirect"};
  append(out, ", {}=", kWords[static_cast<int>(d.kind)]);
  if (d.kind == Dynamic::Kind::scalar_register) {
    out += register_name(d.source);
  } else if (d.source < program_.accesses.size() && depth < kMaxDepth) {
    access(out, program_.accesses[d.source], depth + 1, d.kind == Dynamic::Kind::scalar_tile);
  } else {
    append(out, "?access{}", d.source);
  }
  if (d.scale != 1) append(out, ", scale={}", d.scale);
}

void ValuePrinter::access(std::string& out, const Access& a, int depth, bool spell_out) const {
  out += tensor_name(a.tensor);
  if (a.tensor >= program_.tensors.size() || (!spell_out && is_whole(program_, a))) return;
  const Tensor& t = program_.tensors[a.tensor];
  out += ".ap(";
  const bool on_chip = is_on_chip(t.memory) && a.rank > 0;
  if (on_chip) {
    affine(out, a.partition);
    append(out, ":{}", a.dims[0].count);
    if (a.dims[0].stride != 1) append(out, ":{}", a.dims[0].stride);
    out += ", ";
  }
  dims(out, a, on_chip ? 1 : 0);
  if (a.offset.constant || a.offset.term_count) {
    out += ", offset=";
    affine(out, a.offset);
  }
  if (a.dtype != t.dtype) append(out, ", dtype={}", name(a.dtype));
  if (a.dynamic < program_.dynamics.size()) dynamic(out, a, depth);
  out += ')';
}

void ValuePrinter::accesses(std::string& out, const Arg& a) const {
  out += '[';
  for (std::uint32_t i = 0; i < a.count; ++i) {
    if (i) out += ", ";
    access(out, program_.accesses[a.index + i]);
  }
  out += ']';
}

void ValuePrinter::integers(std::string& out, const Arg& a) const {
  out += '[';
  for (std::uint32_t i = 0; i < a.count; ++i) append(out, "{}{}", i ? ", " : "", program_.integers[a.index + i]);
  out += ']';
}

void ValuePrinter::pattern(std::string& out, const Arg& a) const {
  out += '[';
  for (std::uint32_t i = 0; i < a.count; i += 2) {
    append(out, "{}[{}", i ? ", " : "", program_.integers[a.index + i]);
    if (i + 1 < a.count) append(out, ", {}", program_.integers[a.index + i + 1]);
    out += ']';
  }
  out += ']';
}

// As far as the lengths that stand before the lists fit: a program that does not verify is printed too.
void ValuePrinter::groups(std::string& out, const Arg& a) const {
  out += '[';
  for (std::uint32_t i = 0; i < a.count;) {
    const std::int64_t length = std::clamp<std::int64_t>(program_.integers[a.index + i], 0, a.count - i - 1);
    append(out, "{}[", i ? ", " : "");
    for (std::int64_t k = 0; k < length; ++k)
      append(out, "{}{}", k ? ", " : "", program_.integers[a.index + i + 1 + k]);
    out += ']';
    i += 1 + static_cast<std::uint32_t>(length);
  }
  out += ']';
}

void ValuePrinter::reals(std::string& out, const Arg& a) const {
  out += '[';
  for (std::uint32_t i = 0; i < a.count; ++i) {
    append(out, "{}{}", i ? ", " : "", real_text(program_.reals[a.index + i]));
  }
  out += ']';
}

void ValuePrinter::arg(std::string& out, const ParamInfo& param, const Arg& a) const {
  const auto members = param.is_tile() ? std::span<const std::string_view>{} : enum_members(param.type);
  switch (a.kind) {
    case Arg::Kind::none:
      out += "none";
      break;
    case Arg::Kind::access:
      access(out, program_.accesses[a.index]);
      break;
    case Arg::Kind::accesses:
      accesses(out, a);
      break;
    case Arg::Kind::integer:
      append(out, "{}", a.integer);
      break;
    case Arg::Kind::real:
      out += real_text(a.real);
      break;
    case Arg::Kind::boolean:
      out += a.integer ? "true" : "false";
      break;
    case Arg::Kind::enumerator:
      if (a.integer >= 0 && a.integer < static_cast<std::int64_t>(members.size())) {
        out += members[a.integer];
      } else {
        append(out, "?member{}", a.integer);
      }
      break;
    case Arg::Kind::integers:
      if (!param.is_tile() && param.type == AttrType::Pattern) {
        pattern(out, a);
      } else if (!param.is_tile() && param.type == AttrType::Groups) {
        groups(out, a);
      } else {
        integers(out, a);
      }
      break;
    case Arg::Kind::reals:
      reals(out, a);
      break;
    case Arg::Kind::reg:
      out += register_name(a.index);
      break;
  }
}

void ValuePrinter::call(std::string& out, const Instruction& instruction) const {
  const InstructionInfo& row = info(instruction.opcode);
  const auto defaults = default_args(instruction.opcode);
  append(out, "{}(", row.name);
  bool first = true;
  for (std::size_t i = 0; i < row.params.size(); ++i) {
    const Arg& a = program_.arg(instruction, static_cast<int>(i));
    const bool empty = (a.kind == Arg::Kind::integers || a.kind == Arg::Kind::reals) && a.count == 0;
    if (empty || same_scalar(a, defaults[i])) continue;
    append(out, "{}{}=", first ? "" : ", ", row.params[i].name);
    first = false;
    arg(out, row.params[i], a);
  }
  out += ')';
  if (instruction.name < program_.strings.size()) {
    append(out, " name={}", string_text(program_.strings[instruction.name]));
  }
}

}  // namespace kiln::isa
