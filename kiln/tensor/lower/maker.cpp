#include "kiln/tensor/lower/maker.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "kiln/tensor/passes/layout.h"
#include "kiln/tensor/passes/no_numbers.h"
#include "kiln/tensor/passes/pair.h"
#include "kiln/tensor/passes/rewrite.h"
#include "kiln/tensor/passes/tile.h"

namespace kiln::tensor {
namespace {

DType stored_dtype(DType t) { return t == DType::bool_ ? DType::uint8 : t; }
isa::Shape stored_shape(const Shape& shape) { return shape.empty() ? isa::Shape{1} : shape; }

}  // namespace

Arch chip_of(const CompileOptions& options) {
  Arch chip = arch(options.target);
  if (options.sbuf_bytes > 0)
    chip.sbuf_partition_bytes = std::min(chip.sbuf_partition_bytes, options.sbuf_bytes + chip.sbuf_reserved_bytes);
  return chip;
}

bool Choice::is_same_with(const Choice& other) const {
  const auto rest = [](const Choice& c) {
    return std::tie(c.fuse, c.tiling, c.region_choices, c.sbuf_share, c.held_bytes, c.started_by_software,
                    c.says_engines, c.keeps_blocks, c.moving_views);
  };
  return rest(*this) == rest(other) && of_region.empty() && other.of_region.empty() &&
         region.is_same_with(other.region);
}

Maker::Maker(const Graph& graph, const CompileOptions& options, const Choice& choice, Plans& plans)
    : graph_(graph),
      options_(options),
      choice_(choice),
      region_options_(choice.region),
      chip_(chip_of(options)),
      own_(std::make_unique<isa::Kernel>(graph.name, options.target)),
      k_(*own_),
      plans_(plans),
      fusion_(plans.fusion(graph, choice.fuse)) {
  if (options.lnc == 2) own_->pair();
}

namespace {

// What the choices of a program say of a body in it.
Choice choice_of_body(const Choice& around) {
  Choice out = around;
  out.tiling.clear();
  out.of_region.clear();
  out.fuse.splits_outputs = false;  // state that is still read may lie there
  return out;
}

}  // namespace

Maker::Maker(const Graph& body, Bound bound)
    : graph_(body),
      options_(bound.around.options_),
      choice_(choice_of_body(bound.around.choice_)),
      region_options_(bound.around.region_options_),
      bound_(std::move(bound)),
      chip_(bound_->around.chip_),
      k_(bound_->around.k_),
      plans_(bound_->around.plans_),
      fusion_(plans_.fusion(body, choice_.fuse)) {}

std::optional<Compiled> Maker::run() {
  if (!prepare()) return {};
  emit();
  find_spills();
  out_.regroups = storage_.regroups;
  out_.has_short_runs = fusion_.has_short_runs;
  out_.stores_views = fusion_.stores_views;
  out_.prepares_rows = fusion_.prepares_rows;
  out_.has_orders = !fusion_.orders.empty();
  out_.program = k_.finish();
  rename_tiles();
  return std::move(out_);
}

Copies Maker::copies() { return {k_, graph_, fusion_, storage_, chip_, region_options_, in_place_, pass_}; }

bool Maker::prepare() {
  for (std::size_t r = 0; r < fusion_.regions.size(); ++r) {
    if (!plan(static_cast<int>(r))) return false;
  }
  storage_.is_alike = writes_middle(graph_);
  if (!chip_.features.tensor_transpose_mode) storage_.no_numbers = no_numbers(graph_);
  storage_.residency = residency(graph_, fusion_, layouts_, chip_, choice_.keeps_blocks && !bound_);
  find_updates();
  if (choice_.moving_views) {
    find_moving_views();
    find_placed_parts();
  }
  declare();
  if (bound_) keep_states();
  for (Value v = 0; v < graph_.size(); ++v) {
    if (graph_.op(v).code == OpCode::iota && storage_.of.contains(v)) copies().ramp(v);
    if (!graph_.op(v).bodies.empty() && !prepare_control(v)) return false;
    if (graph_.op(v).kernel) prepare_kernel(v);
  }
  return true;
}

void Maker::emit() {
  for (const auto& [part, update] : placed_) copies().alias_part(part, update);
  for (std::size_t r = 0; r < fusion_.regions.size(); ++r) {
    const Region& region = fusion_.regions[r];
    if (region.is_dropped) continue;
    const Op& last = graph_.op(region.ops.back());
    k_.at(k_.program().add_loc(graph_.loc(last)));
    if (region.kind != Region::Kind::copies)
      emit_rows(static_cast<int>(r));
    else if (!last.bodies.empty())
      emit_control(region.ops.back());
    else if (last.kernel)
      emit_kernel(region.ops.back());
    else if (moving_.contains(region.ops.back()))
      copies().alias(region.ops.back());
    else if (last.code == OpCode::update_slice && is_placed(region.ops.back()))
      continue;
    else if (last.code != OpCode::result &&
             !fusion_.inlined.contains(region.ops.back()))  // which lie somewhere already
      copies().emit(region.ops.back());
  }
  for (int i : fusion_.copied) {
    const Value v = graph_.outputs()[i].value;
    if (direct_value(static_cast<std::size_t>(i))) continue;
    const bool stays = bound_ && bound_->states > 0 && is_unchanged(static_cast<std::size_t>(i));
    if (graph_.type(v).size() > 0 && !in_place_.contains(v) && !stays) copies().output(i);
  }
  for (const Store& part : fusion_.copied_parts)
    copies().place(storage_.outputs[part.output], *part.access, part.value);
}

// Where a value that is computed or given lies in HBM.
isa::View Maker::storage_for(Value v) {
  const Op& op = graph_.op(v);
  const isa::Shape shape = stored_shape(op.type.shape);
  const DType t = stored_dtype(op.type.dtype);
  if (op.code == OpCode::input && bound_) {
    const std::vector<Value> inputs = graph_.inputs();
    return bound_->inputs[std::find(inputs.begin(), inputs.end(), v) - inputs.begin()];
  }
  if (op.code == OpCode::input && updated_.contains(v)) return k_.inout(op.text("name"), shape, t);
  if (op.code == OpCode::input) return k_.input(op.text("name"), shape, t);
  if (in_place_.contains(v)) return storage_.of.at(op.operands[0]);
  if (const auto direct = direct_.find(v); direct != direct_.end()) return output_storage(direct->second);
  if (op.code == OpCode::constant) return constant(op, shape, t);
  if (op.code == OpCode::iota) return k_.hbm({op.type.shape[op.integer("axis")]}, t);
  if (op.code == OpCode::pair_gather_hbm) return k_.tensor(Memory::shared_hbm, isa::Role::internal, shape, t, {});
  return k_.hbm(shape, t);
}

std::optional<Value> Maker::direct_value(std::size_t output) const {
  for (const auto& [v, i] : direct_) {
    if (i == output) return v;
  }
  return {};
}

isa::View Maker::output_storage(std::size_t i) {
  const Output& o = graph_.outputs()[i];
  if (bound_) return bound_->outputs[i];
  const Type& t = graph_.type(o.value);
  return t.size() ? k_.output(o.name, stored_shape(t.shape), stored_dtype(t.dtype)) : isa::View();
}

void Maker::find_direct_outputs() {
  for (int i : fusion_.copied) {
    Value v = graph_.outputs()[i].value;
    while (graph_.op(v).code == OpCode::reshape) v = graph_.op(v).operands[0];  // the same elements in the same order
    const int region = fusion_.region_of[v];
    const bool copies = region >= 0 && fusion_.regions[region].kind == Region::Kind::copies;
    if (copies && !is_view(graph_.op(v).code) && !in_place_.contains(v)) direct_.emplace(v, i);
  }
}

void Maker::declare() {
  find_direct_outputs();
  for (Value v = 0; v < graph_.size(); ++v) {
    const Op& op = graph_.op(v);
    if (!fusion_.is_stored[v] || op.type.size() == 0) continue;
    k_.at(k_.program().add_loc(graph_.loc(op)));
    if (op.is_splat() || storage_.residency.unstored.contains(v) || moving_.contains(v) || placed_.contains(v))
      continue;
    storage_.of[v] = storage_for(v);
  }
  declare_outputs();
}

void Maker::declare_outputs() {
  for (std::size_t i = 0; i < graph_.outputs().size(); ++i) {
    const Output& o = graph_.outputs()[i];
    const Type& t = graph_.type(o.value);
    if (const auto direct = direct_value(i); direct && t.size() > 0) {
      storage_.outputs.push_back(storage_.of.at(*direct));
    } else if (bound_) {
      storage_.outputs.push_back(in_place_.contains(o.value) ? storage_.of.at(o.value) : bound_->outputs[i]);
    } else if (in_place_.contains(o.value)) {
      out_.aliases[o.name] = graph_.op(graph_.op(o.value).operands[0]).text("name");
      storage_.outputs.push_back(storage_.of.at(o.value));
    } else {
      storage_.outputs.push_back(output_storage(i));
    }
  }
}

bool Maker::is_named(const std::string& name) const {
  const auto is_it = [&](const Op& op) { return op.code == OpCode::input && op.text("name") == name; };
  const auto is_output = [&](const Output& o) { return o.name == name; };
  return std::any_of(graph_.ops().begin(), graph_.ops().end(), is_it) ||
         std::any_of(graph_.outputs().begin(), graph_.outputs().end(), is_output);
}

// Tiles are called t0, t1, ... unless an input or output is.
void Maker::rename_tiles() {
  for (isa::Tensor& t : out_.program.tensors) {
    while (t.role == isa::Role::internal && is_named(t.name)) t.name += "_";
  }
}

// Whether an update may write what it updates: nobody else reads it, and it is donated or state that it becomes.
bool Maker::is_donated(Value v) const {
  const Value x = graph_.op(v).operands[0];
  if (graph_.op(x).code != OpCode::input) return false;
  const auto& donated = options_.donated;
  if (!bound_) return std::find(donated.begin(), donated.end(), graph_.op(x).text("name")) != donated.end();
  const std::vector<Value> inputs = graph_.inputs();
  for (std::size_t i = 0; i < bound_->states; ++i) {
    if (inputs[bound_->first_state + i] == x) return graph_.outputs()[i].value == v;
  }
  return false;
}

void Maker::find_spills() {
  for (const auto& [v, view] : storage_.of) {
    const Op& op = graph_.op(v);
    if (op.code == OpCode::input || op.code == OpCode::constant || in_place_.contains(v) || direct_.contains(v) ||
        moving_.contains(v) || placed_.contains(v))
      continue;
    const SourceLoc& loc = graph_.loc(op);
    const std::string place = loc.known() ? fmt::format(" of {}:{}", loc.file, loc.line) : "";
    out_.spills.push_back({fmt::format("{} {}{}", name(op.code), to_string(op.type), place),
                           static_cast<double>(op.type.size() * size_bytes(op.type.dtype))});
  }
}

// Whether all who read a value load it from HBM, through views at most.
bool Maker::reads_rows(Value v) const {
  for (const Output& o : graph_.outputs()) {
    if (o.value == v) return false;
  }
  for (Value u = v + 1; u < graph_.size(); ++u) {
    const Op& op = graph_.op(u);
    if (std::find(op.operands.begin(), op.operands.end(), v) == op.operands.end()) continue;
    const bool cuts = op.code == OpCode::dynamic_slice || op.code == OpCode::update_slice;
    if (cuts && op.operands.back() == v && std::count(op.operands.begin(), op.operands.end(), v) == 1)
      continue;  // where it starts
    if (!op.bodies.empty() || op.kernel || is_copy(op.code) || op.code == OpCode::gather_rows) return false;
    if (is_view(op.code) && !reads_rows(u)) return false;
  }
  return true;
}

void Maker::find_moving_views() {
  for (Value v = 0; v < graph_.size(); ++v) {
    const Op& op = graph_.op(v);
    if (op.code != OpCode::dynamic_slice || op.type.size() == 0 || splat_of(graph_, op.operands[1])) continue;
    const Source table = source_of(graph_, fusion_, op.operands[0]);
    const auto axis = static_cast<std::size_t>(op.integer("axis"));
    if (moving_.contains(table.base) || splat_of(graph_, op.operands[0])) continue;
    if (!table.access.is_contiguous() || product(op.type.shape, 0, axis) != 1) continue;
    if (reads_rows(v)) moving_.insert(v);
  }
}

bool Maker::is_placed(Value update) const {
  return std::any_of(placed_.begin(), placed_.end(), [&](const auto& p) { return p.second == update; });
}

// What a region computes for an update in place alone, from a place that is known when the program or the pass begins.
void Maker::find_placed_parts() {
  const std::vector<int> uses = graph_.uses();
  for (Value v : in_place_) {
    const Op& op = graph_.op(v);
    if (op.code != OpCode::update_slice) continue;
    if (product(op.type.shape, 0, static_cast<std::size_t>(op.integer("axis"))) != 1) continue;
    Value part = op.operands[1];
    while (graph_.op(part).code == OpCode::reshape && uses[part] == 1) part = graph_.op(part).operands[0];
    const int region = fusion_.region_of[part];
    if (uses[part] != 1 || region < 0 || !fusion_.is_stored[part] || graph_.type(part).size() == 0) continue;
    if (fusion_.regions[region].kind == Region::Kind::copies || fusion_.inlined.contains(part)) continue;
    const Source start = source_of(graph_, fusion_, op.operands[2]);
    const bool known = splat_of(graph_, op.operands[2]) || graph_.op(start.base).code == OpCode::input;
    const Source source = source_of(graph_, fusion_, op.operands[1]);
    if (known && source.base == part && source.access.is_contiguous() && source.access.offset == 0) placed_[part] = v;
  }
}

void Maker::find_updates() {
  const std::vector<int> uses = graph_.uses();
  for (Value v = 0; v < graph_.size(); ++v) {
    const Op& op = graph_.op(v);
    if (op.code != OpCode::update_slice && op.code != OpCode::scatter_rows && op.code != OpCode::scatter) continue;
    if (uses[op.operands[0]] != 1 || !is_donated(v)) continue;
    in_place_.insert(v);
    updated_.insert(op.operands[0]);
  }
}

isa::View Maker::constant(const Op& op, const isa::Shape& shape, DType t) {
  std::string name = fmt::format("const{}", root().out_.constants.size());
  while (root().is_named(name)) name += "_";
  root().out_.constants.push_back({name, {{t, op.type.shape}, {}}, op});
  return k_.input(name, shape, t);
}

// The layout of a region: the best estimate, or another one that is being tried. False when there is none.
bool Maker::plan(int region) {
  static const Layout none;
  layouts_.push_back(&none);
  alternatives_.push_back(1);
  if (fusion_.regions[region].kind == Region::Kind::copies) return true;
  const std::vector<Tiling>& best = plans_.tilings(graph_, fusion_, region, choice_.region_choices, choice_.sbuf_share);
  if (best.empty()) return false;
  const auto chosen = choice_.tiling.find(region);
  const std::size_t at = chosen == choice_.tiling.end() ? 0 : std::min(chosen->second, best.size() - 1);
  const auto own = choice_.of_region.find(region);
  const RegionOptions& options = own == choice_.of_region.end() ? region_options_ : own->second;
  layouts_.back() = &plans_.layout(graph_, fusion_, region, best[at].options);
  if (options.spread_rows > (bound_ ? 1 : 0)) {
    Layout& spread = spread_layouts_.emplace_back(*layouts_.back());
    spread.spreads = true;
    spread.spread = spread_rows(graph_, fusion_, region, spread, options.hoisted_bytes);
    layouts_.back() = &spread;
  }
  alternatives_.back() = best.size();
  return true;
}

void Maker::emit_rows(int region) {
  const Layout& plan = *layouts_[region];
  const std::size_t before = k_.program().instructions.size(), tiles = k_.program().tensors.size();
  const auto own = choice_.of_region.find(region);
  const RegionOptions& options = own == choice_.of_region.end() ? region_options_ : own->second;
  RegionEmitter(k_, graph_, fusion_, region, plan, storage_, chip_, options).emit();
  for (const Layout& rest : plan.rest)
    RegionEmitter(k_, graph_, fusion_, region, rest, storage_, chip_, options).emit();
  report(region, plan, k_.program().instructions.size() - before);
  out_.regions.back().first_instruction = static_cast<isa::InstructionId>(before);
  out_.regions.back().alternatives = alternatives_[region];
  const auto& tilings = plans_.tilings(graph_, fusion_, region, choice_.region_choices, choice_.sbuf_share);
  for (std::size_t t = 0; t < tilings.size(); ++t) {
    if (tilings[t].options.parts > 1) out_.regions.back().in_parts.push_back(t);
  }
  for (std::size_t t = tiles; t < k_.program().tensors.size(); ++t) {
    const isa::Tensor& tile = k_.program().tensors[t];
    RegionReport& told = out_.regions.back();
    if (tile.memory == Memory::sbuf) told.tile_bytes += static_cast<double>(tile.bytes_per_partition());
    if (tile.memory == Memory::psum) told.psum_bytes += static_cast<double>(tile.bytes_per_partition());
  }
}

void Maker::report(int region, const Layout& plan, std::size_t instructions) {
  std::vector<std::string_view> ops;
  for (Value v : fusion_.regions[region].ops) {
    if (!is_view(graph_.op(v).code)) ops.push_back(name(graph_.op(v).code));
  }
  out_.regions.push_back({.region = region,
                          .ops = fmt::format("{}", fmt::join(ops, " ")),
                          .rows = plan.partitions,
                          .packed = plan.packed,
                          .parts = plan.parts,
                          .loops = plan.loops,
                          .instructions = static_cast<std::int64_t>(instructions),
                          .hbm_bytes = moved_bytes(plan)});
}

// Matrices once; what moves with the rows as often as it is different.
double Maker::moved_bytes(const Layout& plan) const {
  double bytes = plan.rest.empty() ? 0 : moved_bytes(plan.rest[0]);
  for (const auto* leaves : {&plan.loads, &plan.stores}) {
    for (const Leaf& leaf : *leaves) {
      const auto index = static_cast<int>(&leaf - leaves->data());
      const Footprint* all = leaves == &plan.loads ? plan.footprint(index) : nullptr;
      double n = size_bytes(graph_.type(leaf.value).dtype);
      for (const isa::Dim& d : leaf.free) n *= static_cast<double>(d.stride == 0 ? 1 : d.count);
      if (all)  // each of its loads has a share in it
        n = size_bytes(graph_.type(leaf.value).dtype) * static_cast<double>(all->span) /
            static_cast<double>(all->loads.size()) / static_cast<double>(leaf.packed ? plan.packed : 1);
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

}  // namespace kiln::tensor
