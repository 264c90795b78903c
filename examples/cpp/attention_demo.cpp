#include "attention_demo.h"

#include <fmt/format.h>

#include <set>

#include "kiln/base/file.h"
#include "kiln/base/quantity_text.h"
#include "kiln/check/rules.h"
#include "kiln/isa/semantics/operand_rules.h"
#include "kiln/isa/table.h"
#include "kiln/isa/verify/program_rules.h"
#include "kiln/views/html.h"
#include "kiln/views/picture_of.h"

namespace kiln::examples {
namespace {

void heading(int number, const char* text) { fmt::print("\n{}. {}\n\n", number, text); }

// Rules that apply to a program: those of its instructions, and those of every program.
std::size_t count_rules(const isa::Program& program) {
  std::set<isa::Opcode> used;
  for (const isa::Instruction& inst : program.instructions) used.insert(inst.opcode);
  std::size_t count = isa::kOperandRules.rules.size() + std::size(isa::program_rules::kRules) +
                      std::size(check::memory_rules::kRules) + std::size(check::io_rules::kRules);
  for (isa::Opcode opcode : used) count += isa::info(opcode).semantics->rules.size();
  return count;
}

void print_memory(const char* name, const analysis::MemoryUse& use) {
  const double share = static_cast<double>(use.peak_bytes) / static_cast<double>(use.available_bytes);
  fmt::print("     {}  {:>6} of {:>6} bytes per partition ({:.1f} %)\n", name, use.peak_bytes, use.available_bytes,
             100 * share);
}

void print_engines(const sim::RunReport& run) {
  for (int e = 0; e < kEngineCount; ++e) {
    if (run.instructions_by_engine[e] == 0) continue;
    fmt::print("     {:<8}{:>6}\n", name(static_cast<Engine>(e)), run.instructions_by_engine[e]);
  }
}

// A tempting shortcut: the scores of 640 keys in one product.
isa::Program wide_scores(Target target) {
  constexpr DType f32 = DType::float32;
  isa::Kernel k("wide_scores", target);
  const isa::View q_t = k.input("q_t", {64, 128}, f32), k_t = k.input("k_t", {64, 640}, f32);
  const isa::View out = k.output("out", {128, 640}, f32);
  const isa::View q = k.sbuf({64, 128}, f32, {"q"}), keys = k.sbuf({64, 640}, f32, {"keys"});
  const isa::View scores = k.psum({128, 640}, f32, {"scores"}), copy = k.sbuf({128, 640}, f32, {"copy"});
  k.dma_copy({.dst = q, .src = q_t});
  k.dma_copy({.dst = keys, .src = k_t});
  k.nc_matmul({.dst = scores, .stationary = q, .moving = keys});
  k.tensor_copy({.dst = copy, .src = scores});
  k.dma_copy({.dst = out, .src = copy});
  return k.finish();
}

void print_kernel(const Sizes& s, const isa::Program& program) {
  heading(1, "The kernel (examples/cpp/attention.cpp)");
  fmt::print("   out = softmax(q kᵀ / √D) v for {} heads, {} queries and keys, depth {}, in float32.\n", s[0], s[1],
             s[2]);
  fmt::print("   {} instructions in {} nested loops. The softmax is updated block by block of keys, so the\n",
             program.instructions.size(), program.loops.size());
  fmt::print("   {} x {} scores are never in memory at once.\n", s[1], s[1]);
}

void print_legality(const Trial& trial, const Arch& chip) {
  heading(2, "Is it legal?");
  fmt::print("   Yes, on {} ({}). {} numbered rules apply and none is broken; that took {:.1f} ms.\n", chip.name,
             chip.core_name, count_rules(trial.program), trial.check_seconds * 1e3);
  fmt::print("   Every tile has found its place in on-chip memory. The most in use at one moment:\n\n");
  print_memory("SBUF", trial.report.allocation.sbuf);
  print_memory("PSUM", trial.report.allocation.psum);
}

void print_values(const Trial& trial, double tolerance) {
  heading(3, "What does it compute?");
  fmt::print("   The simulator ran {} instructions in {:.3f} s. By engine:\n\n", trial.run.instructions,
             trial.run_seconds);
  print_engines(trial.run);
  fmt::print("\n   Plain loops in double precision give the same up to {:.1e} of the largest value; {} {:.0e}.\n",
             trial.difference, trial.ok ? "allowed is" : "THAT IS MORE THAN", tolerance);
}

void print_time(const isa::Program& program, const std::string& page) {
  const timing::TimedRun run = timing::time_in_full(program);
  const views::TimeReport report = views::report_of(run);
  heading(4, "How long would it take?");
  fmt::print("   {} on {}; a measurement is expected between {} and {}.\n", time_text(report.total_ns), report.target,
             time_text(report.low_ns), time_text(report.high_ns));
  const views::LaneUse& busiest = report.lanes[report.bottleneck];
  fmt::print("   The bottleneck is {}, busy for {} of the time.\n", busiest.name,
             percent_text(busiest.busy_ns / report.total_ns));
  if (!report.advice.empty()) {
    const advice::Advice& best = report.advice.front();
    fmt::print("   Advice: {}.\n   That would gain about {}.\n", best.remedy, time_text(best.gain_ns));
  }
  if (page.empty()) return;
  write_atomically(page, views::to_html(report, views::picture_of(run), views::read_sources(report)));
  fmt::print("   The timeline, for any browser: {}\n", page);
}

void print_mistake() {
  const auto on = [](Target target) { return check::check_program(wide_scores(target), arch(target)).diagnostics; };
  heading(5, "And if it were wrong?");
  fmt::print("   Someone computes the scores of 640 keys in one matrix product, to save four. On trn2:\n\n");
  fmt::print("{}\n\n", to_text(on(Target::trn2)));
  fmt::print("   The same program for trn3, which has wider limits: {}.\n",
             on(Target::trn3).empty() ? "legal" : "not legal either");
}

}  // namespace

int attention_demo(const Example& attention, const std::string& page) {
  fmt::print("Kiln: an attention kernel for AWS Trainium, checked, run and timed without the chip\n");
  const TrialOptions options;
  const Trial trial = try_example(attention, attention.default_sizes, options);
  print_kernel(attention.default_sizes, trial.program);
  if (!trial.report.ok()) throw Error(trial.report.diagnostics);
  print_legality(trial, arch(options.target));
  print_values(trial, attention.tolerance);
  print_time(trial.program, page);
  print_mistake();
  fmt::print(
      "\nMore: --text instead of --demo prints the program, --help lists what else there is, and\n"
      "docs/builder.md tells how to write a kernel.\n");
  return trial.ok ? 0 : 1;
}

}  // namespace kiln::examples
