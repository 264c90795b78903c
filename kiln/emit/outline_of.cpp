// From a program to its outline: statements as they stand, nothing rolled yet.
#include <limits>

#include "kiln/emit/key_text.h"
#include "kiln/emit/outline.h"
#include "kiln/emit/slots.h"
#include "kiln/isa/launch.h"

namespace kiln::emit {
namespace {

using isa::Node;

class OutlineBuilder {
 public:
  OutlineBuilder(const isa::Program& program, Keys& keys, int variables, std::span<const std::string> groups)
      : program_(program), keys_(keys), groups_(groups) {
    out_.variables = variables;
    out_.tensors = static_cast<std::uint32_t>(program.tensors.size());
    out_.registers = static_cast<std::uint32_t>(program.registers.size());
    column_of_.resize(program.loops.size());
    in_chain_.resize(program.instructions.size());
    is_issued_.resize(program.instructions.size());
    waited_for_.resize(program.instructions.size());
    add_entities(EntityInfo::Kind::tensor, program.tensors.size());
    add_entities(EntityInfo::Kind::reg, program.registers.size());
    add_entities(EntityInfo::Kind::instruction, program.instructions.size());
  }

  Outline run() {
    find_chains(program_.body);
    for (const isa::Instruction& inst : program_.instructions) find_named(inst);
    for (std::size_t i = 0; i < program_.instructions.size(); ++i) {
      for (const isa::InstructionId dep : explicit_deps(static_cast<isa::InstructionId>(i))) waited_for_[dep] = true;
    }
    out_.items = block(program_.body, out_.variables);
    for (std::size_t t = 0; t < program_.tensors.size(); ++t) {
      if (program_.tensors[t].role != isa::Role::internal)
        out_.entities[t].last_use = std::numeric_limits<std::uint32_t>::max();
    }
    return std::move(out_);
  }

 private:
  void add_entities(EntityInfo::Kind kind, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      out_.entities.push_back({.kind = kind, .source = static_cast<std::uint32_t>(i)});
  }

  // Instructions that follow each other and wait for one another in turn: what nl.no_reorder() makes.
  void find_chains(const isa::Block& block) {
    isa::InstructionId before = isa::kNone;
    for (const Node& node : block) {
      if (node.kind == Node::Kind::loop) {
        if (runs(node.index)) find_chains(program_.loops[node.index].body);
        before = isa::kNone;
      }
      if (node.kind != Node::Kind::instruction) continue;
      const isa::Instruction& inst = program_.instructions[node.index];
      in_chain_[node.index] = inst.dep_count > 0 && before != isa::kNone && program_.deps[inst.first_dep] == before;
      before = node.index;
      is_issued_[node.index] = true;
    }
  }

  void find_named(const isa::Instruction& inst) {
    const isa::InstructionInfo& row = info(inst.opcode);
    for (std::size_t i = 0; row.is_of_ranks() && i < row.params.size(); ++i) {
      const isa::Arg& arg = program_.arg(inst, static_cast<int>(i));
      const bool is_list = arg.kind == isa::Arg::Kind::accesses;
      if (!is_list && arg.kind != isa::Arg::Kind::access) continue;
      for (std::uint32_t k = 0; k < (is_list ? arg.count : 1); ++k) {
        const isa::TensorId id = program_.accesses[arg.index + k].tensor;
        if (is_hbm(program_.tensors[id].memory) && !is_argument(id)) out_.named.insert(id);
      }
    }
  }

  bool runs(isa::LoopId id) const {
    const isa::Loop& loop = program_.loops[id];
    return loop.kind != isa::Loop::Kind::static_for || loop.trip_count() > 0;
  }

  // Those that no chain implies, without instructions of loops that never run.
  std::vector<isa::InstructionId> explicit_deps(isa::InstructionId id) const {
    const isa::Instruction& inst = program_.instructions[id];
    std::vector<isa::InstructionId> deps;
    for (std::uint32_t d = in_chain_[id] ? 1 : 0; d < inst.dep_count; ++d) {
      const isa::InstructionId dep = program_.deps[inst.first_dep + d];
      if (is_issued_[dep]) deps.push_back(dep);
    }
    return deps;
  }

  std::vector<Item> block(const isa::Block& nodes, int depth) {
    std::vector<Item> items;
    for (std::size_t i = 0; i < nodes.size();) {
      const std::size_t end = end_of_chain(nodes, i);
      if (end == i) {
        add(items, nodes[i++], depth);
        continue;
      }
      Item chain{.kind = Item::Kind::ordered, .width = width(depth)};
      for (; i < end; ++i) add(chain.body, nodes[i], depth);
      items.push_back(std::move(chain));
    }
    return items;
  }

  // One past the last statement of the chain that begins at `first`; `first` itself when none does.
  std::size_t end_of_chain(const isa::Block& nodes, std::size_t first) const {
    if (nodes[first].kind != Node::Kind::instruction) return first;
    std::size_t end = first;
    for (std::size_t i = first + 1; i < nodes.size() && nodes[i].kind != Node::Kind::loop; ++i) {
      if (nodes[i].kind != Node::Kind::instruction) continue;
      if (!in_chain_[nodes[i].index]) break;
      end = i + 1;
    }
    return end;
  }

  void add(std::vector<Item>& items, const Node& node, int depth) {
    switch (node.kind) {
      case Node::Kind::declare:
        if (!is_argument(node.index)) items.push_back(declare(node.index, depth));
        break;
      case Node::Kind::instruction:
        items.push_back(instruction(node.index, depth));
        break;
      case Node::Kind::loop:
        if (runs(node.index)) items.push_back(loop(node.index, depth));
        break;
    }
  }

  bool is_argument(isa::TensorId id) const {
    const isa::Role role = program_.tensors[id].role;
    return role == isa::Role::input || role == isa::Role::inout;
  }

  void begin(Item::Kind kind, std::uint32_t source, int depth) {
    item_ = {.kind = kind, .source = source, .last = ++statements_, .width = width(depth)};
    key_ = {};
  }
  Item end() {
    item_.key = keys_.number(std::move(key_).text());
    return std::move(item_);
  }
  std::size_t width(int depth) const { return 1 + static_cast<std::size_t>(depth); }

  Item declare(isa::TensorId id, int depth) {
    const isa::Tensor& t = program_.tensors[id];
    begin(Item::Kind::declare, id, depth);
    key_.add('t').add(stem(t.name)).add(t.memory).add(t.dtype).add(t.role).add(t.shape.size());
    for (const std::int64_t n : t.shape) key_.add(n);
    // Who shares it finds it by its name, so it is declared as itself.
    const bool is_shared = program_.lnc == 2 && isa::is_shared(t);
    if (t.role != isa::Role::internal || is_shared || out_.named.contains(id)) key_.add(t.name);
    key_.add(t.address.has_value());
    if (t.address) {
      number({t.address->partition, 0, 0});
      number({t.address->byte_offset, 0, 0});
    }
    item_.makes.push_back(out_.tensor(id));
    return end();
  }

  // Names that differ in their number only were one name in the source.
  static std::string stem(const std::string& name) {
    const std::size_t end = name.find_last_not_of("0123456789_");
    return end == std::string::npos ? name : name.substr(0, end + 1);
  }

  Item instruction(isa::InstructionId id, int depth) {
    const isa::Instruction& inst = program_.instructions[id];
    const isa::InstructionInfo& row = info(inst.opcode);
    const isa::Facts& facts = row.semantics->facts;
    begin(Item::Kind::instruction, id, depth);
    key_.add('i').add(inst.opcode).add(inst.left_open).add(inst.name != isa::kNone);
    if (inst.name != isa::kNone) key_.add(program_.strings[inst.name]);
    if (id < groups_.size()) key_.add(groups_[id]);
    for (std::size_t i = 0; i < row.params.size(); ++i) {
      const isa::Arg& arg = program_.arg(inst, static_cast<int>(i));
      if (facts.declares_register && static_cast<int>(i) == facts.sets_register) {
        item_.makes.push_back(out_.reg(arg.index));
      } else {
        walk_argument(program_, arg, *this);
      }
    }
    item_.waits = static_cast<std::uint32_t>(explicit_deps(id).size());
    key_.add(item_.waits);
    for (const isa::InstructionId dep : explicit_deps(id)) refer(out_.instruction(dep));
    key_.add(static_cast<bool>(waited_for_[id]));
    if (waited_for_[id]) item_.makes.push_back(out_.instruction(id));
    return end();
  }

  Item loop(isa::LoopId id, int depth) {
    const isa::Loop& loop = program_.loops[id];
    const bool rolled = loop.kind == isa::Loop::Kind::static_for;
    begin(rolled ? Item::Kind::loop : Item::Kind::device_loop, id, depth);
    key_.add('l').add(loop.kind).add(loop.usual);
    if (rolled) {
      column_of_[id] = 1 + depth;
      item_.lower = loop.lower.value;
      item_.upper = loop.upper.value;
    } else {
      device_loop(loop);
    }
    item_.step = loop.step;
    Item made = end();
    made.body = block(loop.body, rolled ? depth + 1 : depth);
    return made;
  }

  void device_loop(const isa::Loop& loop) {
    if (loop.kind == isa::Loop::Kind::dynamic_while) return refer(out_.reg(loop.reg));
    for (const isa::Bound& bound : {loop.lower, loop.upper}) {
      key_.add(bound.is_register);
      if (bound.is_register) {
        reg(static_cast<isa::RegisterId>(bound.value));
      } else {
        number({bound.value, 0, 0});
      }
    }
    item_.variable = out_.reg(loop.reg);
  }

 public:  // for walk_argument
  void fixed(auto value) { key_.add(value); }
  void tensor(isa::TensorId id) { refer(out_.tensor(id)); }
  void reg(isa::RegisterId id) { refer(out_.reg(id)); }
  void number(const isa::Affine& affine) {
    const std::size_t row = item_.numbers.size();
    item_.numbers.resize(row + item_.width);
    item_.numbers[row] = affine.constant;
    for (const isa::Term& term : program_.terms_of(affine))
      item_.numbers[row + column_of_[term.loop]] += term.coefficient;
  }

 private:
  void refer(Entity entity) {
    item_.refs.push_back({.entity = entity});
    out_.entities[entity].last_use = statements_;
  }

  const isa::Program& program_;
  Keys& keys_;
  std::span<const std::string> groups_;
  Outline out_;
  Item item_;
  KeyText key_;
  std::uint32_t statements_ = 0;
  std::vector<std::size_t> column_of_;  // of a static loop's variable
  std::vector<bool> in_chain_;          // waits for the instruction before it: deps[0]
  std::vector<bool> is_issued_;         // stands in no loop that never runs
  std::vector<bool> waited_for_;        // has an instruction that names it as one to wait for
};

}  // namespace

Outline outline_of(const isa::Program& program, Keys& keys, int variables, std::span<const std::string> groups) {
  return OutlineBuilder(program, keys, variables, groups).run();
}

}  // namespace kiln::emit
