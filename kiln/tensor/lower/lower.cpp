// The compiler on one page: passes over the tensor program, regions, their layouts, instructions.
#include "kiln/tensor/lower/lower.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "kiln/check/check_program.h"
#include "kiln/tensor/ir/rules.h"
#include "kiln/tensor/ir/verify.h"
#include "kiln/tensor/lower/copies.h"
#include "kiln/tensor/lower/region.h"
#include "kiln/tensor/passes/access.h"
#include "kiln/tensor/passes/canonicalize.h"
#include "kiln/tensor/passes/decompose.h"
#include "kiln/tensor/passes/fuse.h"
#include "kiln/tensor/passes/layout.h"
#include "kiln/tensor/passes/rewrite.h"
#include "kiln/tensor/passes/tile.h"
#include "kiln/timing/simulate.h"

namespace kiln::tensor {
namespace {

struct Pass {
  const char* name;
  Graph (*run)(const Graph&);
};
constexpr Pass kPasses[] = {
    {"canonicalize", canonicalize}, {"decompose", decompose}, {"simplify", canonicalize}, {"split-views", split_views}};

// Choices that a program is built with.
struct Choice {
  FuseOptions fuse;
  RegionOptions region;
  std::map<int, std::size_t> tiling;  // by region: which of the best estimates; the first unless said
  std::size_t region_choices = 4;
};

DType stored_dtype(DType t) { return t == DType::bool_ ? DType::uint8 : t; }
isa::Shape stored_shape(const Shape& shape) { return shape.empty() ? isa::Shape{1} : shape; }

class Maker {
 public:
  Maker(const Graph& graph, const CompileOptions& options, const Choice& choice)
      : graph_(graph), options_(options), choice_(choice), k_(graph.name, options.target) {}

  // Nothing when a region has no common loops.
  std::optional<Compiled> run() {
    fusion_ = fuse(graph_, choice_.fuse);
    for (std::size_t r = 0; r < fusion_.regions.size(); ++r) {
      if (!plan(static_cast<int>(r))) return {};
    }
    storage_.residency = residency(graph_, fusion_, layouts_);
    find_updates();
    declare();
    Copies copies{k_, graph_, fusion_, storage_, arch(options_.target), in_place_};
    for (Value v = 0; v < graph_.size(); ++v) {
      if (graph_.op(v).code == OpCode::iota && storage_.of.contains(v)) copies.ramp(v);
    }
    for (std::size_t r = 0; r < fusion_.regions.size(); ++r) {
      const Region& region = fusion_.regions[r];
      k_.at(k_.program().add_loc(graph_.loc(graph_.op(region.ops.back()))));
      if (region.kind == Region::Kind::copies)
        copies.emit(region.ops.back());
      else
        emit_rows(static_cast<int>(r));
    }
    for (int i : fusion_.copied) {
      const Value v = graph_.outputs()[i].value;
      if (graph_.type(v).size() > 0 && !in_place_.contains(v)) copies.output(i);
    }
    out_.program = k_.finish();
    rename_tiles();
    return std::move(out_);
  }

 private:
  // Where every stored value lies in HBM.
  void declare() {
    for (Value v = 0; v < graph_.size(); ++v) {
      const Op& op = graph_.op(v);
      if (!fusion_.is_stored[v] || op.type.size() == 0) continue;
      k_.at(k_.program().add_loc(graph_.loc(op)));
      const isa::Shape shape = stored_shape(op.type.shape);
      const DType t = stored_dtype(op.type.dtype);
      if (op.code == OpCode::input && updated_.contains(v))
        storage_.of[v] = k_.inout(op.text("name"), shape, t);
      else if (op.code == OpCode::input)
        storage_.of[v] = k_.input(op.text("name"), shape, t);
      else if (in_place_.contains(v))
        storage_.of[v] = storage_.of.at(op.operands[0]);
      else if (op.is_splat())
        continue;
      else if (op.code == OpCode::constant)
        storage_.of[v] = constant(op, shape, t);
      else if (op.code == OpCode::iota)
        storage_.of[v] = k_.hbm({op.type.shape[op.integer("axis")]}, t);
      else if (!storage_.residency.unstored.contains(v))
        storage_.of[v] = k_.hbm(shape, t);
    }
    for (const Output& o : graph_.outputs()) {
      const Type& t = graph_.type(o.value);
      if (in_place_.contains(o.value)) {
        out_.aliases[o.name] = graph_.op(graph_.op(o.value).operands[0]).text("name");
        storage_.outputs.push_back(storage_.of.at(o.value));
        continue;
      }
      storage_.outputs.push_back(t.size() ? k_.output(o.name, stored_shape(t.shape), stored_dtype(t.dtype))
                                          : isa::View());
    }
  }

  bool is_named(const std::string& name) const {
    const auto is_it = [&](const Op& op) { return op.code == OpCode::input && op.text("name") == name; };
    const auto is_output = [&](const Output& o) { return o.name == name; };
    return std::any_of(graph_.ops().begin(), graph_.ops().end(), is_it) ||
           std::any_of(graph_.outputs().begin(), graph_.outputs().end(), is_output);
  }

  // Tiles are called t0, t1, ... unless an input or output is.
  void rename_tiles() {
    for (isa::Tensor& t : out_.program.tensors) {
      while (t.role == isa::Role::internal && is_named(t.name)) t.name += "_";
    }
  }

  // Updates of donated inputs that nobody else reads.
  void find_updates() {
    const std::vector<int> uses = graph_.uses();
    for (Value v = 0; v < graph_.size(); ++v) {
      const Op& op = graph_.op(v);
      if (op.code != OpCode::update_slice && op.code != OpCode::scatter_rows) continue;
      const Op& x = graph_.op(op.operands[0]);
      if (x.code != OpCode::input || uses[op.operands[0]] != 1) continue;
      const auto& donated = options_.donated;
      if (std::find(donated.begin(), donated.end(), x.text("name")) == donated.end()) continue;
      in_place_.insert(v);
      updated_.insert(op.operands[0]);
    }
  }

  isa::View constant(const Op& op, const isa::Shape& shape, DType t) {
    std::string name = fmt::format("const{}", out_.constants.size());
    while (is_named(name)) name += "_";
    Array array = evaluate(op, {}, op.type.dtype);
    array.type.dtype = t;
    out_.constants.push_back({name, std::move(array)});
    return k_.input(name, shape, t);
  }

  // The layout of a region: the best estimate, or another one that is being tried. False when there is none.
  bool plan(int region) {
    layouts_.emplace_back();
    alternatives_.push_back(1);
    if (fusion_.regions[region].kind == Region::Kind::copies) return true;
    const auto best = tilings(graph_, fusion_, region, arch(options_.target), choice_.region_choices);
    if (best.empty()) return false;
    const auto chosen = choice_.tiling.find(region);
    const std::size_t at = chosen == choice_.tiling.end() ? 0 : std::min(chosen->second, best.size() - 1);
    layouts_.back() = layout(graph_, fusion_, region, best[at].options);
    alternatives_.back() = best.size();
    return true;
  }

  void emit_rows(int region) {
    const Layout& plan = layouts_[region];
    const std::size_t before = k_.program().instructions.size(), tiles = k_.program().tensors.size();
    RegionEmitter(k_, graph_, fusion_, region, plan, storage_, arch(options_.target), choice_.region).emit();
    report(region, plan, k_.program().instructions.size() - before);
    out_.regions.back().alternatives = alternatives_[region];
    for (std::size_t t = tiles; t < k_.program().tensors.size(); ++t) {
      const isa::Tensor& tile = k_.program().tensors[t];
      if (tile.memory == Memory::sbuf)
        out_.regions.back().tile_bytes += static_cast<double>(tile.bytes_per_partition());
    }
  }

  void report(int region, const Layout& plan, std::size_t instructions) {
    std::vector<std::string_view> ops;
    for (Value v : fusion_.regions[region].ops) {
      if (!is_view(graph_.op(v).code)) ops.push_back(name(graph_.op(v).code));
    }
    out_.regions.push_back({.region = region,
                            .ops = fmt::format("{}", fmt::join(ops, " ")),
                            .rows = plan.partitions,
                            .packed = plan.packed,
                            .loops = plan.loops,
                            .instructions = static_cast<std::int64_t>(instructions),
                            .hbm_bytes = moved_bytes(plan)});
  }

  // Matrices once; what moves with the rows as often as it is different.
  double moved_bytes(const Layout& plan) const {
    double bytes = 0;
    for (const auto* leaves : {&plan.loads, &plan.stores}) {
      for (const Leaf& leaf : *leaves) {
        double n = size_bytes(graph_.type(leaf.value).dtype);
        for (const isa::Dim& d : leaf.free) n *= static_cast<double>(d.stride == 0 ? 1 : d.count);
        const int level = leaf.is_matrix ? plan.level(leaf) : plan.body_level();
        for (int i = 0; i < level && i < static_cast<int>(plan.loops.size()); ++i)
          n *= static_cast<double>(plan.loops[i]);
        if (!leaf.is_matrix)
          n *= static_cast<double>(plan.partitions) * static_cast<double>(leaf.packed ? plan.packed : 1);
        bytes += n;
      }
    }
    return bytes;
  }

  const Graph& graph_;
  const CompileOptions& options_;
  Choice choice_;
  isa::Kernel k_;
  Fusion fusion_;
  Storage storage_;
  Compiled out_;
  std::set<Value> in_place_, updated_;  // ops that write a donated input, and these inputs
  std::vector<Layout> layouts_;         // by region
  std::vector<std::size_t> alternatives_;
};

// What to try, one after the other, until the program fits.
std::vector<Choice> choices(const CompileOptions& options) {
  std::vector<Choice> out(5);
  for (Choice& c : out) c.fuse.fuse = options.fuse;
  out[1].region = {.psum_columns = 512, .hoisted_bytes = 16384, .column_tile = 8192};
  out[2].region = {.psum_columns = 0, .hoisted_bytes = 4096, .column_tile = 2048};
  out[3].region = {.psum_columns = 0, .hoisted_bytes = 16384, .column_tile = 8192};
  out[4].region = {.psum_columns = 0, .hoisted_bytes = 4096, .column_tile = 2048};
  out[3].fuse.fuse = out[4].fuse.fuse = false;
  return out;
}

std::vector<Diagnostic> errors_of(const isa::Program& program) {
  const check::Report report = check::check_program(program, arch(program.target));
  return report.ok() ? std::vector<Diagnostic>{} : report.diagnostics;
}

double time_of(const isa::Program& program) {
  return timing::to_ns(timing::simulate(isa::Launch(program), arch(program.target), {.keep_events = 0}).total);
}

}  // namespace

std::vector<PassResult> run_passes(const Graph& graph) {
  std::vector<PassResult> out;
  for (const Pass& pass : kPasses) {
    out.push_back({pass.name, pass.run(out.empty() ? graph : out.back().graph)});
    verify(out.back().graph, pass.name);
  }
  return out;
}

// Other ways to use PSUM and SBUF, for programs with products.
std::vector<RegionOptions> product_choices(const Graph& graph, const RegionOptions& now) {
  const auto is_product = [](const Op& op) { return op.code == OpCode::matmul; };
  if (std::none_of(graph.ops().begin(), graph.ops().end(), is_product)) return {};
  std::vector<RegionOptions> out(6, now);
  out[0].evacuate = RegionOptions::Evacuate::scalar;
  out[1].evacuate = RegionOptions::Evacuate::vector;
  for (std::size_t i = 2; i < 6; ++i) out[i].psum_columns = std::min<std::int64_t>(512, now.psum_columns);
  out[3].evacuate = out[5].evacuate = RegionOptions::Evacuate::scalar;
  out[4].hoisted_bytes = out[5].hoisted_bytes = std::min<std::int64_t>(16384, now.hoisted_bytes);
  return out;
}

// One region after the other takes the tiling with which the whole program is fastest.
void improve(Compiled& best, const Graph& graph, const CompileOptions& options, Choice choice) {
  best.time_ns = time_of(best.program);
  for (const RegionOptions& other : product_choices(graph, choice.region)) {
    Choice tried = choice;
    tried.region = other;
    std::optional<Compiled> made = Maker(graph, options, tried).run();
    if (!made || !errors_of(made->program).empty()) continue;
    made->time_ns = time_of(made->program);
    if (made->time_ns >= best.time_ns) continue;
    best = std::move(*made);
    choice = std::move(tried);
  }
  const std::size_t regions = best.regions.size();
  for (std::size_t r = 0; r < regions; ++r) {
    const int region = best.regions[r].region;
    for (std::size_t other = 1; other < best.regions[r].alternatives; ++other) {
      Choice tried = choice;
      tried.tiling[region] = other;
      std::optional<Compiled> made = Maker(graph, options, tried).run();
      if (!made || !errors_of(made->program).empty()) continue;
      made->time_ns = time_of(made->program);
      if (made->time_ns >= best.time_ns) continue;
      best = std::move(*made);
      choice = std::move(tried);
    }
  }
}

Compiled compile(const Graph& graph, const CompileOptions& options) {
  verify(graph, "the front end");
  const Graph ready = std::move(run_passes(graph).back().graph);
  std::vector<Diagnostic> errors;
  for (const Choice& choice : choices(options)) {
    std::optional<Compiled> made = Maker(ready, options, choice).run();
    if (!made) continue;
    errors = errors_of(made->program);
    if (!errors.empty()) continue;
    if (options.level >= 2) improve(*made, ready, options, choice);
    return std::move(*made);
  }
  throw Error(std::move(errors));
}

}  // namespace kiln::tensor
