#include "kiln/check/reorder.h"

#include <algorithm>
#include <queue>
#include <span>

#include "kiln/analysis/statements.h"
#include "kiln/isa/inst_view.h"
#include "kiln/isa/uses.h"

namespace kiln::check {
namespace {

using isa::kNone;
using isa::Node;
using isa::Program;
using isa::TensorId;

// What two statements can both touch, numbered: tensors, then registers, hidden state of engines, and the memories
// in which tensors were placed by hand.
class Resources {
 public:
  explicit Resources(const Program& program)
      : registers_(program.tensors.size()),
        states_(registers_ + program.registers.size()),
        placed_(states_ + kStates),
        count_(placed_ + 2) {}

  std::size_t of(const Program& program, TensorId id) const {
    const isa::Tensor& t = program.tensors[id];
    return t.address && is_on_chip(t.memory) ? placed_ + (t.memory == Memory::psum ? 1 : 0) : id;
  }
  std::size_t of_register(isa::RegisterId id) const { return registers_ + id; }
  std::size_t of_state(int bit) const { return states_ + bit; }
  std::size_t count() const { return count_; }

  static constexpr int kStates = 32;

 private:
  std::size_t registers_, states_, placed_, count_;
};

// A statement of the block at hand; a loop is one statement.
struct Unit {
  Node node;
  std::vector<std::uint32_t> before;  // units that it waits for
  std::vector<TensorId> tensors;      // that its uses keep alive, each once
  bool meets = false;                 // the cores of a pair meet in it
};

// The units of a block with who waits for whom.
class Units {
 public:
  Units(const Program& program, std::span<const Node> block, const Resources& resources)
      : program_(program), resources_(resources), unit_of_(program.instructions.size(), kNone) {
    last_.resize(resources.count());
    for (const Node& node : block) {
      if (node.kind != Node::Kind::declare) add(node);
    }
  }
  std::vector<Unit> take() && { return std::move(units_); }

 private:
  struct Last {
    std::uint32_t write = kNone;
    std::vector<std::uint32_t> reads;  // since then
  };

  void add(const Node& node) {
    const auto number = static_cast<std::uint32_t>(units_.size());
    Unit& unit = units_.emplace_back(Unit{.node = node});
    if (fence_ != kNone) unit.before.push_back(fence_);
    if (node.kind == Node::Kind::loop) {
      add_loop(program_.loops[node.index], number);
      analysis::for_each_statement(program_, node.index, [&](const analysis::Statement& s) {
        if (s.is_loop()) add_loop(program_.loops[s.node.index], number);
      });
    }
    analysis::for_each_instruction(program_, node, [&](isa::InstructionId id) { add(id, number); });
    if (unit.meets) {
      for (std::uint32_t u = fence_ == kNone ? 0 : fence_; u < number; ++u) unit.before.push_back(u);
      fence_ = number;
    }
    tidy(unit.before, number);
    tidy(unit.tensors, kNone);
  }

  void add_loop(const isa::Loop& loop, std::uint32_t number) {
    if (loop.reg != kNone) write(resources_.of_register(loop.reg), number);
    for (const isa::Bound& bound : {loop.lower, loop.upper}) {
      if (bound.is_register) write(resources_.of_register(static_cast<isa::RegisterId>(bound.value)), number);
    }
  }

  void add(isa::InstructionId id, std::uint32_t number) {
    const isa::Instruction& inst = program_.instructions[id];
    const isa::InstView view(program_, inst);
    Unit& unit = units_[number];
    unit_of_[id] = number;
    unit.meets |= view.facts().meets;
    isa::for_each_use(program_, inst, [&](const isa::Access& access, isa::Use use) {
      const std::size_t resource = resources_.of(program_, access.tensor);
      use == isa::Use::read ? read(resource, number) : write(resource, number);
      unit.tensors.push_back(access.tensor);
    });
    isa::for_each_register(program_, inst, [&](isa::RegisterId reg) { write(resources_.of_register(reg), number); });
    const auto state = view.row().semantics->state;
    const unsigned bits = state ? state(view) : 0;
    for (int bit = 0; bit < Resources::kStates; ++bit) {
      if (bits >> bit & 1) write(resources_.of_state(bit), number);
    }
    for (std::uint32_t d = 0; d < inst.dep_count; ++d) {
      const std::uint32_t producer = unit_of_[program_.deps[inst.first_dep + d]];
      if (producer != kNone) unit.before.push_back(producer);
    }
  }

  void read(std::size_t resource, std::uint32_t number) {
    Last& last = last_[resource];
    if (last.write != kNone) units_[number].before.push_back(last.write);
    if (last.reads.empty() || last.reads.back() != number) last.reads.push_back(number);
  }
  void write(std::size_t resource, std::uint32_t number) {
    Last& last = last_[resource];
    auto& before = units_[number].before;
    if (last.write != kNone) before.push_back(last.write);
    before.insert(before.end(), last.reads.begin(), last.reads.end());
    last.write = number;
    last.reads.clear();
  }

  // Each once, without `self`.
  static void tidy(std::vector<std::uint32_t>& list, std::uint32_t self) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    std::erase(list, self);
  }

  const Program& program_;
  const Resources& resources_;
  std::vector<std::uint32_t> unit_of_;  // by instruction; kNone: not in this block, or not yet
  std::vector<Unit> units_;
  std::vector<Last> last_;  // by resource
  std::uint32_t fence_ = kNone;
};

// By unit: its place when each is made just before what needs it, the last ones of the program in the order written.
std::vector<std::uint32_t> order_of_need(const std::vector<Unit>& units) {
  std::vector<bool> is_needed(units.size());
  for (const Unit& unit : units) {
    for (const std::uint32_t b : unit.before) is_needed[b] = true;
  }
  std::vector<std::uint32_t> place(units.size(), kNone), open;
  std::vector<std::size_t> next(units.size());
  std::uint32_t count = 0;
  for (std::uint32_t last = 0; last < units.size(); ++last) {
    if (is_needed[last]) continue;
    open.push_back(last);
    while (!open.empty()) {
      const std::uint32_t u = open.back();
      if (place[u] == kNone && next[u] < units[u].before.size()) {
        const std::uint32_t b = units[u].before[next[u]++];
        if (place[b] == kNone) open.push_back(b);
        continue;
      }
      if (place[u] == kNone) place[u] = count++;
      open.pop_back();
    }
  }
  return place;
}

// Puts the units of a block into their new order: of those that wait for nobody any more, first one that frees memory,
// then one that needs none, then the next in the order of filling.
class Scheduler {
 public:
  Scheduler(const Program& program, std::vector<Unit> units, std::vector<char> counts, FillOrder fill)
      : program_(program), units_(std::move(units)), counts_(std::move(counts)), fill_place_(units_.size()) {
    for (std::uint32_t u = 0; u < units_.size(); ++u) fill_place_[u] = u;
    if (fill == FillOrder::needed) fill_place_ = order_of_need(units_);
  }

  std::vector<Node> order() {
    prepare();
    std::vector<Node> out;
    while (!ready_.empty()) {
      const Candidate best = ready_.top();
      ready_.pop();
      if (is_done_[best.unit] || best != candidate(best.unit)) continue;  // another entry says more
      out.push_back(units_[best.unit].node);
      finish(best.unit);
    }
    return out;
  }

 private:
  struct Candidate {
    int kind;             // 0: frees memory; 1: needs none; 2: fills some
    std::uint32_t place;  // in the order of filling
    std::uint32_t unit;
    auto operator<=>(const Candidate&) const = default;
  };

  void prepare() {
    waits_.resize(units_.size());
    is_done_.resize(units_.size());
    after_.resize(units_.size());
    uses_.resize(program_.tensors.size());
    begun_.resize(program_.tensors.size());
    for (std::uint32_t u = 0; u < units_.size(); ++u) {
      waits_[u] = static_cast<std::uint32_t>(units_[u].before.size());
      for (const std::uint32_t b : units_[u].before) after_[b].push_back(u);
      for (const TensorId t : units_[u].tensors) {
        if (counts_[t]) uses_[t].push_back(u);
      }
    }
    for (const auto& users : uses_) left_.push_back(static_cast<std::uint32_t>(users.size()));
    for (std::uint32_t u = 0; u < units_.size(); ++u) offer(u);
  }

  // Bytes that a unit makes alive, less those that it is the last to use.
  std::int64_t growth(std::uint32_t u) const {
    std::int64_t bytes = 0;
    for (const TensorId t : units_[u].tensors) {
      if (!counts_[t]) continue;
      const isa::Tensor& tensor = program_.tensors[t];
      const std::int64_t size = tensor.bytes_per_partition() * tensor.partitions();
      bytes += (begun_[t] ? 0 : size) - (left_[t] == 1 ? size : 0);
    }
    return bytes;
  }

  Candidate candidate(std::uint32_t u) const {
    const std::int64_t bytes = growth(u);
    return {bytes < 0 ? 0 : bytes == 0 ? 1 : 2, fill_place_[u], u};
  }

  void offer(std::uint32_t u) {
    if (!is_done_[u] && waits_[u] == 0) ready_.push(candidate(u));
  }

  void finish(std::uint32_t u) {
    is_done_[u] = true;
    for (const std::uint32_t a : after_[u]) {
      if (--waits_[a] == 0) offer(a);
    }
    for (const TensorId t : units_[u].tensors) {
      if (!counts_[t]) continue;
      const bool begins = !begun_[t];
      begun_[t] = true;
      --left_[t];
      if (!begins && left_[t] != 1) continue;  // nobody's growth changed
      for (const std::uint32_t user : uses_[t]) offer(user);
    }
  }

  const Program& program_;
  std::vector<Unit> units_;
  std::vector<char> counts_;  // by tensor: it counts where it is alive
  std::vector<std::uint32_t> fill_place_, waits_, left_;
  std::vector<std::vector<std::uint32_t>> after_, uses_;
  std::vector<bool> is_done_, begun_;
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> ready_;
};

// By tensor: the block declares it, it lies in one of the memories and has no place of its own.
std::vector<char> counting(const Program& program, std::span<const Node> block, unsigned memories) {
  std::vector<char> counts(program.tensors.size());
  for (const Node& node : block) {
    if (node.kind != Node::Kind::declare) continue;
    const isa::Tensor& t = program.tensors[node.index];
    counts[node.index] = (memories & memory_bit(t.memory)) && !t.address;
  }
  return counts;
}

}  // namespace

Program reordered(const Program& program, unsigned memories, FillOrder fill) {
  Program out = program;
  const Resources resources(program);
  const auto reorder = [&](isa::Block& block) {
    Scheduler scheduler(program, Units(program, block, resources).take(), counting(program, block, memories), fill);
    const std::vector<Node> order = scheduler.order();
    const auto rest = std::stable_partition(block.begin(), block.end(),
                                            [](const Node& node) { return node.kind == Node::Kind::declare; });
    std::copy(order.begin(), order.end(), rest);
  };
  for (isa::Loop& loop : out.loops) reorder(loop.body);
  reorder(out.body);
  return out;
}

}  // namespace kiln::check
