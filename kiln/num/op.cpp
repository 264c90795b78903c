#include "kiln/num/op.h"

#include <cmath>
#include <limits>

namespace kiln {

const AluInfo kAluOps[kAluOpCount] = {
#define KILN_ALU(name, cls, engines, reduces, generation, meaning) \
  {#name, AluClass::cls, engines, reduces, generation, meaning},
#include "kiln/num/alu.def"
#undef KILN_ALU
};

const ActInfo kActFns[kActFnCount] = {
#define KILN_ACTIVATION(name, formula, range, lo, hi) {#name, formula, ActRange::range, lo, hi},
#include "kiln/num/activations.def"
#undef KILN_ACTIVATION
};

namespace {

template <class Op, class Row, int kCount>
bool find(const Row (&rows)[kCount], std::string_view text, Op& out) {
  for (int i = 0; i < kCount; ++i) {
    if (rows[i].name == text) {
      out = static_cast<Op>(i);
      return true;
    }
  }
  return false;
}

}  // namespace

bool parse_alu(std::string_view text, AluOp& out) {
  if (text == "max") text = name(AluOp::maximum);
  if (text == "min") text = name(AluOp::minimum);
  return find(kAluOps, text, out);
}

bool parse_act(std::string_view text, ActFn& out) { return find(kActFns, text, out); }

float identity(AluOp op) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  switch (op) {
    case AluOp::multiply:
    case AluOp::logical_and:
      return 1.0f;
    case AluOp::maximum:
      return -kInfinity;
    case AluOp::minimum:
    case AluOp::abs_min:
      return kInfinity;
    default:
      return 0.0f;
  }
}

bool in_range(ActFn fn, float x) {
  const ActInfo& row = info(fn);
  if (row.range == ActRange::all) return true;
  const double value = row.range == ActRange::magnitude ? std::fabs(x) : x;
  return value >= row.lo && value <= row.hi;
}

}  // namespace kiln
