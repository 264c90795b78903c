// Random programs whose structure is sound and whose meaning is arbitrary: each is written, always alike, or refused by
// one of emit's rules; rolling never fails its own proof.
#include <gtest/gtest.h>

#include "kiln/emit/emit.h"
#include "kiln/isa/table.h"
#include "kiln/rewrite/unroll.h"
#include "tests/error_of.h"
#include "tests/programs/random_program.h"

namespace kiln::emit {
namespace {

using namespace isa;

// Without what is refused most: registers that begin anywhere, steps of any size, and dtypes that NKI has no name for.
Program with_less_variety(Program p) {
  p.nki = kNewestNki;
  for (Instruction& inst : p.instructions) {
    const Facts& facts = info(inst.opcode).semantics->facts;
    if (!facts.declares_register) continue;
    Arg number;
    number.kind = Arg::Kind::integer;
    const Arg reg = p.arg(inst, facts.sets_register);
    inst.opcode = Opcode::register_move;  // the same register, and a number
    inst.first_arg = static_cast<std::uint32_t>(p.args.size());
    p.args.insert(p.args.end(), {reg, number});
  }
  for (Dynamic& d : p.dynamics) d.scale = 1;
  const auto named = [](DType dtype) {
    return dtype == DType::float8_e3m4 ? DType::float8_e4m3 : dtype == DType::tfloat32 ? DType::float32 : dtype;
  };
  for (Tensor& t : p.tensors) t.dtype = named(t.dtype);
  for (Access& a : p.accesses) a.dtype = named(a.dtype);
  return p;
}

TEST(RandomPrograms, AreWrittenOrRefusedByName) {
  int written = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    const Program program = with_less_variety(random_program(seed));
    // With its loops, and as a trace has it.
    for (const Program& p : {program, rewrite::unroll(program)}) {
      std::string text;
      const Diagnostic error = error_of([&] { text = emit(p); });
      EXPECT_TRUE(error.code.empty() || error.code.starts_with("emit.")) << "seed " << seed << ": " << to_text(error);
      if (!error.code.empty()) continue;
      ++written;
      EXPECT_EQ(text, emit(p)) << "seed " << seed;
      EXPECT_FALSE(emit(p, {.roll = false}).empty());
    }
  }
  EXPECT_GT(written, 30);
}

}  // namespace
}  // namespace kiln::emit
