// The operators of the engines as data: ALU operators and activation functions, walked from their tables.
#pragma once

#include <cstdint>
#include <string_view>

namespace kiln {

enum class AluOp : std::uint8_t {
#define KILN_ALU(name, ...) name,
#include "kiln/num/alu.def"
#undef KILN_ALU
};
inline constexpr int kAluOpCount = static_cast<int>(AluOp::average) + 1;

enum class AluClass : std::uint8_t { bitvec, bitvec_unary, arith, unary, bypass };

struct AluInfo {
  std::string_view name;
  AluClass cls;
  std::string_view engines;  // "vector|gpsimd"
  bool reduces;
  int first_generation;
  std::string_view meaning;
};
extern const AluInfo kAluOps[kAluOpCount];
inline const AluInfo& info(AluOp op) { return kAluOps[static_cast<int>(op)]; }
inline std::string_view name(AluOp op) { return info(op).name; }
bool parse_alu(std::string_view text, AluOp& out);  // also takes the aliases max and min
inline bool is_bitvec(AluOp op) { return info(op).cls == AluClass::bitvec || info(op).cls == AluClass::bitvec_unary; }
inline bool is_unary(AluOp op) { return info(op).cls == AluClass::unary || info(op).cls == AluClass::bitvec_unary; }
inline bool is_comparison(AluOp op) { return op >= AluOp::equal && op <= AluOp::less_equal; }
// The value that leaves the other operand as it is: 0 for add and subtract, 1 for multiply, -Inf, +Inf, 0 and
// +Inf for maximum, minimum, abs_max and abs_min.
float identity(AluOp op);

enum class ActFn : std::uint8_t {
#define KILN_ACTIVATION(name, ...) name,
#include "kiln/num/activations.def"
#undef KILN_ACTIVATION
};
inline constexpr int kActFnCount = static_cast<int>(ActFn::abs) + 1;

enum class ActRange : std::uint8_t { all, positive, magnitude, interval };

struct ActInfo {
  std::string_view name;
  std::string_view formula;
  ActRange range;
  double lo, hi;
};
extern const ActInfo kActFns[kActFnCount];
inline const ActInfo& info(ActFn fn) { return kActFns[static_cast<int>(fn)]; }
inline std::string_view name(ActFn fn) { return info(fn).name; }
bool parse_act(std::string_view text, ActFn& out);
bool in_range(ActFn fn, float x);  // whether the hardware's result is valid for x

}  // namespace kiln
