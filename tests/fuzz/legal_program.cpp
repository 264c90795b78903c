#include "tests/fuzz/legal_program.h"

#include <fmt/format.h>

#include <algorithm>

#include "kiln/isa/default_arg.h"
#include "kiln/isa/semantics/check.h"
#include "kiln/isa/table.h"

namespace kiln::isa {
namespace {

constexpr std::int64_t kPartitions[] = {1, 4, 16, 32, 64, 128};
constexpr std::int64_t kFree[] = {1, 2, 5, 8, 16, 33, 64, 256};
constexpr int kTries = 30;

class Generator {
 public:
  explicit Generator(Choices& choices) : c_(choices) {}

  Program run() {
    p_.target = all_archs()[c_.below(all_archs().size())]->target;
    p_.fragment = true;
    p_.lnc = arch(p_.target).generation >= info(Opcode::sendrecv).first_generation && c_.chance(3) ? 2 : 1;
    for (int i = 0; i < 3; ++i) p_.registers.push_back({fmt::format("r{}", i), false});
    partitions_ = c_.any(kPartitions);
    free_ = c_.chance(3) ? partitions_ : c_.any(kFree);  // squares suit nc_matmul and transposes
    for (const Memory memory : {Memory::hbm, Memory::sbuf, Memory::sbuf, Memory::sbuf, Memory::psum}) {
      tensor(p_.body, memory, Role::inout);
      tensor(p_.body, memory, memory == Memory::hbm ? Role::input : Role::internal);
    }
    if (p_.lnc == 2) tensor(p_.body, Memory::shared_hbm, Role::inout);
    for (RegisterId r = 0; r < p_.registers.size(); ++r) set_register(p_.body, r, integer(c_.below(4)));
    block(p_.body, 12, 0);
    return std::move(p_);
  }

 private:
  struct Sizes {
    std::size_t args, accesses, dynamics, terms, integers, reals, instructions;
  };

  void tensor(Block& body, Memory memory, Role role) {
    Tensor t{};
    t.name = fmt::format("t{}", p_.tensors.size());
    t.memory = memory;
    t.role = role;
    t.dtype = c_.chance(3) ? DType::float32 : static_cast<DType>(c_.below(kDTypeCount));
    if (memory == Memory::psum && c_.chance(2)) t.dtype = DType::float32;
    const bool usual = !c_.chance(3);
    t.shape = {usual ? partitions_ : c_.any(kPartitions), usual ? free_ : c_.any(kFree)};
    while (static_cast<int>(t.shape.size()) < max_rank(is_on_chip(memory)) && c_.chance(5))
      t.shape.push_back(c_.between(1, 4));
    const auto id = static_cast<TensorId>(p_.tensors.size());
    p_.tensors.push_back(std::move(t));
    body.push_back({Node::Kind::declare, id});
    visible_.push_back(id);
    if (role == Role::internal && is_on_chip(memory) && !c_.chance(4)) clear(body, id);
  }

  void clear(Block& body, TensorId id) {
    const auto defaults = default_args(Opcode::memset);
    std::vector<Arg> args(defaults.begin(), defaults.end());
    args[args::memset::dst] = tile(whole(p_, id));
    args[args::memset::value] = integer(c_.below(3));
    append(body, Opcode::memset, args);
    if (accepted(p_.instructions.back())) return;
    body.pop_back();
    p_.instructions.pop_back();
  }

  void block(Block& body, int statements, int depth) {
    const std::size_t outer = visible_.size();
    for (int i = 0; i < statements; ++i) {
      if (c_.chance(8)) {
        tensor(body, c_.chance(3) ? Memory::psum : Memory::sbuf, Role::internal);
      } else if (depth < 2 && c_.chance(6)) {
        c_.chance(4) ? while_loop(body, depth) : for_loop(body, depth);
      } else if (p_.lnc == 2 && c_.chance(4)) {
        c_.chance(2) ? barrier(body) : exchange(body);
      } else {
        instruction(body);
      }
    }
    visible_.resize(outer);
  }

  void for_loop(Block& body, int depth) {
    const auto id = static_cast<LoopId>(p_.loops.size());
    Loop l;
    l.lower.value = c_.below(2);
    l.upper.value = l.lower.value + c_.below(4);
    l.step = c_.between(1, 2);
    const bool dynamic = c_.chance(4);
    if (dynamic) {
      l.kind = Loop::Kind::dynamic_for;
      l.reg = static_cast<RegisterId>(p_.registers.size());
      l.variable = fmt::format("r{}", l.reg);
      p_.registers.push_back({l.variable, true});
      if (c_.chance(3)) l.upper = {true, c_.below(3)};
    } else {
      l.variable = fmt::format("i{}", id);
    }
    p_.loops.push_back(l);
    body.push_back({Node::Kind::loop, id});
    if (!dynamic) variables_.push_back(id);
    Block inner;
    block(inner, static_cast<int>(c_.between(1, 4)), depth + 1);
    p_.loops[id].body = std::move(inner);
    if (!dynamic) variables_.pop_back();
  }

  // Goes on while a chain of registers has something to pass on; now and then for ever.
  void while_loop(Block& body, int depth) {
    const auto id = static_cast<LoopId>(p_.loops.size());
    RegisterId chain[3];
    for (RegisterId& r : chain) {
      r = static_cast<RegisterId>(p_.registers.size());
      p_.registers.push_back({fmt::format("r{}", r), false});
      set_register(body, r, integer(c_.below(2)));
    }
    p_.loops.push_back({.kind = Loop::Kind::dynamic_while, .reg = chain[0]});
    body.push_back({Node::Kind::loop, id});
    Block inner;
    block(inner, static_cast<int>(c_.between(1, 3)), depth + 1);
    set_register(inner, chain[0], of_register(chain[1]));
    set_register(inner, chain[1], of_register(chain[2]));
    if (!c_.chance(50)) set_register(inner, chain[2], integer(0));
    p_.loops[id].body = std::move(inner);
  }

  void set_register(Block& body, RegisterId r, const Arg& to) {
    std::vector<Arg> args(default_args(Opcode::register_move).begin(), default_args(Opcode::register_move).end());
    args[args::register_move::dst] = of_register(r);
    args[args::register_move::src] = to;
    append(body, Opcode::register_move, args);
  }

  // Where the cores of a pair meet.
  void barrier(Block& body) {
    const Sizes before = sizes();
    const auto defaults = default_args(Opcode::core_barrier);
    std::vector<Arg> args(defaults.begin(), defaults.end());
    args[args::core_barrier::data] = value(info(Opcode::core_barrier).params[args::core_barrier::data]);
    args[args::core_barrier::cores] = integers({0, 1});
    keep_if_legal(body, Opcode::core_barrier, args, before);
  }

  void exchange(Block& body) {
    using namespace args::sendrecv;
    const Sizes before = sizes();
    const InstructionInfo& row = info(Opcode::sendrecv);
    const auto defaults = default_args(Opcode::sendrecv);
    std::vector<Arg> args(defaults.begin(), defaults.end());
    args[src] = value(row.params[src]);
    args[dst] = args[src];
    if (p_.accesses[args[src].index].tensor != kNone) args[dst] = tile(twin(p_.accesses[args[src].index]));
    args[send_to_rank] = args[recv_from_rank] = integer(1);
    args[pipe_id] = integer(c_.below(2));
    if (c_.chance(4)) args[dma_engine] = attribute(row.params[dma_engine]);
    keep_if_legal(body, Opcode::sendrecv, args, before);
  }

  // The same view of a tensor that looks alike.
  Access twin(Access a) {
    std::vector<TensorId> fits;
    for (const TensorId id : visible_) {
      const Tensor &x = p_.tensors[a.tensor], &y = p_.tensors[id];
      if (x.memory == y.memory && x.shape == y.shape && x.dtype == y.dtype && y.role != Role::input) fits.push_back(id);
    }
    if (!fits.empty()) a.tensor = c_.any(fits);
    return a;
  }

  void keep_if_legal(Block& body, Opcode opcode, const std::vector<Arg>& args, const Sizes& before) {
    append(body, opcode, args);
    if (is_complete(p_.instructions.back()) && accepted(p_.instructions.back())) return;
    body.pop_back();
    restore(before);
  }

  // Tries instructions until the rules of one accept it.
  void instruction(Block& body) {
    const auto opcode = static_cast<Opcode>(c_.below(kOpcodeCount));
    const InstructionInfo& row = info(opcode);
    if (row.is_query() || row.group == "multicore") return;
    for (int i = 0; i < kTries; ++i) {
      const Sizes before = sizes();
      rows_ = c_.chance(3) ? c_.any(kPartitions) : partitions_;
      columns_ = c_.chance(3) ? c_.any(kFree) : free_;
      std::vector<Arg> args;
      const auto defaults = default_args(opcode);
      for (std::size_t k = 0; k < row.params.size(); ++k) {
        const bool leave_out = !row.params[k].required && !c_.chance(3);
        args.push_back(leave_out ? defaults[k] : value(row.params[k]));
      }
      append(body, opcode, args);
      if (is_complete(p_.instructions.back()) && (accepted(p_.instructions.back()) || c_.chance(2000))) return;
      body.pop_back();
      restore(before);
    }
  }

  // False when no tensor in sight suited one of its operands.
  bool is_complete(const Instruction& inst) const {
    for (std::uint32_t i = 0; i < info(inst.opcode).params.size(); ++i) {
      const Arg& a = p_.args[inst.first_arg + i];
      const bool tiles = a.kind == Arg::Kind::access || a.kind == Arg::Kind::accesses;
      if (tiles && p_.accesses[a.index].tensor == kNone) return false;
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
    return {p_.args.size(),     p_.accesses.size(), p_.dynamics.size(),    p_.terms.size(),
            p_.integers.size(), p_.reals.size(),    p_.instructions.size()};
  }
  void restore(const Sizes& s) {
    p_.args.resize(s.args);
    p_.accesses.resize(s.accesses);
    p_.dynamics.resize(s.dynamics);
    p_.terms.resize(s.terms);
    p_.integers.resize(s.integers);
    p_.reals.resize(s.reals);
    p_.instructions.resize(s.instructions);
  }

  void append(Block& body, Opcode opcode, const std::vector<Arg>& args) {
    Instruction inst{};
    inst.opcode = opcode;
    inst.first_arg = static_cast<std::uint32_t>(p_.args.size());
    p_.args.insert(p_.args.end(), args.begin(), args.end());
    body.push_back({Node::Kind::instruction, static_cast<InstructionId>(p_.instructions.size())});
    p_.instructions.push_back(inst);
  }

  Arg value(const ParamInfo& param) {
    if (!param.is_tile()) return attribute(param);
    const bool scalar = param.kind == ParamKind::scalar_or_in || param.kind == ParamKind::opt_scalar_or_in;
    if (scalar && c_.chance(2)) return c_.chance(2) ? integer(c_.below(5)) : real();
    Arg a;
    a.kind = Arg::Kind::access;
    std::vector<Access> list;
    if (param.kind == ParamKind::ins) {
      a.kind = Arg::Kind::accesses;
      for (std::int64_t n = c_.between(1, 3); n > 0; --n) list.push_back(access(param));
    } else {
      list.push_back(access(param, scalar || c_.chance(6)));
    }
    a.count = param.kind == ParamKind::ins ? static_cast<std::uint32_t>(list.size()) : 0;
    a.index = static_cast<std::uint32_t>(p_.accesses.size());
    p_.accesses.insert(p_.accesses.end(), list.begin(), list.end());
    return a;
  }

  Arg attribute(const ParamInfo& param) {
    if (const auto members = enum_members(param.type); !members.empty())
      return integer(c_.below(static_cast<std::int64_t>(members.size())), Arg::Kind::enumerator);
    switch (param.type) {
      case AttrType::Bool:
      case AttrType::OptBool:
        return integer(c_.below(2), Arg::Kind::boolean);
      case AttrType::Float:
        return real();
      case AttrType::Number:
        return c_.chance(2) ? real() : integer(c_.between(-4, 4));
      case AttrType::Ints:
        return integers(c_.chance(2) ? std::vector<std::int64_t>{1} : shuffle());
      case AttrType::Pattern:
        return integers({c_.between(-2, 2), columns_});
      case AttrType::Floats: {
        Arg a;
        a.kind = Arg::Kind::reals;
        a.count = static_cast<std::uint32_t>(c_.between(1, 4));
        a.index = static_cast<std::uint32_t>(p_.reals.size());
        for (std::uint32_t i = 0; i < a.count; ++i) p_.reals.push_back(real().real);
        return a;
      }
      case AttrType::Reg:
        return reg();
      case AttrType::IntOrReg:
        return c_.chance(3) ? reg() : integer(c_.between(-4, 8));
      default:
        return integer(c_.between(-1, 20));
    }
  }

  Arg integer(std::int64_t value, Arg::Kind kind = Arg::Kind::integer) {
    Arg a;
    a.kind = kind;
    a.integer = value;
    return a;
  }
  Arg real() {
    static constexpr double kValues[] = {0.0, -0.0, 1.0, 0.5, -2.0, 3.0e38, 1e-40};
    Arg a;
    a.kind = Arg::Kind::real;
    a.real = c_.any(kValues);
    return a;
  }
  Arg reg() { return of_register(static_cast<RegisterId>(c_.below(3))); }
  Arg of_register(RegisterId r) {
    Arg a;
    a.kind = Arg::Kind::reg;
    a.index = r;
    return a;
  }
  Arg tile(const Access& access) {
    Arg a;
    a.kind = Arg::Kind::access;
    a.index = static_cast<std::uint32_t>(p_.accesses.size());
    p_.accesses.push_back(access);
    return a;
  }
  Arg integers(const std::vector<std::int64_t>& values) {
    Arg a;
    a.kind = Arg::Kind::integers;
    a.count = static_cast<std::uint32_t>(values.size());
    a.index = static_cast<std::uint32_t>(p_.integers.size());
    p_.integers.insert(p_.integers.end(), values.begin(), values.end());
    return a;
  }
  std::vector<std::int64_t> shuffle() {
    std::vector<std::int64_t> mask;
    for (int i = 0; i < 32; ++i) mask.push_back(c_.chance(8) ? 255 : c_.below(32));
    return mask;
  }

  // A view of a tensor that the parameter allows; tensor kNone when there is none.
  Access access(const ParamInfo& param, bool column = false, bool may_move = true) {
    std::vector<TensorId> fits;
    const bool as_it_is = !c_.chance(6);
    for (const TensorId id : visible_) {
      const Tensor& t = p_.tensors[id];
      if (param.allows(t.memory) && (!as_it_is || param.allows(t.dtype)) &&
          !(param.is_output() && t.role == Role::input))
        fits.push_back(id);
    }
    if (fits.empty()) return {};
    const TensorId id = c_.any(fits);
    if (as_it_is && c_.chance(4)) return whole(p_, id);
    return view(id, as_it_is ? p_.tensors[id].dtype : other_dtype(param, id), column ? 1 : columns_, may_move);
  }

  std::int64_t row_bytes(TensorId id) const {
    const Tensor& t = p_.tensors[id];
    return t.size() / t.shape[0] * size_bytes(t.dtype);
  }

  // A dtype that the parameter allows and that divides a row of the tensor.
  DType other_dtype(const ParamInfo& param, TensorId id) {
    std::vector<DType> fits;
    for (int i = 0; i < kDTypeCount; ++i) {
      const auto dtype = static_cast<DType>(i);
      if (param.allows(dtype) && row_bytes(id) % size_bytes(dtype) == 0) fits.push_back(dtype);
    }
    return fits.empty() ? p_.tensors[id].dtype : c_.any(fits);
  }

  Access view(TensorId id, DType dtype, std::int64_t columns, bool may_move) {
    const Tensor& t = p_.tensors[id];
    const bool on_chip = is_on_chip(t.memory);
    Access a;
    a.tensor = id;
    a.dtype = dtype;
    const std::int64_t row_elements = row_bytes(id) / size_bytes(dtype);
    const std::int64_t rows = std::min(rows_, t.shape[0]), count = std::min(columns, row_elements);
    std::int64_t room = row_elements - count;
    const std::int64_t stride = count > 1 && c_.chance(4) ? std::min<std::int64_t>(2, 1 + room / (count - 1)) : 1;
    room -= (stride - 1) * (count - 1);
    a.rank = 2;
    a.dims[0] = {on_chip ? 1 : row_elements, rows};
    a.dims[1] = {stride, count};
    while (a.rank < max_rank(on_chip) && a.dims[a.rank - 1].count % 2 == 0 && c_.chance(4)) {
      a.dims[a.rank] = {stride, 2};
      a.dims[a.rank - 1] = {stride * 2, a.dims[a.rank - 1].count / 2};
      ++a.rank;
    }
    a.offset = affine(room);
    if (on_chip && rows + 32 <= t.shape[0] && c_.chance(3)) a.partition.constant = 32;
    if (may_move && c_.chance(12)) a.dynamic = dynamic(on_chip, row_elements);
    return a;
  }

  Affine affine(std::int64_t room) {
    Affine a{0, static_cast<std::uint32_t>(p_.terms.size()), 0};
    for (const LoopId id : variables_) {
      const Loop& l = p_.loops[id];
      const std::int64_t last = std::max<std::int64_t>(l.upper.value - 1, 1);
      if (last > room || c_.chance(3)) continue;
      p_.terms.push_back({id, 1});
      ++a.term_count;
      room -= last;
    }
    if (c_.chance(3)) a.constant = c_.below(room + 1);
    return a;
  }

  std::uint32_t dynamic(bool on_chip, std::int64_t row_elements) {
    Dynamic d{};
    static const ParamInfo& index = info(Opcode::nc_n_gather).params[args::nc_n_gather::indices];
    const Access source = access(index, false, false);
    const bool by_register = source.tensor == kNone || c_.chance(2);
    if (by_register) {
      const std::int64_t scale = c_.chance(3) ? 32 * row_elements : 1;
      d = {Dynamic::Kind::scalar_register, static_cast<std::uint32_t>(c_.below(3)), scale};
    } else {
      p_.accesses.push_back(source);
      d = {on_chip ? Dynamic::Kind::indirect : Dynamic::Kind::vector,
           static_cast<std::uint32_t>(p_.accesses.size() - 1), c_.between(1, 8)};
    }
    p_.dynamics.push_back(d);
    return static_cast<std::uint32_t>(p_.dynamics.size() - 1);
  }

  Choices& c_;
  Program p_;
  std::int64_t partitions_ = 1, free_ = 1;  // the shape that most tensors have
  std::int64_t rows_ = 1, columns_ = 1;     // the shape of the instruction in the making
  std::vector<TensorId> visible_;
  std::vector<LoopId> variables_;
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

std::vector<Program> legal_programs(Choices& choices) {
  std::vector<Program> cores{Generator(choices).run()};
  if (cores[0].lnc == 2) cores.push_back(peer_of(cores[0], choices));
  return cores;
}

}  // namespace kiln::isa
