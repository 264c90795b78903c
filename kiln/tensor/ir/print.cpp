#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <cmath>
#include <set>
#include <sstream>

#include "kiln/isa/text/print.h"
#include "kiln/tensor/ir/text.h"

namespace kiln::tensor {
namespace {

std::string number_text(double x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x < 0 ? "-inf" : "inf";
  std::string out = fmt::format("{}", x);
  return out.find_first_of(".en") == std::string::npos ? out + ".0" : out;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

struct AttrText {
  std::string operator()(const Ints& v) const { return to_string(v); }
  std::string operator()(std::int64_t v) const { return std::to_string(v); }
  std::string operator()(double v) const { return number_text(v); }
  std::string operator()(bool v) const { return v ? "true" : "false"; }
  std::string operator()(DType v) const { return std::string(name(v)); }
  std::string operator()(const std::string& v) const { return quoted(v); }
};

bool is_word(const std::string& text) {
  if (text.empty() || (std::isalpha(static_cast<unsigned char>(text[0])) == 0 && text[0] != '_')) return false;
  for (char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_') return false;
  }
  return true;
}

// Inputs are called what they are called; everything else v and its number.
std::vector<std::string> names_of(const Graph& graph) {
  std::vector<std::string> out;
  for (Value v = 0; v < graph.size(); ++v) {
    const Op& op = graph.op(v);
    const bool named = op.code == OpCode::input && is_word(op.text("name")) && op.text("name")[0] != 'v';
    out.push_back(named ? op.text("name") : fmt::format("v{}", v));
  }
  return out;
}

// A kernel, line by line.
std::string kernel_text(const isa::Program& program) {
  std::string out;
  std::istringstream lines(isa::print(program));
  for (std::string line; std::getline(lines, line);) out += (out.empty() ? "" : ", ") + quoted(line);
  return out;
}

// 128 bits that hang on every bit of the numbers.
std::string digest(const std::vector<double>& numbers) {
  std::uint64_t a = 0xcbf29ce484222325u, b = 0x9e3779b97f4a7c15u;
  for (double x : numbers) {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    a = (a ^ bits) * 0x100000001b3u;
    a ^= a >> 29;
    b = (b + bits) * 0xff51afd7ed558ccdu;
    b ^= b >> 33;
  }
  return fmt::format("{:016x}{:016x}", a, b);
}

std::string numbers_text(const Op& op, const PrintOptions& options) {
  constexpr std::size_t kFew = 256;
  if (options.digests && op.numbers->size() > kFew) return fmt::format("digest={}", digest(*op.numbers));
  std::vector<std::string> out;
  for (double x : *op.numbers) out.push_back(number_text(x));
  return fmt::format("numbers=[{}]", fmt::join(out, ", "));
}

}  // namespace

namespace {

// The statements of a program or of a body, one per line.
std::string statements(const Graph& graph, const PrintOptions& options, const std::string& indent) {
  std::string out;
  const auto names = names_of(graph);
  for (Value v = 0; v < graph.size(); ++v) {
    const Op& op = graph.op(v);
    std::vector<std::string> arguments;
    for (Value operand : op.operands) arguments.push_back(names[operand]);
    const auto& infos = info(op.code).attributes;
    for (std::size_t i = 0; i < infos.size(); ++i)
      arguments.push_back(fmt::format("{}={}", infos[i].name, std::visit(AttrText{}, op.attrs[i])));
    if (op.code == OpCode::constant) arguments.push_back(numbers_text(op, options));
    if (op.kernel) arguments.push_back(fmt::format("program=[{}]", kernel_text(*op.kernel)));
    out += fmt::format("{}{}: {} = {}({})", indent, names[v], to_string(op.type), name(op.code),
                       fmt::join(arguments, ", "));
    const SourceLoc& loc = graph.loc(op);
    if (options.places && loc.known()) out += fmt::format(" @ {}:{}", quoted(loc.file), loc.line);
    for (const Body& body : op.bodies)
      out += fmt::format(" {{\n{}{}}}", statements(*body, options, indent + "  "), indent);
    out += "\n";
  }
  for (const Output& o : graph.outputs())
    out += fmt::format("{}output {} = {}\n", indent, quoted(o.name), names[o.value]);
  return out;
}

}  // namespace

std::string print(const Graph& graph, const PrintOptions& options) {
  return fmt::format("kt 1\nprogram {}\n", quoted(graph.name)) + statements(graph, options, "");
}

}  // namespace kiln::tensor
