#include "tests/isa/random_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "kiln/isa/default_arg.h"
#include "kiln/isa/table.h"

namespace kiln::isa {
namespace {

class Generator {
 public:
  Generator(std::uint64_t seed, const RandomProgramOptions& options) : random_(seed), options_(options) {}

  Program run() {
    p_.name = name("kernel");
    p_.target = all_archs()[below(all_archs().size())]->target;
    p_.nki = kOldestNki + static_cast<int>(below(kNewestNki - kOldestNki + 1));
    p_.lnc = arch(p_.target).features.lnc2 ? 1 + static_cast<int>(below(2)) : 1;
    p_.fragment = chance(2);
    for (std::int64_t i = 1 + below(3); i > 0; --i) p_.registers.push_back({name("r"), false});
    for (const Role role : {Role::input, Role::output, Role::inout}) tensor(p_.body, Memory::hbm, role);
    for (const Memory memory : {Memory::sbuf, Memory::psum, Memory::shared_hbm})
      tensor(p_.body, memory, Role::internal);
    block(p_.body, options_.statements, 0);
    write_outputs();
    return std::move(p_);
  }

 private:
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n)); }
  std::int64_t between(std::int64_t lo, std::int64_t hi) { return lo + below(hi - lo + 1); }
  bool chance(int one_in) { return below(one_in) == 0; }

  // Unlike every earlier name.
  std::string name(const char* stem) {
    const int n = names_++;
    if (!options_.odd_names || !chance(4)) return fmt::format("{}{}", stem, n);
    static constexpr const char* kOdd[] = {"{}.x.{}", "a b{}{}", "`{}`{}", "\n\\{}\x01{}",
                                           "né{}{}",  "0{}{}",   "{}..{}", "{}{}.ap"};
    return fmt::format(fmt::runtime(kOdd[below(std::size(kOdd))]), stem, n);
  }

  LocId loc() {
    if (chance(3)) return 0;
    SourceLoc l{chance(5) ? "dir/odd \"name\".py" : "kernel.py", static_cast<int>(below(1000)), {}};
    if (chance(4)) l.stack = {"main.py:3", fmt::format("outer.py:{}", below(100))};
    return p_.add_loc(l);
  }

  void tensor(Block& body, Memory memory, Role role) {
    Tensor t{};
    t.name = name("t");
    t.memory = memory;
    t.role = role;
    t.dtype = static_cast<DType>(below(kDTypeCount));
    const std::int64_t rank = between(2, max_rank(is_on_chip(memory)));
    for (std::int64_t i = 0; i < rank; ++i) t.shape.push_back(between(4, 16));
    if (is_on_chip(memory) && chance(3)) t.address = Address{32 * below(4), 64 * below(100)};
    t.loc = loc();
    const auto id = static_cast<TensorId>(p_.tensors.size());
    p_.tensors.push_back(std::move(t));
    body.push_back({Node::Kind::declare, id});
    visible_.push_back(id);
  }

  void block(Block& body, int statements, int depth) {
    const std::size_t outer_tensors = visible_.size();
    for (int i = 0; i < statements; ++i) {
      if (chance(8)) {
        tensor(body, static_cast<Memory>(below(kMemoryCount)), Role::internal);
      } else if (chance(6) && depth < 5) {
        loop(body, depth);
      } else {
        instruction(body, random_opcode());
      }
    }
    visible_.resize(outer_tensors);
  }

  void loop(Block& body, int depth) {
    const auto id = static_cast<LoopId>(p_.loops.size());
    Loop l;
    l.kind = static_cast<Loop::Kind>(below(3));
    l.step = between(1, 3);
    l.lower.value = between(-3, 3);
    l.upper.value = l.lower.value + below(9);
    if (l.kind == Loop::Kind::static_for) {
      l.variable = name("i");
    } else {
      l.reg = static_cast<RegisterId>(below(static_cast<std::int64_t>(p_.registers.size())));
      l.variable = p_.registers[l.reg].name;
      if (chance(2)) l.lower = {true, below(static_cast<std::int64_t>(p_.registers.size()))};
    }
    if (l.kind == Loop::Kind::dynamic_while) l.lower = l.upper = {}, l.step = 1;
    l.loc = loc();
    p_.loops.push_back(l);
    body.push_back({Node::Kind::loop, id});
    const bool is_static = l.kind == Loop::Kind::static_for;
    (is_static ? variables_ : dynamic_).push_back(id);
    Block inner;
    block(inner, static_cast<int>(between(1, 4)), depth + 1);
    p_.loops[id].body = std::move(inner);
    (is_static ? variables_ : dynamic_).pop_back();
  }

  Opcode random_opcode() {
    Opcode opcode;
    do {
      opcode = static_cast<Opcode>(below(kOpcodeCount));
    } while (info(opcode).is_query());
    return opcode;
  }

  void instruction(Block& body, Opcode opcode) {
    const InstructionInfo& row = info(opcode);
    const auto defaults = default_args(opcode);
    std::vector<Arg> args;
    for (std::size_t i = 0; i < row.params.size(); ++i) {
      const bool leave_out = !row.params[i].required && chance(2);
      args.push_back(leave_out ? defaults[i] : value(row.params[i]));
    }
    finish(body, opcode, args);
  }

  void finish(Block& body, Opcode opcode, const std::vector<Arg>& args) {
    Instruction inst{};
    inst.opcode = opcode;
    inst.first_arg = static_cast<std::uint32_t>(p_.args.size());
    p_.args.insert(p_.args.end(), args.begin(), args.end());
    if (chance(5)) {
      inst.name = static_cast<std::uint32_t>(p_.strings.size());
      p_.strings.push_back(name("\"inst\""));
    }
    dependencies(inst);
    inst.loc = loc();
    const auto id = static_cast<InstructionId>(p_.instructions.size());
    p_.instructions.push_back(inst);
    dynamic_loops_.push_back(dynamic_);
    body.push_back({Node::Kind::instruction, id});
  }

  // On up to two earlier instructions whose dynamic loops are all still open.
  void dependencies(Instruction& inst) {
    inst.first_dep = static_cast<std::uint32_t>(p_.deps.size());
    for (int i = 0; i < 2 && chance(3) && !p_.instructions.empty(); ++i) {
      const auto producer = below(static_cast<std::int64_t>(p_.instructions.size()));
      const auto& loops = dynamic_loops_[producer];
      if (loops.size() > dynamic_.size() || !std::equal(loops.begin(), loops.end(), dynamic_.begin())) continue;
      p_.deps.push_back(static_cast<InstructionId>(producer));
      ++inst.dep_count;
    }
  }

  Arg value(const ParamInfo& param) { return param.is_tile() ? tile(param) : attribute(param); }

  Arg tile(const ParamInfo& param) {
    Arg a;
    const bool scalar = param.kind == ParamKind::scalar_or_in || param.kind == ParamKind::opt_scalar_or_in;
    if (scalar && chance(2)) return chance(2) ? integer(below(100)) : real();
    if (param.kind == ParamKind::ins) {
      std::vector<Access> list;
      for (std::int64_t n = below(4); n >= 0; --n) list.push_back(access(false));
      a.kind = Arg::Kind::accesses;
      a.count = static_cast<std::uint32_t>(list.size());
      a.index = static_cast<std::uint32_t>(p_.accesses.size());
      p_.accesses.insert(p_.accesses.end(), list.begin(), list.end());
      return a;
    }
    a.kind = Arg::Kind::access;
    a.index = pooled(access(param.is_output()));
    return a;
  }

  Arg attribute(const ParamInfo& param) {
    if (const auto members = enum_members(param.type); !members.empty()) {
      return integer(below(static_cast<std::int64_t>(members.size())), Arg::Kind::enumerator);
    }
    switch (param.type) {
      case AttrType::Bool:
      case AttrType::OptBool:
        return integer(below(2), Arg::Kind::boolean);
      case AttrType::Float:
        return real();
      case AttrType::Number:
        return chance(2) ? real() : integer(between(-100, 100));
      case AttrType::Ints:
      case AttrType::Pattern:
        return integers();
      case AttrType::Floats:
        return reals();
      case AttrType::Reg:
        return reg();
      case AttrType::IntOrReg:
        return chance(2) ? reg() : integer(between(-100, 100));
      default:
        return integer(chance(4) ? std::numeric_limits<std::int64_t>::min() : between(-1000, 1000));
    }
  }

  Arg integer(std::int64_t value, Arg::Kind kind = Arg::Kind::integer) {
    Arg a;
    a.kind = kind;
    a.integer = value;
    return a;
  }

  double real_value() {
    static constexpr double kSpecial[] = {0.0,
                                          -0.0,
                                          1.0,
                                          1e30,
                                          5e-324,
                                          std::numeric_limits<double>::infinity(),
                                          -std::numeric_limits<double>::infinity(),
                                          std::numeric_limits<double>::quiet_NaN()};
    if (chance(2)) return kSpecial[below(std::size(kSpecial))];
    const double any = std::bit_cast<double>(random_());
    return std::isnan(any) ? 0.5 : any;
  }

  Arg real() {
    Arg a;
    a.kind = Arg::Kind::real;
    a.real = real_value();
    return a;
  }

  Arg reg() {
    Arg a;
    a.kind = Arg::Kind::reg;
    a.index = static_cast<std::uint32_t>(below(static_cast<std::int64_t>(p_.registers.size())));
    return a;
  }

  Arg integers() {
    Arg a;
    a.kind = Arg::Kind::integers;
    a.count = static_cast<std::uint32_t>(2 * between(1, 3));
    a.index = static_cast<std::uint32_t>(p_.integers.size());
    for (std::uint32_t i = 0; i < a.count; ++i) p_.integers.push_back(between(-9, 9));
    return a;
  }

  Arg reals() {
    Arg a;
    a.kind = Arg::Kind::reals;
    a.count = static_cast<std::uint32_t>(between(1, 4));
    a.index = static_cast<std::uint32_t>(p_.reals.size());
    for (std::uint32_t i = 0; i < a.count; ++i) p_.reals.push_back(real_value());
    return a;
  }

  std::uint32_t pooled(const Access& a) {
    p_.accesses.push_back(a);
    return static_cast<std::uint32_t>(p_.accesses.size() - 1);
  }

  // An affine expression whose values fill a part of 0 … room; its smallest value is not negative.
  Affine affine(std::int64_t room) {
    Affine a{0, static_cast<std::uint32_t>(p_.terms.size()), 0};
    for (const LoopId id : variables_) {
      const Loop& l = p_.loops[id];
      const std::int64_t steps = std::max<std::int64_t>(l.trip_count() - 1, 0);
      const std::int64_t first = l.lower.value, last = first + steps * l.step;
      const std::int64_t most = last > first ? room / (last - first) : 5;
      const std::int64_t coefficient = chance(2) ? 0 : between(-most, most);
      if (coefficient == 0) continue;
      p_.terms.push_back({id, coefficient});
      ++a.term_count;
      room -= std::abs(coefficient) * (last - first);
      a.constant -= std::min(coefficient * first, coefficient * last);
    }
    a.constant += chance(2) ? 0 : below(room + 1);
    return a;
  }

  // Free dimensions and offset inside `size` elements.
  void fill(Access& a, std::int64_t size, int first) {
    std::int64_t room = size - 1;
    a.rank = static_cast<std::uint8_t>(between(first + 1, max_rank(first > 0)));
    for (int i = first; i < a.rank; ++i) {
      const std::int64_t count = between(1, 6);
      const std::int64_t stride = count == 1 ? below(9) : below(room / (count - 1) + 1);
      a.dims[i] = {stride, count};
      room -= stride * (count - 1);
    }
    a.offset = affine(room);
  }

  Access access(bool output, bool may_be_dynamic = true) {
    TensorId id;
    do {
      id = visible_[below(static_cast<std::int64_t>(visible_.size()))];
    } while (output && p_.tensors[id].role == Role::input);
    const Tensor& t = p_.tensors[id];
    if (chance(3)) return whole(p_, id);
    Access a;
    a.tensor = id;
    a.dtype = chance(3) ? static_cast<DType>(below(kDTypeCount)) : t.dtype;
    const bool on_chip = is_on_chip(t.memory);
    if (may_be_dynamic && chance(4)) a.dynamic = dynamic(on_chip);
    if (on_chip) {
      a.dims[0] = {1, between(1, t.partitions())};
      a.partition = affine(t.partitions() - a.dims[0].count);
    }
    fill(a, t.bytes_per_partition() / size_bytes(a.dtype), on_chip ? 1 : 0);
    return a;
  }

  std::uint32_t dynamic(bool on_chip) {
    Dynamic d{};
    switch (below(3)) {
      case 0:
        d = {Dynamic::Kind::scalar_register,
             static_cast<std::uint32_t>(below(static_cast<std::int64_t>(p_.registers.size()))), 1};
        break;
      case 1:
        d = {Dynamic::Kind::scalar_tile, pooled(access(false, false)), 1};
        break;
      default:
        d = {on_chip ? Dynamic::Kind::indirect : Dynamic::Kind::vector, pooled(access(false, false)), 1};
    }
    d.scale = chance(3) ? 1 : between(-600, 600);
    p_.dynamics.push_back(d);
    return static_cast<std::uint32_t>(p_.dynamics.size() - 1);
  }

  void write_outputs() {
    for (TensorId id = 0; id < p_.tensors.size(); ++id) {
      if (p_.tensors[id].role != Role::output) continue;
      const auto defaults = default_args(Opcode::dma_copy);
      std::vector<Arg> args(defaults.begin(), defaults.end());
      for (const int param : {args::dma_copy::dst, args::dma_copy::src}) {
        args[param].kind = Arg::Kind::access;
        args[param].index = pooled(whole(p_, id));
      }
      finish(p_.body, Opcode::dma_copy, args);
    }
  }

  std::mt19937_64 random_;
  RandomProgramOptions options_;
  Program p_;
  std::vector<TensorId> visible_;
  std::vector<LoopId> variables_, dynamic_;
  std::vector<std::vector<LoopId>> dynamic_loops_;  // around each instruction
  int names_ = 0;
};

}  // namespace

Program random_program(std::uint64_t seed, const RandomProgramOptions& options) {
  return Generator(seed, options).run();
}

}  // namespace kiln::isa
