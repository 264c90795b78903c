#include "attention_demo.h"

#include <fmt/format.h>

#include <set>

#include "kiln/check/rules.h"
#include "kiln/isa/operand_rules.h"
#include "kiln/isa/table.h"
#include "kiln/isa/verify.h"

namespace kiln::examples {
namespace {

void heading(int number, const char* text) { fmt::print("\n{}. {}\n\n", number, text); }

// Rules that apply to a program: those of its instructions, and those of every program.
std::size_t count_rules(const isa::Program& program) {
  std::set<isa::Opcode> used;
  for (const isa::Instruction& inst : program.instructions) used.insert(inst.opcode);
  std::size_t count = isa::operand_rules().size() + isa::verify_rules().size() +
                      check::memory_rules().size() + check::io_rules().size();
  for (isa::Opcode opcode : used) count += isa::info(opcode).semantics->rules.size();
  return count;
}

void print_memory(const char* name, const check::MemoryUse& use) {
  fmt::print("     {}   {:>6} of {:>6} bytes per partition ({:.1f} %)\n", name, use.peak_bytes,
             use.available_bytes,
             100.0 * static_cast<double>(use.peak_bytes) / static_cast<double>(use.available_bytes));
}

void print_engines(const sim::RunReport& run) {
  for (int e = 0; e < kEngineCount; ++e) {
    if (run.instructions_by_engine[e] == 0) continue;
    fmt::print("     {:<8}{:>6}\n", name(static_cast<Engine>(e)), run.instructions_by_engine[e]);
  }
}

// A tempting shortcut: the scores of all 640 keys in one product.
isa::Program wide_scores(Target target) {
  isa::Kernel k("wide_scores", target);
  const isa::View q_t = k.input("q_t", {64, 128}, DType::float32),
                  k_t = k.input("k_t", {64, 640}, DType::float32);
  const isa::View out = k.output("out", {128, 640}, DType::float32);
  const isa::View q = k.sbuf({64, 128}, DType::float32), keys = k.sbuf({64, 640}, DType::float32);
  const isa::View scores = k.psum({128, 640}, DType::float32), copy = k.sbuf({128, 640}, DType::float32);
  k.dma_copy({.dst = q, .src = q_t});
  k.dma_copy({.dst = keys, .src = k_t});
  k.nc_matmul({.dst = scores, .stationary = q, .moving = keys});
  k.tensor_copy({.dst = copy, .src = scores});
  k.dma_copy({.dst = out, .src = copy});
  return k.finish();
}

void print_mistake() {
  const auto on = [](Target target) { return check::check_program(wide_scores(target), arch(target)); };
  fmt::print(
      "   The scores of 640 keys in one product instead of five (wide_scores in attention_demo.cpp). On "
      "trn2:\n\n");
  fmt::print("{}\n", to_text(on(Target::trn2).diagnostics));
  const std::size_t newer = on(Target::trn3).diagnostics.size();
  fmt::print("   The same program on trn3, whose limits are wider: {}.\n",
             newer == 0 ? "legal" : fmt::format("{} diagnostics", newer));
}

}  // namespace

int attention_demo(const Example& attention) {
  const Sizes& s = attention.default_sizes;
  const TrialOptions options;
  const Arch& chip = arch(options.target);
  fmt::print("Kiln: an attention kernel for AWS Trainium, checked and run without the chip\n");

  heading(1, "The kernel (examples/cpp/attention.cpp)");
  const Trial trial = try_example(attention, s, options);
  fmt::print("     out = softmax(q kᵀ / √D) v     {} heads, {} queries and keys, depth {}, float32\n", s[0],
             s[1], s[2]);
  fmt::print(
      "     {} instructions are written, in {} nested loops; the running softmax needs no {} x {} matrix.\n",
      trial.program.instructions.size(), trial.program.loops.size(), s[1], s[1]);

  heading(2, "Is it legal?");
  if (!trial.report.diagnostics.empty()) fmt::print("{}\n", to_text(trial.report.diagnostics));
  if (!trial.report.ok()) return 1;
  fmt::print("     Yes, on {} ({}): {} numbered rules of the manual, {:.1f} ms.\n", chip.name, chip.core_name,
             count_rules(trial.program), trial.check_seconds * 1e3);
  fmt::print("     Every tile has its place in on-chip memory. At most in use at one time:\n");
  print_memory("SBUF", trial.report.allocation.sbuf);
  print_memory("PSUM", trial.report.allocation.psum);

  heading(3, "What does it compute?");
  fmt::print("     {} instructions ran in {:.3f} s, by engine:\n", trial.run.instructions, trial.run_seconds);
  print_engines(trial.run);
  fmt::print(
      "     Largest difference from plain loops in double precision: {:.1e} of the largest value; {} "
      "{:.0e}.\n",
      trial.difference, trial.ok ? "allowed is" : "THAT EXCEEDS", attention.tolerance);

  heading(4, "And a mistake?");
  print_mistake();

  fmt::print(
      "\nNext: attention --text prints the program, attention --help what else it does; docs/builder.md "
      "tells how\n"
      "to write one.\n");
  return trial.ok ? 0 : 1;
}

}  // namespace kiln::examples
