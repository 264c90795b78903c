#include "kiln/isa/builder/builder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "kiln/isa/builder/builder_rules.h"
#include "kiln/isa/text/text_limits.h"

namespace kiln::isa {
namespace {
SourceLoc source_loc(const std::source_location& at) { return {at.file_name(), static_cast<int>(at.line()), {}}; }
}  // namespace

Kernel::Kernel(std::string name, Target target) {
  program_.name = std::move(name);
  program_.target = target;
}

Kernel& Kernel::fragment() {
  program_.fragment = true;
  return *this;
}

Kernel& Kernel::pair() {
  program_.lnc = 2;
  return *this;
}

LocId Kernel::locate(const Where& at) {
  if (fixed_loc_) return *fixed_loc_;
  const int line = static_cast<int>(at.line());
  if (at.file_name() == last_file_ && line == last_line_) return last_loc_;
  last_file_ = at.file_name();
  last_line_ = line;
  return last_loc_ = program_.add_loc({last_file_, line, {}});
}

Block& Kernel::block() { return open_loops_.empty() ? program_.body : program_.loops[open_loops_.back()].body; }

View Kernel::tensor(Memory memory, Role role, Shape shape, DType dtype, TensorOptions options, Where at) {
  if (static_cast<int>(shape.size()) > max_rank(is_on_chip(memory)) || shape.size() < (is_on_chip(memory) ? 2u : 1u))
    raise(builder_rules::kTable, builder_rules::kRank,
          {.found = fmt::format("{} dimensions", shape.size()), .loc = program_.locs[locate(at)]});
  if (std::any_of(shape.begin(), shape.end(), [](std::int64_t n) { return n < 1; }))
    raise(builder_rules::kTable, builder_rules::kRank,
          {.found = fmt::format("shape ({})", fmt::join(shape, ", ")),
           .help = "a tensor has elements: leave it out when there is nothing to hold",
           .loc = program_.locs[locate(at)]});
  std::int64_t size = 1;
  const auto grows_too_large = [&](std::int64_t n) {
    return __builtin_mul_overflow(size, n, &size) || size > kMaxTensorSize;
  };
  if (std::any_of(shape.begin(), shape.end(), grows_too_large))
    raise(builder_rules::kTable, builder_rules::kRank,
          {.found = fmt::format("shape ({})", fmt::join(shape, ", ")),
           .help = "a tensor has at most 2^48 elements",
           .loc = program_.locs[locate(at)]});
  Tensor t{.name = options.name.empty() ? fmt::format("t{}", next_name_++) : std::move(options.name),
           .memory = memory,
           .dtype = dtype,
           .role = role,
           .shape = std::move(shape),
           .address = options.address,
           .loc = locate(at)};
  const auto id = static_cast<TensorId>(program_.tensors.size());
  program_.tensors.push_back(std::move(t));
  // What the caller brings or gets belongs to the program: it stands before the loops that are open.
  const bool hoisted = role != Role::internal && !open_loops_.empty();
  Block& in = hoisted ? program_.body : block();
  in.insert(in.end() - (hoisted ? 1 : 0), {Node::Kind::declare, id});
  View v;
  v.kernel_ = this;
  v.memory_ = memory;
  v.access_ = whole(program_, id);
  return v;
}

View Kernel::input(std::string name, Shape shape, DType dtype, Memory memory, Where at) {
  return tensor(memory, Role::input, std::move(shape), dtype, {std::move(name)}, at);
}
View Kernel::output(std::string name, Shape shape, DType dtype, Memory memory, Where at) {
  return tensor(memory, Role::output, std::move(shape), dtype, {std::move(name)}, at);
}
View Kernel::inout(std::string name, Shape shape, DType dtype, Memory memory, Where at) {
  return tensor(memory, Role::inout, std::move(shape), dtype, {std::move(name)}, at);
}
View Kernel::sbuf(Shape shape, DType dtype, TensorOptions options, Where at) {
  return tensor(Memory::sbuf, Role::internal, std::move(shape), dtype, std::move(options), at);
}
View Kernel::psum(Shape shape, DType dtype, TensorOptions options, Where at) {
  return tensor(Memory::psum, Role::internal, std::move(shape), dtype, std::move(options), at);
}
View Kernel::hbm(Shape shape, DType dtype, TensorOptions options, Where at) {
  return tensor(Memory::hbm, Role::internal, std::move(shape), dtype, std::move(options), at);
}

void Kernel::open_loop(LoopId id) {
  block().push_back({Node::Kind::loop, id});
  open_loops_.push_back(id);
}

void Kernel::loop(std::int64_t lower, std::int64_t upper, std::int64_t step, const std::function<void(Index)>& body,
                  Where at) {
  const auto id = static_cast<LoopId>(program_.loops.size());
  program_.loops.push_back({.kind = Loop::Kind::static_for,
                            .variable = fmt::format("i{}", id),
                            .lower = {false, lower},
                            .upper = {false, upper},
                            .step = step,
                            .loc = locate(at)});
  open_loop(id);
  body(Index::variable(id));
  close_loop();
}

void Kernel::loop(std::int64_t count, const std::function<void(Index)>& body, Where at) { loop(0, count, 1, body, at); }

void Kernel::tiles(std::int64_t total, std::int64_t tile, const std::function<void(Index, std::int64_t)>& body,
                   Where at) {
  if (total < 0 || tile < 1)
    raise(builder_rules::kTable, builder_rules::kTiles,
          {.found = fmt::format("{} in tiles of {}", total, tile), .loc = source_loc(at)});
  const std::int64_t whole_tiles = total / tile;
  if (whole_tiles == 1) body(0, tile);
  if (whole_tiles > 1)
    loop(
        0, whole_tiles * tile, tile, [&](Index i) { body(i, tile); }, at);
  if (total % tile) body(whole_tiles * tile, total % tile);
}

Reg Kernel::new_register(bool frozen) {
  const Reg r{static_cast<RegisterId>(program_.registers.size())};
  program_.registers.push_back({fmt::format("r{}", r.id), frozen});
  return r;
}

Reg Kernel::reg(OptInt value, Where at) {
  const Reg r = new_register();
  register_alloc({.dst = r, .x = value}, at);
  return r;
}

Reg Kernel::open_fori_loop(IntOrReg lower, IntOrReg upper, std::int64_t step, const Where& at) {
  const auto bound = [](const IntOrReg& b) {
    return b.reg ? Bound{true, static_cast<std::int64_t>(b.reg->id)} : Bound{false, b.value};
  };
  const Reg r = new_register(true);
  const auto id = static_cast<LoopId>(program_.loops.size());
  program_.loops.push_back({.kind = Loop::Kind::dynamic_for,
                            .variable = program_.registers[r.id].name,
                            .reg = r.id,
                            .lower = bound(lower),
                            .upper = bound(upper),
                            .step = step,
                            .loc = locate(at)});
  open_loop(id);
  return r;
}

void Kernel::fori_loop(IntOrReg lower, IntOrReg upper, const std::function<void(Reg)>& body, std::int64_t step,
                       Where at) {
  body(open_fori_loop(lower, upper, step, at));
  close_loop();
}

void Kernel::open_while_loop(Reg condition, const Where& at) {
  const auto id = static_cast<LoopId>(program_.loops.size());
  program_.loops.push_back({.kind = Loop::Kind::dynamic_while, .reg = condition.id, .loc = locate(at)});
  open_loop(id);
}

void Kernel::while_loop(Reg condition, const std::function<void()>& body, Where at) {
  open_while_loop(condition, at);
  body();
  close_loop();
}

Kernel::Handle& Kernel::Handle::named(std::string name) {
  kernel_->program_.instructions[id_].name = static_cast<std::uint32_t>(kernel_->program_.strings.size());
  kernel_->program_.strings.push_back(std::move(name));
  return *this;
}

Kernel::Handle& Kernel::Handle::depends_on(std::initializer_list<Handle> producers) {
  Program& p = kernel_->program_;
  Instruction& inst = p.instructions[id_];
  const auto first = static_cast<std::uint32_t>(p.deps.size());
  for (std::uint32_t i = 0; i < inst.dep_count; ++i) p.deps.push_back(p.deps[inst.first_dep + i]);
  for (const Handle& h : producers) p.deps.push_back(h.id_);
  inst.first_dep = first;
  inst.dep_count = static_cast<std::uint32_t>(p.deps.size()) - first;
  return *this;
}

void Kernel::begin(Opcode opcode, const Where& at) {
  current_ = {};
  current_.opcode = opcode;
  current_.loc = locate(at);
  current_.first_arg = static_cast<std::uint32_t>(program_.args.size());
}

Kernel::Handle Kernel::end() {
  const auto id = static_cast<InstructionId>(program_.instructions.size());
  program_.instructions.push_back(current_);
  block().push_back({Node::Kind::instruction, id});
  return {this, id};
}

void Kernel::abandon() {
  program_.args.resize(program_.instructions.back().first_arg);
  program_.instructions.pop_back();
  block().pop_back();
}

Affine Kernel::add_affine(std::int64_t constant, const std::vector<Term>& terms) {
  if (terms.empty()) return {constant, 0, 0};
  const auto first = static_cast<std::uint32_t>(program_.terms.size());
  program_.terms.insert(program_.terms.end(), terms.begin(), terms.end());
  return {constant, first, static_cast<std::uint32_t>(terms.size())};
}

std::uint32_t Kernel::add_access(const View& view) {
  Access a = view.access_;
  a.partition = add_affine(a.partition.constant, view.partition_terms_);
  a.offset = add_affine(a.offset.constant, view.offset_terms_);
  program_.accesses.push_back(a);
  return static_cast<std::uint32_t>(program_.accesses.size() - 1);
}

// A tile is mostly used the same way several times in a row, or its halves in turn: such uses share one access.
std::uint32_t Kernel::share_access(const View& view) {
  if (!view.partition_terms_.empty() || !view.offset_terms_.empty()) return add_access(view);
  last_access_.resize(2 * program_.tensors.size(), kNone);  // two of each tensor, the latest first
  std::uint32_t* const last = last_access_.data() + std::size_t{2} * view.tensor();
  for (const std::uint32_t id : {last[0], last[1]}) {
    if (id == kNone) continue;
    const Access &a = view.access_, &b = program_.accesses[id];
    const bool same = a.dtype == b.dtype && a.dynamic == b.dynamic && a.offset.constant == b.offset.constant &&
                      a.partition.constant == b.partition.constant && a.rank == b.rank &&
                      std::equal(a.dims, a.dims + a.rank, b.dims);
    if (same) return id;
  }
  last[1] = last[0];
  return last[0] = add_access(view);
}

void Kernel::push(const View& view) {
  Arg arg;
  if (view.access_.tensor != kNone) {
    arg.kind = Arg::Kind::access;
    arg.index = share_access(view);
  }
  program_.args.push_back(arg);
}

void Kernel::push(const std::vector<View>& views) {
  Arg arg;
  arg.kind = Arg::Kind::accesses;
  arg.count = static_cast<std::uint32_t>(views.size());
  arg.index = static_cast<std::uint32_t>(program_.accesses.size());
  for (const View& v : views) add_access(v);
  program_.args.push_back(arg);
}

void Kernel::push(const std::optional<View>& view) { view ? push(*view) : program_.args.push_back({}); }

void Kernel::push(const Operand& operand) {
  switch (operand.kind_) {
    case Arg::Kind::access:
      return push(operand.view_);
    case Arg::Kind::real:
      return push(operand.real_);
    case Arg::Kind::integer:
      return push(operand.integer_);
    default:
      program_.args.push_back({});
  }
}

void Kernel::push(std::int64_t value) {
  Arg arg;
  arg.kind = Arg::Kind::integer;
  arg.integer = value;
  program_.args.push_back(arg);
}

void Kernel::push(bool value) {
  push(static_cast<std::int64_t>(value));
  program_.args.back().kind = Arg::Kind::boolean;
}

void Kernel::push_enum(std::int64_t value) {
  push(value);
  program_.args.back().kind = Arg::Kind::enumerator;
}

void Kernel::push(double value) {
  Arg arg;
  arg.kind = Arg::Kind::real;
  arg.real = value;
  program_.args.push_back(arg);
}

void Kernel::push(const Ints& values) {
  Arg arg;
  if (!values.empty()) {
    arg.kind = Arg::Kind::integers;
    arg.count = static_cast<std::uint32_t>(values.size());
    arg.index = static_cast<std::uint32_t>(program_.integers.size());
    program_.integers.insert(program_.integers.end(), values.begin(), values.end());
  }
  program_.args.push_back(arg);
}

void Kernel::push(const Floats& values) {
  Arg arg;
  if (!values.empty()) {
    arg.kind = Arg::Kind::reals;
    arg.count = static_cast<std::uint32_t>(values.size());
    arg.index = static_cast<std::uint32_t>(program_.reals.size());
    program_.reals.insert(program_.reals.end(), values.begin(), values.end());
  }
  program_.args.push_back(arg);
}

void Kernel::push(const Pattern& pattern) {
  Ints flat;
  for (const Dim& d : pattern) flat.insert(flat.end(), {d.stride, d.count});
  push(flat);
}

// Each list after its length.
void Kernel::push(const Groups& groups) {
  Ints flat;
  for (const auto& group : groups) {
    flat.push_back(static_cast<std::int64_t>(group.size()));
    flat.insert(flat.end(), group.begin(), group.end());
  }
  push(flat);
}

void Kernel::push(Reg reg) {
  Arg arg;
  arg.kind = Arg::Kind::reg;
  arg.index = reg.id;
  program_.args.push_back(arg);
}

void Kernel::push(const IntOrReg& value) { value.reg ? push(*value.reg) : push(value.value); }
void Kernel::push(const OptBool& value) { value ? push(*value) : program_.args.push_back({}); }
void Kernel::push(const OptAlu& value) { value ? push(*value) : program_.args.push_back({}); }
void Kernel::push(const OptInt& value) { value ? push(*value) : program_.args.push_back({}); }

#define KILN_INSTRUCTION(name, ...)                                              \
  Kernel::Handle Kernel::name([[maybe_unused]] const name##_args& a, Where at) { \
    begin(Opcode::name, at);
#define KILN_OUT(param, ...) push(a.param);
#define KILN_INOUT(param, ...) push(a.param);
#define KILN_OPT_OUT(param, ...) push(a.param);
#define KILN_IN(param, ...) push(a.param);
#define KILN_INS(param, ...) push(a.param);
#define KILN_OUTS(param, ...) push(a.param);
#define KILN_SCALAR_OR_IN(param, ...) push(a.param);
#define KILN_OPT_SCALAR_OR_IN(param, ...) push(a.param);
#define KILN_ARG(param, ...) push(a.param);
#define KILN_DEFAULT(param, ...) push(a.param);
#define KILN_END(name) \
  return end();        \
  }
#include "kiln/isa/instructions.def"
#include "kiln/isa/undef_instruction_macros.h"

}  // namespace kiln::isa
