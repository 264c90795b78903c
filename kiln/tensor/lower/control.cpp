// Loops and branches: bodies are built into the same program. State lies in HBM between passes, or in SBUF where all
// that reads it in the body finds it there.
#include <fmt/format.h>

#include <algorithm>

#include "kiln/tensor/ir/rules.h"
#include "kiln/tensor/lower/maker.h"
#include "kiln/tensor/passes/collectives.h"
#include "kiln/tensor/passes/rewrite.h"

namespace kiln::tensor {

using isa::Index;
using isa::View;

namespace {

constexpr std::int64_t kStateBytes = 49152;  // of a partition, for all state of a loop

DType stored_dtype(DType t) { return t == DType::bool_ ? DType::uint8 : t; }
isa::Shape stored_shape(const Shape& shape) { return shape.empty() ? isa::Shape{1} : shape; }

}  // namespace

// Where a result of an op with bodies lies: the op itself is the first, `result` ops are the others.
View Maker::result_storage(Value v, std::int64_t index) {
  const Type t = result_types(graph_.op(v)).at(static_cast<std::size_t>(index));
  if (t.size() == 0) {
    raise(rules::kTable, rules::kNotYet,
          {.found = "not yet: state without elements", .loc = graph_.loc(graph_.op(v)), .category = Category::not_yet});
  }
  if (index == 0 && storage_.of.contains(v)) return storage_.of.at(v);
  for (Value u = 0; u < graph_.size(); ++u) {
    const Op& op = graph_.op(u);
    if (op.code == OpCode::result && op.operands[0] == v && op.integer("index") == index && storage_.of.contains(u))
      return storage_.of.at(u);
  }
  return k_.hbm(stored_shape(t.shape), stored_dtype(t.dtype));
}

// Where a body finds an operand: where it lies when it lies there whole and in order, else a copy.
View Maker::operand_storage(Control& control, Value operand) {
  const Type& t = graph_.type(operand);
  if (!splat_of(graph_, operand)) {
    const Source s = source_of(graph_, fusion_, operand);
    const bool whole = s.access.offset == 0 && s.access.is_contiguous() && graph_.type(s.base).size() == t.size() &&
                       graph_.op(s.base).code != OpCode::iota;
    if (whole && storage_.of.contains(s.base)) return storage_.of.at(s.base);
  }
  const View copy = k_.hbm(stored_shape(t.shape), stored_dtype(t.dtype));
  control.given.emplace_back(copy, operand);
  return copy;
}

bool Maker::prepare_control(Value v) {
  const Op& op = graph_.op(v);
  Control& control = control_[v];
  const bool is_branch = op.code == OpCode::branch, counts = op.code == OpCode::for_loop;
  const auto states = static_cast<std::size_t>(is_branch ? 0 : op.integer("carried"));
  const Graph& body = *op.bodies.back();
  for (std::size_t i = 0; i < body.outputs().size(); ++i)
    control.results.push_back(result_storage(v, static_cast<std::int64_t>(i)));
  std::vector<View> inputs(control.results.begin(), control.results.begin() + static_cast<std::ptrdiff_t>(states));
  for (std::size_t i = is_branch ? 1 : states; i < op.operands.size(); ++i)
    inputs.push_back(operand_storage(control, op.operands[i]));
  if (is_branch) control.condition = operand_storage(control, op.operands[0]);
  if (counts) {
    control.passes = k_.hbm({std::max<std::int64_t>(1, op.integer("count"))}, DType::int32);
    control.pass = k_.hbm({1}, DType::int32);
    inputs.insert(inputs.begin(), *control.pass);
  }
  std::vector<View> outputs = control.results;
  for (std::size_t i = 0; i < states; ++i)
    outputs[i] = k_.hbm(stored_shape(body.type(body.outputs()[i].value).shape), control.results[i].dtype());
  for (const Body& b : op.bodies) {
    const bool is_condition = op.code == OpCode::while_loop && b == op.bodies[0];
    if (is_condition) control.condition = k_.hbm({1}, DType::uint8);
    Bound bound{*this, inputs, is_condition ? std::vector{*control.condition} : outputs, counts ? std::size_t{1} : 0,
                is_condition ? 0 : states};
    control.bodies.push_back(std::unique_ptr<Maker>(new Maker(*b, std::move(bound))));
    if (!control.bodies.back()->prepare()) return false;
  }
  return true;
}

// Arguments of a kernel where they lie, what it changes as a copy, results where they are read.
void Maker::prepare_kernel(Value v) {
  const Op& op = graph_.op(v);
  if (op.kernel->target != options_.target || (op.kernel->lnc != 1 && !meets_in_kernel(op))) {
    raise(rules::kTable, rules::kBody,
          {.found = fmt::format("a kernel for {} in a program for {}", arch(op.kernel->target).name,
                                arch(options_.target).name),
           .loc = graph_.loc(op)});
  }
  Control& control = control_[v];
  std::int64_t outputs = 0, changed = 0;
  for (const isa::Tensor& t : op.kernel->tensors) outputs += t.role == isa::Role::output;
  std::size_t next = 0;
  std::int64_t made = 0;
  for (const isa::Tensor& t : op.kernel->tensors) {
    if (t.role == isa::Role::output) {
      control.results.push_back(result_storage(v, made++));
    } else if (t.role == isa::Role::inout) {
      control.results.push_back(result_storage(v, outputs + changed++));
      control.given.emplace_back(control.results.back(), op.operands[next++]);
    } else if (t.role == isa::Role::input) {
      control.results.push_back(operand_storage(control, op.operands[next++]));
    }
  }
}

void Maker::emit_kernel(Value v) {
  const Control& control = control_.at(v);
  for (const auto& [view, operand] : control.given)
    copies().place(view, Strided::contiguous(graph_.type(operand).shape), operand);
  k_.splice(*graph_.op(v).kernel, control.results);
}

void Maker::emit_control(Value v) {
  const Op& op = graph_.op(v);
  Control& control = control_.at(v);
  for (const auto& [view, operand] : control.given)
    copies().place(view, Strided::contiguous(graph_.type(operand).shape), operand);
  if (op.code == OpCode::branch) return emit_branch(v);
  for (std::int64_t i = 0; i < op.integer("carried"); ++i) {
    if (op.code == OpCode::for_loop &&
        control.bodies.back()->is_rewritten(static_cast<std::size_t>(i), op.integer("count")))
      continue;
    copies().place(control.results[i], Strided::contiguous(graph_.type(op.operands[i]).shape), op.operands[i]);
  }
  control.bodies.back()->load_states();
  if (op.code == OpCode::for_loop)
    emit_for(v);
  else
    emit_while(v);
  control.bodies.back()->store_states();
  leave_states(v);
}

// State that is in SBUF when the last pass is over is found there.
void Maker::leave_states(Value v) {
  const Control& control = control_.at(v);
  for (const KeptState& s : control.bodies.back()->kept_states_) {
    for (std::size_t i = 0; i < control.results.size(); ++i) {
      if (control.results[i].tensor() != s.hbm.tensor()) continue;
      if (i == 0) storage_.kept[v] = s.now;
      for (Value u = v + 1; u < graph_.size(); ++u) {
        const Op& op = graph_.op(u);
        if (op.code == OpCode::result && op.operands[0] == v && op.integer("index") == static_cast<std::int64_t>(i))
          storage_.kept[u] = s.now;
      }
    }
  }
}

void Maker::emit_for(Value v) {
  const std::int64_t count = graph_.op(v).integer("count");
  if (count == 0) return;
  Control& control = control_.at(v);
  Maker& body = *control.bodies[0];
  const Value pass = body.graph_.inputs()[0];
  const bool stored = body.computes_with(pass);
  if (stored) copies().ramp(*control.passes, count);
  k_.loop(count, [&](Index i) {
    body.pass_ = {pass, i};
    if (stored) k_.dma_copy({.dst = control.pass->ap({{1, 1}}), .src = control.passes->ap({{1, 1}}, i)});
    body.emit();
    body.finish_pass();
  });
}

void Maker::emit_while(Value v) {
  Control& control = control_.at(v);
  Maker &condition = *control.bodies[0], &body = *control.bodies[1];
  const isa::Reg goes_on = k_.reg();
  const auto ask = [&] {
    body.store_states();  // the condition reads HBM
    condition.emit();
    k_.register_load({.dst = goes_on, .src = control.condition->ap({{1, 1}})});
  };
  ask();
  k_.while_loop(goes_on, [&] {
    body.emit();
    body.finish_pass();
    ask();
  });
}

// A branch is a loop of one pass or none.
void Maker::emit_branch(Value v) {
  Control& control = control_.at(v);
  const View condition = k_.sbuf({1, 1}, DType::uint8), otherwise = k_.sbuf({1, 1}, DType::int32);
  k_.dma_copy({.dst = condition, .src = control.condition->ap({{1, 1}, {1, 1}})});
  k_.tensor_scalar({.dst = otherwise, .data = condition, .op0 = AluOp::equal, .operand0 = 0.0});
  const isa::Reg yes = k_.reg(), no = k_.reg();
  k_.register_load({.dst = yes, .src = condition});
  k_.register_load({.dst = no, .src = otherwise});
  k_.fori_loop(0, yes, [&](isa::Reg) { control.bodies[0]->emit(); });
  k_.fori_loop(0, no, [&](isa::Reg) { control.bodies[1]->emit(); });
}

// The state comes out of a pass as it went in.
bool Maker::is_unchanged(std::size_t state) const {
  return graph_.outputs()[state].value == graph_.inputs()[bound_->first_state + state];
}
bool Maker::is_updated(std::size_t state) const { return in_place_.contains(graph_.outputs()[state].value); }

// Each pass writes its own part of the state, all passes all of it, and nobody reads what was there.
bool Maker::is_rewritten(std::size_t state, std::int64_t count) const {
  const Op& op = graph_.op(graph_.outputs()[state].value);
  const Value before = graph_.inputs()[bound_->first_state + state];
  if (!is_updated(state) || op.code != OpCode::update_slice || op.operands[0] != before) return false;
  const auto axis = static_cast<std::size_t>(op.integer("axis"));
  return graph_.uses()[before] == 1 && op.operands[2] == graph_.inputs()[0] && op.type.shape[axis] == count &&
         graph_.type(op.operands[1]).shape[axis] == 1;
}

// Whether an input is read by more than addresses.
bool Maker::computes_with(Value input) const {
  for (const Op& op : graph_.ops()) {
    for (std::size_t i = 0; i < op.operands.size(); ++i) {
      const bool is_start = (op.code == OpCode::dynamic_slice && i == 1) || (op.code == OpCode::update_slice && i == 2);
      if (op.operands[i] == input && !is_start) return true;
    }
  }
  return std::any_of(graph_.outputs().begin(), graph_.outputs().end(),
                     [&](const Output& o) { return o.value == input; });
}

// The only reader of the state is the op that makes the next one of it, element by element in one instruction.
bool Maker::changes_in_place(std::size_t state) const {
  const Value s = graph_.inputs()[bound_->first_state + state];
  const Op& op = graph_.op(graph_.outputs()[state].value);
  const OpCode code = op.code;
  const bool one = code == OpCode::add || code == OpCode::subtract || code == OpCode::multiply ||
                   code == OpCode::maximum || code == OpCode::minimum;
  return one && is_float(op.type.dtype) && op.type == graph_.type(s) && graph_.uses()[s] == 1 &&
         std::count(op.operands.begin(), op.operands.end(), s) == 1;
}

// State stays in SBUF when the region that makes it leaves it as all that read it want it.
void Maker::keep_states() {
  std::int64_t left = kStateBytes;
  std::set<Value> moved;  // what is read from HBM
  const auto base_of = [&](Value x) {
    while (is_view(graph_.op(x).code)) x = graph_.op(x).operands[0];
    return x;
  };
  for (const Region& region : fusion_.regions) {
    for (Value v : region.ops) {
      if (region.kind != Region::Kind::copies && graph_.op(v).code != OpCode::gather_rows) continue;
      for (Value x : graph_.op(v).operands) moved.insert(base_of(x));
    }
  }
  for (int i : fusion_.copied) moved.insert(base_of(graph_.outputs()[i].value));
  for (std::size_t state = 0; state < bound_->states; ++state) {
    const Value s = graph_.inputs()[bound_->first_state + state];
    const Type& t = graph_.type(s);
    KeptShape shape{0, 0};
    bool fits = !moved.contains(s) && t.dtype != DType::bool_;
    for (const Layout* layout : layouts_) {
      for (Leaf leaf : layout->stores) {
        if (leaf.output != static_cast<int>(state)) continue;
        leaf.output = -1;
        fits = fits && can_keep(*layout, leaf, t.size(), shape) && !shape.turned;
      }
    }
    for (const Layout* layout : layouts_) {
      for (const Leaf& leaf : layout->loads) fits = fits && (leaf.base != s || finds(*layout, leaf, shape));
    }
    const bool in_place = changes_in_place(state);
    const std::int64_t bytes = (in_place ? 1 : 2) * shape.row * size_bytes(t.dtype);
    if (!fits || shape.rows == 0 || bytes > left) continue;
    left -= bytes;
    const Free row{1, {shape.row}};
    const Tile now = new_tile(k_, Memory::sbuf, shape.rows, row, t.dtype);
    const KeptState kept{bound_->inputs[bound_->first_state + state], now,
                         in_place ? now : new_tile(k_, Memory::sbuf, shape.rows, row, t.dtype)};
    storage_.kept[s] = kept.now;
    storage_.kept_outputs[static_cast<int>(state)] = kept.next;
    kept_states_.push_back(kept);
  }
  if (bound_->states > 0) keep_reads(moved, left);
}

// What a body reads in every pass and never changes stays in SBUF too.
void Maker::keep_reads(const std::set<Value>& moved, std::int64_t left) {
  const std::vector<Value> inputs = graph_.inputs();
  for (std::size_t i = bound_->first_state + bound_->states; i < inputs.size(); ++i) {
    const Value s = inputs[i];
    const Type& t = graph_.type(s);
    KeptShape shape{0, 0};
    bool fits = !moved.contains(s) && t.dtype != DType::bool_;
    for (const Layout* layout : layouts_) {
      for (const Leaf& leaf : layout->loads) {
        if (leaf.base != s) continue;
        if (shape.rows == 0) shape.rows = leaf.is_matrix ? leaf.free[0].count : layout->partitions;
        if (shape.rows > 0) shape.row = t.size() / shape.rows;
        fits = fits && shape.rows <= 128 && shape.rows * shape.row == t.size() && finds(*layout, leaf, shape);
      }
    }
    const std::int64_t bytes = shape.row * size_bytes(t.dtype);
    if (!fits || shape.rows == 0 || bytes > left) continue;
    left -= bytes;
    const Tile now = new_tile(k_, Memory::sbuf, shape.rows, {1, {shape.row}}, t.dtype);
    storage_.kept[s] = now;
    kept_reads_.push_back({bound_->inputs[i], now, {}});
  }
}

// Matrices that a body reads in every pass and never changes.
void Maker::hold_matrices() {
  std::set<Value> unchanged;
  const std::vector<Value> inputs = graph_.inputs();
  for (std::size_t i = bound_->first_state + bound_->states; i < inputs.size(); ++i) unchanged.insert(inputs[i]);
  for (Value v = 0; v < graph_.size(); ++v) {
    if (graph_.op(v).code == OpCode::constant) unchanged.insert(v);
  }
  std::int64_t left = choice_.held_bytes;
  for (std::size_t r = 0; r < fusion_.regions.size(); ++r) {
    if (fusion_.regions[r].is_dropped || fusion_.regions[r].kind != Region::Kind::rows) continue;
    RegionEmitter(k_, graph_, fusion_, static_cast<int>(r), *layouts_[r], storage_, chip_, region_options_)
        .hold(unchanged, left);
  }
}

void Maker::load_states() {
  hold_matrices();
  for (const auto* all : {&kept_states_, &kept_reads_}) {
    for (const KeptState& s : *all) {
      const std::int64_t row = s.now.count();
      k_.dma_copy({.dst = view_of(s.now, {{1, row}}), .src = s.hbm.ap({{row, s.now.rows}, {1, row}})});
    }
  }
}

void Maker::store_states() {
  for (const KeptState& s : kept_states_) {
    const std::int64_t row = s.now.count();
    k_.dma_copy({.dst = s.hbm.ap({{row, s.now.rows}, {1, row}}), .src = view_of(s.now, {{1, row}})});
  }
}

// What a pass made becomes what the next one reads.
void Maker::finish_pass() {
  for (const KeptState& s : kept_states_) {
    const Dims row{{1, s.now.count()}};
    if (s.now.storage.tensor() == s.next.storage.tensor()) continue;
    k_.tensor_copy({.dst = view_of(s.now, row), .src = view_of(s.next, row)});
  }
  for (std::size_t i = 0; i < bound_->states; ++i) {
    if (is_unchanged(i) || is_updated(i) || storage_.kept_outputs.contains(static_cast<int>(i))) continue;
    const Strided all = Strided::contiguous(graph_.type(graph_.outputs()[i].value).shape);
    copies().move(bound_->inputs[bound_->first_state + i], all, bound_->outputs[i], all);
  }
}

}  // namespace kiln::tensor
