// The table of ops as data, and attributes of ops.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kiln/base/dtype.h"
#include "kiln/num/op.h"

namespace kiln::tensor {

enum class OpCode : std::uint8_t {
#define KILN_UNARY(name, ...) name,
#define KILN_BINARY(name, ...) name,
#define KILN_OP(name, ...) name,
#include "kiln/tensor/ir/ops.def"
};

// What dtype an elementwise op works in and gives; `none`: no elementwise op.
enum class Result : std::uint8_t { none, same, number, any, real, quotient, bits, truth };

// How an elementwise op becomes an instruction.
struct Lowering {
  enum class Kind : std::uint8_t { none, alu, act, made } kind = Kind::none;
  AluOp alu{};
  ActFn act{};
};

enum class AttrKind : std::uint8_t { ints, integer, real, boolean, dtype, text };
struct AttrInfo {
  std::string_view name;
  AttrKind kind;
};

struct OpInfo {
  std::string_view name;
  int operands;  // -1: any number
  Result result;
  Lowering lowering;
  std::vector<AttrInfo> attributes;
  std::string_view meaning;
};

const OpInfo& info(OpCode code);
// "sum(x, axes=ints, keepdims=bool)".
std::string to_string(const OpInfo& op);
inline std::string_view name(OpCode code) { return info(code).name; }
bool parse_op(std::string_view text, OpCode& out);
std::vector<OpCode> all_ops();
inline bool is_product(OpCode code) { return code == OpCode::matmul || code == OpCode::matmul_f32; }
inline bool is_running(OpCode code) { return code >= OpCode::cumsum && code <= OpCode::linear_scan; }
inline bool is_search(OpCode code) { return code == OpCode::argmax || code == OpCode::argmin; }
inline bool is_elementwise(OpCode code) { return info(code).result != Result::none; }
inline bool is_comparison(OpCode code) { return code >= OpCode::equal && code <= OpCode::less_equal; }

using Ints = std::vector<std::int64_t>;
using AttrValue = std::variant<Ints, std::int64_t, double, bool, DType, std::string>;
using Attrs = std::vector<AttrValue>;  // in the order of OpInfo::attributes

}  // namespace kiln::tensor
