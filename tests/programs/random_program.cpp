#include "tests/programs/random_program.h"

#include <fmt/format.h>

#include <algorithm>

#include "kiln/isa/default_arg.h"
#include "kiln/isa/semantics/check.h"
#include "tests/programs/random_operands.h"

namespace kiln::isa {
namespace {

constexpr int kTries = 30;

struct Declared {
  Memory memory;
  Role role;
};
constexpr Declared kSoundTensors[] = {{Memory::hbm, Role::input},     {Memory::hbm, Role::output},
                                      {Memory::hbm, Role::inout},     {Memory::sbuf, Role::internal},
                                      {Memory::psum, Role::internal}, {Memory::shared_hbm, Role::internal}};
// On chip, too, so that instructions meet values that nobody computed.
constexpr Declared kLegalTensors[] = {{Memory::hbm, Role::inout},  {Memory::hbm, Role::input},
                                      {Memory::sbuf, Role::inout}, {Memory::sbuf, Role::internal},
                                      {Memory::sbuf, Role::inout}, {Memory::sbuf, Role::internal},
                                      {Memory::sbuf, Role::inout}, {Memory::sbuf, Role::internal},
                                      {Memory::psum, Role::inout}, {Memory::psum, Role::internal}};

std::vector<Arg> defaults_of(Opcode opcode) {
  const auto defaults = default_args(opcode);
  return {defaults.begin(), defaults.end()};
}

class Generator {
 public:
  Generator(Choices& choices, const RandomProgramOptions& options)
      : c_(choices), options_(options), operands_(choices, options_, p_) {}

  Program run() {
    p_.name = name("kernel");
    p_.target = all_archs()[c_.below(std::ssize(all_archs()))]->target;
    p_.nki = static_cast<int>(c_.between(kOldestNki, kNewestNki));
    p_.lnc = arch(p_.target).features.lnc2 && c_.chance(3) ? 2 : 1;
    p_.fragment = options_.legal || c_.chance(2);
    for (int i = 0; i < kFreeRegisters; ++i) new_register(false);
    for (const auto& [memory, role] : options_.legal ? std::span<const Declared>(kLegalTensors) : kSoundTensors)
      tensor(p_.body, memory, role);
    if (options_.legal && p_.lnc == 2) tensor(p_.body, Memory::shared_hbm, Role::inout);
    for (RegisterId r = 0; r < kFreeRegisters; ++r) set_register(p_.body, r, integer_arg(c_.below(4)));
    block(p_.body, options_.statements, 0);
    write_outputs();
    return std::move(p_);
  }

 private:
  struct Sizes {
    std::size_t args, accesses, dynamics, terms, integers, reals, instructions, deps, strings, locs;
  };

  // Unlike every earlier name; some need quotes.
  std::string name(const char* stem) {
    static constexpr const char* kOdd[] = {"{}.x.{}", "a b{}{}", "`{}`{}", "\n\\{}\x01{}",
                                           "né{}{}",  "0{}{}",   "{}..{}", "{}{}.ap"};
    const int n = names_++;
    if (!c_.chance(4)) return fmt::format("{}{}", stem, n);
    return fmt::format(fmt::runtime(c_.any(kOdd)), stem, n);
  }

  LocId loc() {
    if (c_.chance(3)) return 0;
    SourceLoc l{c_.chance(5) ? "dir/odd \"name\".py" : "kernel.py", static_cast<int>(c_.below(1000)), {}};
    if (c_.chance(4)) l.stack = {"main.py:3", fmt::format("outer.py:{}", c_.below(100))};
    return p_.add_loc(l);
  }

  RegisterId new_register(bool frozen) {
    p_.registers.push_back({name("r"), frozen});
    return static_cast<RegisterId>(p_.registers.size() - 1);
  }

  void tensor(Block& body, Memory memory, Role role) {
    Tensor t{};
    t.name = name("t");
    t.memory = memory;
    t.role = role;
    t.dtype = c_.chance(3) ? DType::float32 : static_cast<DType>(c_.below(kDTypeCount));
    if (memory == Memory::psum && c_.chance(2)) t.dtype = DType::float32;
    t.shape = shape(max_rank(is_on_chip(memory)));
    if (!options_.legal && is_on_chip(memory) && c_.chance(3))
      t.address = Address{32 * c_.below(4), 64 * c_.below(100)};
    t.loc = loc();
    const auto id = static_cast<TensorId>(p_.tensors.size());
    p_.tensors.push_back(std::move(t));
    body.push_back({Node::Kind::declare, id});
    operands_.visible.push_back(id);
    if (options_.legal && role == Role::internal && is_on_chip(memory) && !c_.chance(4)) clear(body, id);
  }

  std::vector<std::int64_t> shape(int most_dimensions) {
    std::vector<std::int64_t> s;
    if (!options_.legal) {
      for (std::int64_t rank = c_.between(2, most_dimensions); rank > 0; --rank) s.push_back(c_.between(4, 16));
      return s;
    }
    s = operands_.usual_shape();
    if (c_.chance(3)) s = {c_.any(kPartitions), c_.any(kFree)};
    while (std::ssize(s) < most_dimensions && c_.chance(5)) s.push_back(c_.between(1, 4));
    return s;
  }

  void clear(Block& body, TensorId id) {
    const Sizes before = sizes();
    std::vector<Arg> args = defaults_of(Opcode::memset);
    args[args::memset::dst] = operands_.tile(whole(p_, id));
    args[args::memset::value] = integer_arg(c_.below(3));
    keep_if_wanted(body, Opcode::memset, args, before);
  }

  void block(Block& body, int statements, int depth) {
    const std::size_t outer = operands_.visible.size();
    for (int i = 0; i < statements; ++i) {
      if (c_.chance(8)) {
        tensor(body, any_memory(), Role::internal);
      } else if (depth < options_.depth && c_.chance(6)) {
        c_.chance(4) ? while_loop(body, depth) : for_loop(body, depth);
      } else if (options_.legal && p_.lnc == 2 && c_.chance(4)) {
        c_.chance(2) ? barrier(body) : exchange(body);
      } else {
        instruction(body);
      }
    }
    operands_.visible.resize(outer);
  }

  Memory any_memory() {
    if (!options_.legal) return static_cast<Memory>(c_.below(kMemoryCount));
    return c_.chance(3) ? Memory::psum : Memory::sbuf;
  }

  void for_loop(Block& body, int depth) {
    Loop l;
    l.lower.value = options_.legal ? c_.below(2) : c_.between(-3, 3);
    l.upper.value = l.lower.value + c_.below(options_.trips + 1);
    l.step = c_.between(1, 3);
    if (c_.chance(4)) {
      l.kind = Loop::Kind::dynamic_for;
      l.reg = options_.legal || c_.chance(2) ? new_register(true) : static_cast<RegisterId>(c_.below(kFreeRegisters));
      l.variable = p_.registers[l.reg].name;
      if (!options_.legal && c_.chance(3)) l.lower = {true, c_.below(kFreeRegisters)};
      if (c_.chance(3)) l.upper = {true, c_.below(kFreeRegisters)};
      if (c_.chance(3)) l.usual = c_.below(4);
    } else {
      l.variable = name("i");
    }
    loop(body, l, depth, c_.between(1, 4));
  }

  // Goes on while a chain of registers has something to pass on; now and then for ever.
  void while_loop(Block& body, int depth) {
    RegisterId chain[3];
    for (RegisterId& r : chain) {
      r = new_register(false);
      set_register(body, r, integer_arg(c_.below(2)));
    }
    Loop l{.kind = Loop::Kind::dynamic_while, .variable = p_.registers[chain[0]].name, .reg = chain[0]};
    if (c_.chance(3)) l.usual = c_.below(4);
    const LoopId id = loop(body, l, depth, c_.between(1, 3));
    dynamic_.push_back(id);
    Block& inner = p_.loops[id].body;
    set_register(inner, chain[0], register_arg(chain[1]));
    set_register(inner, chain[1], register_arg(chain[2]));
    if (!c_.chance(50)) set_register(inner, chain[2], integer_arg(0));
    dynamic_.pop_back();
  }

  LoopId loop(Block& body, const Loop& l, int depth, std::int64_t statements) {
    const auto id = static_cast<LoopId>(p_.loops.size());
    p_.loops.push_back(l);
    p_.loops[id].loc = loc();
    body.push_back({Node::Kind::loop, id});
    std::vector<LoopId>& around = l.kind == Loop::Kind::static_for ? operands_.variables : dynamic_;
    around.push_back(id);
    Block inner;
    block(inner, static_cast<int>(statements), depth + 1);
    p_.loops[id].body = std::move(inner);
    around.pop_back();
    return id;
  }

  void set_register(Block& body, RegisterId r, const Arg& to) {
    std::vector<Arg> args = defaults_of(Opcode::register_move);
    args[args::register_move::dst] = register_arg(r);
    args[args::register_move::src] = to;
    append(body, Opcode::register_move, args);
  }

  // Where the cores of a pair meet.
  void barrier(Block& body) {
    const Sizes before = sizes();
    std::vector<Arg> args = defaults_of(Opcode::core_barrier);
    args[args::core_barrier::data] = operands_.value(info(Opcode::core_barrier).params[args::core_barrier::data]);
    args[args::core_barrier::cores] = operands_.integers({0, 1});
    keep_if_wanted(body, Opcode::core_barrier, args, before);
  }

  void exchange(Block& body) {
    using namespace args::sendrecv;
    const Sizes before = sizes();
    const InstructionInfo& row = info(Opcode::sendrecv);
    std::vector<Arg> args = defaults_of(Opcode::sendrecv);
    args[src] = operands_.value(row.params[src]);
    args[dst] = args[src];
    const Access from = p_.accesses[args[src].index];
    if (from.tensor != kNone) args[dst] = operands_.tile(twin(from));
    args[send_to_rank] = args[recv_from_rank] = integer_arg(1);
    args[pipe_id] = integer_arg(c_.below(2));
    if (c_.chance(4)) args[dma_engine] = operands_.attribute(row.params[dma_engine]);
    keep_if_wanted(body, Opcode::sendrecv, args, before);
  }

  // The same view of a tensor that looks alike.
  Access twin(Access a) {
    std::vector<TensorId> fits;
    for (const TensorId id : operands_.visible) {
      const Tensor &x = p_.tensors[a.tensor], &y = p_.tensors[id];
      if (x.memory == y.memory && x.shape == y.shape && x.dtype == y.dtype && y.role != Role::input) fits.push_back(id);
    }
    if (!fits.empty()) a.tensor = c_.any(fits);
    return a;
  }

  Opcode any_opcode() {
    while (true) {
      const auto opcode = static_cast<Opcode>(c_.below(kOpcodeCount));
      const InstructionInfo& row = info(opcode);
      // barrier() and exchange() make those in which cores meet; a rank register begins where it is set.
      const bool is_special = !row.is_query() && (row.semantics->facts.meets || row.is_of_ranks());
      if (!row.is_query() && !(options_.legal && is_special)) return opcode;
    }
  }

  void instruction(Block& body) {
    const Opcode opcode = any_opcode();
    const InstructionInfo& row = info(opcode);
    for (int i = 0; i < kTries; ++i) {
      const Sizes before = sizes();
      operands_.next_shape();
      std::vector<Arg> args = defaults_of(opcode);
      for (std::size_t k = 0; k < row.params.size(); ++k) {
        if (row.params[k].required || c_.chance(3)) args[k] = operands_.value(row.params[k]);
      }
      if (keep_if_wanted(body, opcode, args, before)) return;
    }
  }

  // Appends the instruction; takes it back when it should be legal and is not.
  bool keep_if_wanted(Block& body, Opcode opcode, const std::vector<Arg>& args, const Sizes& before) {
    append(body, opcode, args);
    if (!options_.legal) return true;
    const Instruction& inst = p_.instructions.back();
    if (is_complete(inst) && (accepted(inst) || c_.chance(2000))) return true;
    body.pop_back();
    restore(before);
    return false;
  }

  // False when no tensor in sight suited one of its operands.
  bool is_complete(const Instruction& inst) const {
    for (std::uint32_t i = 0; i < info(inst.opcode).params.size(); ++i) {
      const Arg& a = p_.args[inst.first_arg + i];
      if (a.kind != Arg::Kind::access && a.kind != Arg::Kind::accesses) continue;
      for (std::uint32_t k = 0; k < std::max(a.count, 1u); ++k) {
        if (p_.accesses[a.index + k].tensor == kNone) return false;
      }
    }
    return true;
  }

  bool accepted(const Instruction& inst) const {
    std::vector<Diagnostic> found;
    try {
      check_instruction(p_, inst, arch(p_.target), found);
    } catch (const Error& e) {
      if (e.first().category == Category::not_yet) return false;
      throw;
    }
    return std::none_of(found.begin(), found.end(), [](const Diagnostic& d) { return d.severity == Severity::error; });
  }

  Sizes sizes() const {
    return {p_.args.size(),  p_.accesses.size(),     p_.dynamics.size(), p_.terms.size(),   p_.integers.size(),
            p_.reals.size(), p_.instructions.size(), p_.deps.size(),     p_.strings.size(), p_.locs.size()};
  }

  void restore(const Sizes& s) {
    p_.args.resize(s.args);
    p_.accesses.resize(s.accesses);
    p_.dynamics.resize(s.dynamics);
    p_.terms.resize(s.terms);
    p_.integers.resize(s.integers);
    p_.reals.resize(s.reals);
    p_.instructions.resize(s.instructions);
    p_.deps.resize(s.deps);
    p_.strings.resize(s.strings);
    p_.locs.resize(s.locs);
    dynamic_loops_.resize(s.instructions);
  }

  void append(Block& body, Opcode opcode, const std::vector<Arg>& args) {
    Instruction inst{};
    inst.opcode = opcode;
    inst.first_arg = static_cast<std::uint32_t>(p_.args.size());
    p_.args.insert(p_.args.end(), args.begin(), args.end());
    if (c_.chance(5)) {
      inst.name = static_cast<std::uint32_t>(p_.strings.size());
      p_.strings.push_back(name("\"inst\""));
    }
    dependencies(inst);
    inst.loc = loc();
    body.push_back({Node::Kind::instruction, static_cast<InstructionId>(p_.instructions.size())});
    p_.instructions.push_back(inst);
    dynamic_loops_.push_back(dynamic_);
  }

  // On up to two earlier instructions whose dynamic loops are all still open.
  void dependencies(Instruction& inst) {
    inst.first_dep = static_cast<std::uint32_t>(p_.deps.size());
    for (int i = 0; i < 2 && c_.chance(3) && !p_.instructions.empty(); ++i) {
      const std::int64_t producer = c_.below(std::ssize(p_.instructions));
      const auto& loops = dynamic_loops_[producer];
      if (loops.size() > dynamic_.size() || !std::equal(loops.begin(), loops.end(), dynamic_.begin())) continue;
      p_.deps.push_back(static_cast<InstructionId>(producer));
      ++inst.dep_count;
    }
  }

  void write_outputs() {
    for (TensorId id = 0; id < p_.tensors.size(); ++id) {
      if (p_.tensors[id].role != Role::output) continue;
      std::vector<Arg> args = defaults_of(Opcode::dma_copy);
      for (const int param : {args::dma_copy::dst, args::dma_copy::src}) args[param] = operands_.tile(whole(p_, id));
      append(p_.body, Opcode::dma_copy, args);
    }
  }

  Choices& c_;
  const RandomProgramOptions options_;
  Program p_;
  RandomOperands operands_;
  std::vector<LoopId> dynamic_;                     // around the statement in the making
  std::vector<std::vector<LoopId>> dynamic_loops_;  // around each instruction
  int names_ = 0;
};

// The program of the other core: it does the same on tiles of its own, or nearly so.
Program peer_of(const Program& program, Choices& choices) {
  Program peer = program;
  for (Tensor& t : peer.tensors) {
    if (is_on_chip(t.memory)) t.name = "peer_" + t.name;
  }
  for (const Instruction& inst : peer.instructions) {
    if (inst.opcode != Opcode::sendrecv) continue;
    for (const int rank : {args::sendrecv::send_to_rank, args::sendrecv::recv_from_rank})
      peer.args[inst.first_arg + static_cast<std::uint32_t>(rank)].integer = 0;
  }
  if (choices.chance(4)) peer.body.pop_back();
  if (choices.chance(3)) {
    Arg& arg = peer.args[choices.below(std::ssize(peer.args))];
    if (arg.kind == Arg::Kind::integer) arg.integer ^= 1;
  }
  return peer;
}

}  // namespace

Program random_program(Choices& choices, const RandomProgramOptions& options) {
  return Generator(choices, options).run();
}

Program random_program(std::uint64_t seed, const RandomProgramOptions& options) {
  Choices choices(seed);
  return random_program(choices, options);
}

std::vector<Program> random_launch(Choices& choices, const RandomProgramOptions& options) {
  std::vector<Program> cores{random_program(choices, options)};
  if (cores[0].lnc == 2) cores.push_back(peer_of(cores[0], choices));
  return cores;
}

}  // namespace kiln::isa
