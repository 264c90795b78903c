// The compiler on one page: passes over the tensor program, regions, their layouts, instructions.
#include "kiln/tensor/lower/lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <span>

#include "kiln/check/check_program.h"
#include "kiln/rewrite/dma_starts.h"
#include "kiln/tensor/ir/rules.h"
#include "kiln/tensor/ir/verify.h"
#include "kiln/tensor/lower/candidates.h"
#include "kiln/tensor/lower/held_products.h"
#include "kiln/tensor/lower/maker.h"
#include "kiln/tensor/lower/quick_time.h"
#include "kiln/tensor/lower/reproducer.h"
#include "kiln/tensor/lower/said_engines.h"
#include "kiln/tensor/lower/solve.h"
#include "kiln/tensor/lower/tile_limits.h"
#include "kiln/tensor/lower/tuner.h"
#include "kiln/tensor/passes/access.h"
#include "kiln/tensor/passes/bodies.h"
#include "kiln/tensor/passes/canonicalize.h"
#include "kiln/tensor/passes/collectives.h"
#include "kiln/tensor/passes/decompose.h"
#include "kiln/tensor/passes/expand.h"
#include "kiln/tensor/passes/first_of_sorts.h"
#include "kiln/tensor/passes/for_chip.h"
#include "kiln/tensor/passes/large_moments.h"
#include "kiln/tensor/passes/loops_at_once.h"
#include "kiln/tensor/passes/norm_rows.h"
#include "kiln/tensor/passes/odd_lengths.h"
#include "kiln/tensor/passes/pair.h"
#include "kiln/tensor/passes/recompute.h"
#include "kiln/tensor/passes/running_sums.h"
#include "kiln/tensor/passes/steps_at_once.h"
#include "kiln/tensor/passes/turn_columns.h"
#include "kiln/tensor/passes/turn_taps.h"

namespace kiln::tensor {
namespace {

struct Pass {
  const char* name;
  Graph (*run)(const Graph&);
  bool needed = false;  // without it there are no instructions for some programs
  bool turns = false;   // values that are not reduced, on the tensor engine, which has to be exact then
};
constexpr Pass kPasses[] = {{"canonicalize", canonicalize},
                            {"loops-at-once", with_loops_at_once},
                            {"steps-at-once", with_steps_at_once},
                            {"running-sums", with_running_sums},
                            {"first-of-sorts", first_of_sorts},
                            {"expand", expand, true},
                            {"odd-lengths", with_even_lengths},
                            {"turn-columns", with_turned_columns},
                            {"norm-rows", with_norm_rows},
                            {"large-moments", with_large_moments},
                            {"decompose", decompose, true},
                            {"simplify", canonicalize, true},
                            {"turn-taps", with_turned_taps, false, true},
                            {"split-views", split_views, true},
                            {"recompute", recomputed}};

// What to try, one after the other, until the program fits.
std::vector<Choice> choices(const CompileOptions& options) {
  std::vector<Choice> out(5);
  constexpr double kShare = 0.88;  // of SBUF, for matrices
  const Arch chip = chip_of(options);
  const auto bytes = static_cast<double>((chip.sbuf_partition_bytes - chip.sbuf_reserved_bytes) * chip.partitions);
  for (Choice& c : out) c.fuse.fuse = options.fuse, c.fuse.matrix_bytes = kShare * bytes;
  for (std::size_t i = 1; i < out.size(); ++i) out[i].held_bytes = 0;
  for (std::size_t i = 2; i < out.size(); ++i) out[i].moving_views = false, out[i].region.turned_blocks = 1;
  out[3].region = {.psum_columns = 512, .hoisted_bytes = 16384, .column_tile = 8192};
  out[4].region = {.psum_columns = 0, .hoisted_bytes = 4096, .column_tile = 2048};
  for (std::size_t i = 3; i < out.size(); ++i) out[i].region.unshifted = false;
  for (const double share : {0.25, 0.08}) {  // regions with many values that live together
    for (const std::size_t i : {2, 4}) out.push_back(out[i]), out.back().sbuf_share = share;
  }
  for (const std::size_t i : {3, 4}) {
    out.push_back(out[i]);
    out.back().region.psum_columns = 0;
    out.back().fuse.fuse = false;
  }
  return out;
}

}  // namespace

std::vector<Diagnostic> errors_of(const Compiled& made, const CompileOptions& options) {
  for (const isa::Program* program : made.launch().programs) {
    const check::Report report = check::check_program(*program, chip_of(options), {.warnings = false});
    if (!report.ok()) return report.diagnostics;
  }
  return {};
}

namespace {

// Whether the programs of two cores differ in numbers only, so that every exchange meets its counterpart.
bool are_alike(const isa::Program& a, const isa::Program& b) {
  const auto same_tensor = [](const isa::Tensor& x, const isa::Tensor& y) {
    return x.name == y.name && x.shape == y.shape && x.dtype == y.dtype && x.memory == y.memory;
  };
  const auto same_opcode = [](const isa::Instruction& x, const isa::Instruction& y) { return x.opcode == y.opcode; };
  const auto same_loop = [](const isa::Loop& x, const isa::Loop& y) {
    return x.kind == y.kind && x.upper.value - x.lower.value == y.upper.value - y.lower.value && x.step == y.step &&
           x.body.size() == y.body.size();
  };
  return std::ranges::equal(a.tensors, b.tensors, same_tensor) &&
         std::ranges::equal(a.instructions, b.instructions, same_opcode) &&
         std::ranges::equal(a.loops, b.loops, same_loop);
}

}  // namespace

// One program for each core. Nothing when a region has no common loops.
std::optional<Compiled> make(const std::vector<Graph>& cores, const CompileOptions& options, const Choice& choice,
                             Plans& plans) {
  const auto finished = [&](isa::Program& program) {
    if (choice.started_by_software) rewrite::start_by_software(program, arch(options.target));
    if (choice.says_engines) say_engines(program, arch(options.target));
  };
  std::optional<Compiled> out = Maker(cores[0], options, choice, plans).run();
  if (out) finished(out->program);
  if (!out || cores.size() == 1) return out;
  std::optional<Compiled> peer = Maker(cores[1], options, choice, plans).run();
  if (!peer || !are_alike(out->program, peer->program)) return {};
  out->peer = std::move(peer->program);
  finished(*out->peer);
  return out;
}

std::optional<Compiled> make(const std::vector<Graph>& cores, const CompileOptions& options, const Choice& choice) {
  Plans plans(chip_of(options));
  return make(cores, options, choice, plans);
}

namespace {

Graph after(const Pass& pass, const Graph& graph) {
  Graph out = with_bodies(pass.run(graph), pass.run);
  verify(out, pass.name);
  return out;
}

}  // namespace

std::vector<PassResult> run_passes(const Graph& graph, Target target) {
  std::vector<PassResult> out;
  for (const Pass& pass : kPasses) {
    const bool runs = !pass.turns || arch(target).features.tensor_transpose_mode;
    const std::clock_t begin = std::clock();
    const Graph& before = out.empty() ? graph : out.back().graph;
    Graph made = runs ? after(pass, before) : before;
    out.push_back({pass.name, std::move(made), static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC});
  }
  return out;
}

std::vector<std::string> pass_names() {
  std::vector<std::string> out;
  for (const Pass& pass : kPasses) out.emplace_back(pass.name);
  return out;
}

Graph run_needed_passes(Graph graph, std::size_t first) {
  for (const Pass& pass : std::span(kPasses).subspan(first)) {
    if (pass.needed) graph = after(pass, graph);
  }
  return graph;
}

namespace {

// An operation whose rows have no common loops with what it reads, in a program or a body of it.
struct Apart {
  const Graph* graph;
  const Op* op;
};
std::optional<Apart> without_loops(const Graph& graph, const Choice& last, Plans& plans) {
  const Fusion& fusion = plans.fusion(graph, last.fuse);
  for (std::size_t r = 0; r < fusion.regions.size(); ++r) {
    const Region& region = fusion.regions[r];
    if (region.kind == Region::Kind::copies) continue;
    if (plans.tilings(graph, fusion, static_cast<int>(r), last.region_choices, last.sbuf_share).empty())
      return Apart{&graph, &graph.op(region.ops.back())};
  }
  for (const Op& op : graph.ops()) {
    for (const Body& body : op.bodies) {
      if (const auto found = without_loops(*body, last, plans)) return found;
    }
  }
  return {};
}

// No choice gave a program that check could look at: a region's rows have no common loops, or the programs of two cores
// differ.
[[noreturn]] void refuse(const std::vector<Graph>& cores, const Choice& last, Plans& plans) {
  const Graph& graph = cores[0];
  if (const auto apart = without_loops(graph, last, plans))
    raise(rules::kTable, rules::kNotYet,
          {.found = fmt::format("not yet: layout: the rows of {} ({}) and of what it reads have no common loops",
                                name(apart->op->code), to_string(apart->op->type)),
           .loc = apart->graph->loc(*apart->op),
           .category = Category::not_yet});
  const Op& op = graph.op(graph.outputs().empty() ? graph.size() - 1 : graph.outputs()[0].value);
  raise(rules::kTable, rules::kNotYet,
        {.found =
             cores.size() > 1
                 ? fmt::format("not yet: {} for {} cores: their programs would not be alike", graph.name, cores.size())
                 : fmt::format("not yet: {}: its operations fit no order of loops together", graph.name),
         .loc = graph.loc(op),
         .category = Category::not_yet});
}

}  // namespace

Solved first_that_fits(std::vector<Graph> cores, const CompileOptions& options) {
  std::vector<Diagnostic> errors;
  int refused = 0;
  auto plans = std::make_unique<Plans>(chip_of(options));
  for (const Choice& choice : choices(options)) {
    std::optional<Compiled> made = make(cores, options, choice, *plans);
    if (!made) continue;
    errors = errors_of(*made, options);
    refused += !errors.empty();
    if (!errors.empty()) continue;
    made->refused = refused;
    return {std::move(*made), choice, std::move(cores), std::move(plans)};
  }
  if (errors.empty()) refuse(cores, choices(options).back(), *plans);
  throw Error(std::move(errors));
}

namespace {

// Ways to split a program over two cores are compared with the timing model, unless the first is taken.
Solved solve_pair(const Graph& ready, CompileOptions options) {
  constexpr std::size_t kMost = 8;
  options.donated.clear();  // both cores would write what the other one still reads
  std::vector<Pairing> ways = pairings(ready, arch(options.target));
  std::optional<Solved> best;
  std::vector<Alternative> tried;
  std::vector<Diagnostic> errors;
  const std::size_t enough = options.level >= 2 ? kMost : 1;
  for (const Pairing& way : ways) {
    if (tried.size() >= enough) break;
    try {
      Solved solved = first_that_fits({half_of(ready, way, 0), half_of(ready, way, 1)}, options);
      solved.made.time_ns = quick_time_ns(solved.made.launch());
      solved.made.split = way.what;
      tried.push_back({way.what, solved.made.time_ns});
      if (!best || solved.made.time_ns < best->made.time_ns) best = std::move(solved);
    } catch (const Error& e) {
      errors = e.diagnostics();
    }
  }
  if (!best && errors.empty()) internal_error(__FILE__, __LINE__, "pair: no way to split a program over two cores");
  if (!best) throw Error(std::move(errors));
  if (options.level < 2) return std::move(*best);
  const std::string split = best->made.split;
  improve(*best, options);
  best->made.split = split;
  for (Alternative& a : tried) {
    if (a.what != split) best->made.alternatives.push_back(std::move(a));
  }
  return std::move(*best);
}

}  // namespace

void fill_constants(Compiled& made) {
  for (Constant& c : made.constants) {
    if (c.array.data.empty()) c.array.data = evaluate(c.made_of, {}, c.made_of.type.dtype).data;
    c.made_of = {};
  }
}

namespace {

// What does not fit is found by check, but only once there are instructions for it.
void require_room(const Graph& graph, const Arch& chip) {
  double given = 0, made = 0;
  const auto add = [&](double& bytes, Value v) {
    const Op& op = graph.op(v);
    bytes += static_cast<double>(op.type.size()) * size_bytes(op.type.dtype);
    if (bytes <= static_cast<double>(chip.hbm_bytes)) return;
    raise(rules::kTable, rules::kSize,
          {.found = fmt::format("{:.0f} bytes with this {}", bytes, to_string(op.type)),
           .allowed = fmt::format("at most {} ({})", chip.hbm_bytes, chip.name),
           .loc = graph.loc(op)});
  };
  for (const Value v : graph.inputs()) add(given, v);
  for (const Output& o : graph.outputs()) add(made, o.value);
}

}  // namespace

Graph before_passes(const Graph& graph, Target target) {
  verify(graph, "the front end");
  require_room(graph, arch(target));
  Graph whole = inlined(graph);
  if (has_collectives(graph)) whole = with_collective_kernels(whole, target);
  return for_chip(whole, arch(target));
}

Solved solve(const Graph& graph, const CompileOptions& options) {
  return solve_after_passes(std::move(run_passes(before_passes(graph, options.target), options.target).back().graph),
                            options);
}

Solved solve_after_passes(Graph ready, const CompileOptions& options) {
  const auto solved_for_cores = [&] {
    if (options.lnc == 2) return solve_pair(ready, options);
    Solved one = first_that_fits({std::move(ready)}, options);
    return options.level < 2 ? std::move(one) : improved(std::move(one), options);
  };
  Solved solved = solved_for_cores();
  solved.made.by_tile_limits = instructions_by_tile_limits(solved.cores[0], arch(options.target));
  return solved;
}

isa::Launch Compiled::launch() const { return peer ? isa::Launch({&program, &*peer}) : isa::Launch(program); }

Compiled compile(const Graph& graph, const CompileOptions& options) {
  return or_reproducer(graph, options, [&] {
    if (options.level >= 3) return tuned(graph, options);
    Compiled made = solve(graph, options).made;
    fill_constants(made);
    return made;
  });
}

}  // namespace kiln::tensor
