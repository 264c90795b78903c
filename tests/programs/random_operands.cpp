#include "tests/programs/random_operands.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace kiln::isa {

Arg integer_arg(std::int64_t value, Arg::Kind kind) {
  Arg a;
  a.kind = kind;
  a.integer = value;
  return a;
}

Arg register_arg(RegisterId r) {
  Arg a;
  a.kind = Arg::Kind::reg;
  a.index = r;
  return a;
}

RandomOperands::RandomOperands(Choices& choices, const RandomProgramOptions& options, Program& program)
    : c_(choices), options_(options), p_(program), partitions_(choices.any(kPartitions)) {
  free_ = c_.chance(3) ? partitions_ : c_.any(kFree);  // squares suit nc_matmul and transposes
}

void RandomOperands::next_shape() {
  rows_ = c_.chance(3) ? c_.any(kPartitions) : partitions_;
  columns_ = c_.chance(3) ? c_.any(kFree) : free_;
}

Arg RandomOperands::value(const ParamInfo& param) {
  if (!param.is_tile()) return attribute(param);
  const bool scalar = param.kind == ParamKind::scalar_or_in || param.kind == ParamKind::opt_scalar_or_in;
  if (scalar && c_.chance(2)) return c_.chance(2) ? integer_arg(any_integer()) : real();
  if (!param.is_list()) return tile(access(param, scalar || c_.chance(6), true));
  std::vector<Access> list;
  for (std::int64_t n = c_.between(1, 4); n > 0; --n) list.push_back(access(param, false, true));
  Arg a;
  a.kind = Arg::Kind::accesses;
  a.count = static_cast<std::uint32_t>(list.size());
  a.index = static_cast<std::uint32_t>(p_.accesses.size());
  p_.accesses.insert(p_.accesses.end(), list.begin(), list.end());
  return a;
}

Arg RandomOperands::attribute(const ParamInfo& param) {
  if (const auto members = enum_members(param.type); !members.empty())
    return integer_arg(c_.below(static_cast<std::int64_t>(members.size())), Arg::Kind::enumerator);
  switch (param.type) {
    case AttrType::Bool:
    case AttrType::OptBool:
      return integer_arg(c_.below(2), Arg::Kind::boolean);
    case AttrType::Float:
      return real();
    case AttrType::Number:
      return c_.chance(2) ? real() : integer_arg(any_integer());
    case AttrType::Ints:
      return integers(c_.chance(2)   ? std::vector<std::int64_t>{1}
                      : c_.chance(4) ? numbers(c_.between(1, 6))
                                     : shuffle());
    case AttrType::Pattern:
      return integers(c_.chance(4) ? numbers(2 * c_.between(1, 3)) : std::vector{c_.between(-2, 2), columns_});
    case AttrType::Groups:
      return integers({1, 0});
    case AttrType::Floats:
      return reals();
    case AttrType::Reg:
      return reg();
    case AttrType::IntOrReg:
      return c_.chance(3) ? reg() : integer_arg(any_integer());
    default:
      return integer_arg(any_integer());
  }
}

std::int64_t RandomOperands::any_integer() {
  if (!options_.legal && c_.chance(4)) return std::numeric_limits<std::int64_t>::min();
  if (!options_.legal && c_.chance(2)) return c_.between(-1000, 1000);
  return c_.chance(4) ? c_.between(-4, 20) : c_.below(8);
}

double RandomOperands::any_real() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  static constexpr double kValues[] = {0.0,
                                       -0.0,
                                       1.0,
                                       0.5,
                                       -2.0,
                                       3.0e38,
                                       1.0e-40,
                                       5e-324,
                                       kInfinity,
                                       -kInfinity,
                                       std::numeric_limits<double>::quiet_NaN()};
  if (options_.legal || c_.chance(2)) return c_.any(kValues);
  const double any = std::bit_cast<double>(c_.bits());
  return std::isnan(any) ? 0.5 : any;
}

std::vector<std::int64_t> RandomOperands::numbers(std::int64_t count) {
  std::vector<std::int64_t> all;
  for (; count > 0; --count) all.push_back(c_.between(-9, 9));
  return all;
}

// A mask of nc_stream_shuffle.
std::vector<std::int64_t> RandomOperands::shuffle() {
  std::vector<std::int64_t> mask;
  for (int i = 0; i < 32; ++i) mask.push_back(c_.chance(8) ? 255 : c_.below(32));
  return mask;
}

Arg RandomOperands::real() {
  Arg a;
  a.kind = Arg::Kind::real;
  a.real = any_real();
  return a;
}

Arg RandomOperands::reals() {
  Arg a;
  a.kind = Arg::Kind::reals;
  a.count = static_cast<std::uint32_t>(c_.between(1, 4));
  a.index = static_cast<std::uint32_t>(p_.reals.size());
  for (std::uint32_t i = 0; i < a.count; ++i) p_.reals.push_back(any_real());
  return a;
}

Arg RandomOperands::reg() { return register_arg(static_cast<RegisterId>(c_.below(kFreeRegisters))); }

Arg RandomOperands::integers(const std::vector<std::int64_t>& values) {
  Arg a;
  a.kind = Arg::Kind::integers;
  a.count = static_cast<std::uint32_t>(values.size());
  a.index = static_cast<std::uint32_t>(p_.integers.size());
  p_.integers.insert(p_.integers.end(), values.begin(), values.end());
  return a;
}

Arg RandomOperands::tile(const Access& access) {
  Arg a;
  a.kind = Arg::Kind::access;
  a.index = static_cast<std::uint32_t>(p_.accesses.size());
  p_.accesses.push_back(access);
  return a;
}

std::vector<TensorId> RandomOperands::suitable(const ParamInfo& param, bool as_it_is) const {
  std::vector<TensorId> fits;
  for (const TensorId id : visible) {
    const Tensor& t = p_.tensors[id];
    if (param.is_output() && t.role == Role::input) continue;
    if (!options_.legal || (param.allows(t.memory) && (!as_it_is || param.allows(t.dtype)))) fits.push_back(id);
  }
  return fits;
}

// A view of a tensor that suits the parameter; tensor kNone when there is none.
Access RandomOperands::access(const ParamInfo& param, bool column, bool may_move) {
  const bool as_it_is = !c_.chance(options_.legal ? 6 : 3);
  const std::vector<TensorId> fits = suitable(param, as_it_is);
  if (fits.empty()) return {};
  const TensorId id = c_.any(fits);
  if (as_it_is && c_.chance(4)) return whole(p_, id);
  const DType dtype = as_it_is ? p_.tensors[id].dtype : other_dtype(param, id);
  if (c_.chance(options_.legal ? 10 : 2)) return scattered(id, dtype, may_move);
  return shaped(id, dtype, column ? 1 : columns_, may_move);
}

std::int64_t RandomOperands::row_bytes(TensorId id) const {
  const Tensor& t = p_.tensors[id];
  return t.size() / t.shape[0] * size_bytes(t.dtype);
}

// A dtype that suits the parameter and divides a row of the tensor.
DType RandomOperands::other_dtype(const ParamInfo& param, TensorId id) {
  std::vector<DType> fits;
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    const bool suits = !options_.legal || param.allows(dtype);
    if (suits && row_bytes(id) % size_bytes(dtype) == 0) fits.push_back(dtype);
  }
  return fits.empty() ? p_.tensors[id].dtype : c_.any(fits);
}

// As many rows and columns as the instruction's shape has, columns perhaps apart and folded into several dimensions.
Access RandomOperands::shaped(TensorId id, DType dtype, std::int64_t columns, bool may_move) {
  const Tensor& t = p_.tensors[id];
  const bool on_chip = is_on_chip(t.memory);
  Access a;
  a.tensor = id;
  a.dtype = dtype;
  const std::int64_t row_elements = row_bytes(id) / size_bytes(dtype);
  if (may_move && c_.chance(12)) a.dynamic = dynamic(id, row_elements);
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
  if (on_chip && rows + 32 <= t.shape[0] && c_.chance(3)) a.partition.constant = 32;
  a.offset = affine(room);
  return a;
}

// Any pattern inside the tensor.
Access RandomOperands::scattered(TensorId id, DType dtype, bool may_move) {
  const Tensor& t = p_.tensors[id];
  const bool on_chip = is_on_chip(t.memory);
  Access a;
  a.tensor = id;
  a.dtype = dtype;
  if (may_move && c_.chance(4)) a.dynamic = dynamic(id, row_bytes(id) / size_bytes(dtype));
  if (on_chip) {
    a.dims[0] = {1, c_.between(1, t.partitions())};
    a.partition = affine(t.partitions() - a.dims[0].count);
  }
  const int first = on_chip ? 1 : 0;
  std::int64_t room = t.bytes_per_partition() / size_bytes(dtype) - 1;
  a.rank = static_cast<std::uint8_t>(c_.between(first + 1, max_rank(on_chip)));
  for (int i = first; i < a.rank; ++i) {
    const std::int64_t count = c_.between(1, 6);
    const std::int64_t stride = count == 1 ? c_.below(9) : c_.below(room / (count - 1) + 1);
    a.dims[i] = {stride, count};
    room -= stride * (count - 1);
  }
  a.offset = affine(room);
  return a;
}

// An affine expression whose values fill a part of 0 … room; its smallest value is not negative.
Affine RandomOperands::affine(std::int64_t room) {
  Affine a{0, static_cast<std::uint32_t>(p_.terms.size()), 0};
  for (const LoopId id : variables) {
    const Loop& l = p_.loops[id];
    const std::int64_t steps = std::max<std::int64_t>(l.trip_count() - 1, 0);
    const std::int64_t first = l.lower.value, last = first + steps * l.step;
    const std::int64_t most = last > first ? room / (last - first) : 5;
    const std::int64_t coefficient = c_.chance(2) ? 0 : c_.between(-most, most);
    if (coefficient == 0) continue;
    p_.terms.push_back({id, coefficient});
    ++a.term_count;
    room -= std::abs(coefficient) * (last - first);
    a.constant -= std::min(coefficient * first, coefficient * last);
  }
  a.constant += c_.chance(2) ? 0 : c_.below(room + 1);
  return a;
}

std::uint32_t RandomOperands::dynamic(TensorId id, std::int64_t row_elements) {
  Dynamic d{Dynamic::Kind::scalar_register, kNone, 1};
  if (c_.chance(2)) d = dynamic_by_tile(is_on_chip(p_.tensors[id].memory), c_.chance(3));
  if (d.source == kNone) {
    d = {Dynamic::Kind::scalar_register, static_cast<std::uint32_t>(c_.below(kFreeRegisters)), 1};
    if (c_.chance(3)) d.scale = 32 * row_elements;
  }
  if (!options_.legal && c_.chance(2)) d.scale = c_.between(-600, 600);
  p_.dynamics.push_back(d);
  return static_cast<std::uint32_t>(p_.dynamics.size() - 1);
}

// Source kNone when no tensor in sight holds such indices.
Dynamic RandomOperands::dynamic_by_tile(bool on_chip, bool scalar) {
  static const ParamInfo& index = info(Opcode::nc_n_gather).params[args::nc_n_gather::indices];
  const std::int64_t rows = rows_;
  if (scalar) rows_ = 1;
  const Access source = access(index, scalar, false);
  rows_ = rows;
  const auto kind = scalar ? Dynamic::Kind::scalar_tile : on_chip ? Dynamic::Kind::indirect : Dynamic::Kind::vector;
  if (source.tensor == kNone) return {kind, kNone, 1};
  return {kind, tile(source).index, c_.between(1, 8)};
}

}  // namespace kiln::isa
