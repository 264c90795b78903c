// Lines by index and their order: gathers within a partition, changes in order, a sorting network.
#include "kiln/tensor/lower/lines.h"

#include <bit>
#include <limits>

#include "kiln/tensor/lower/region.h"

namespace kiln::tensor {

using isa::View;

namespace {

View whole(const Tile& t, std::int64_t n) { return view_of(t, {{1, n}}); }

AluOp operator_of(const std::string& mode) {
  if (mode == "add") return AluOp::add;
  if (mode == "multiply") return AluOp::multiply;
  return mode == "maximum" ? AluOp::maximum : AluOp::minimum;
}

}  // namespace

// Operand i as one contiguous line per partition, which may be written when it is `fresh`.
Tile RegionEmitter::line(Value v, std::size_t i, DType dtype, bool fresh) {
  const Tile t = operand(v, i);
  const Value x = graph_.op(v).operands[i];
  const Shape& shape = graph_.type(x).shape;
  const std::int64_t n = shape.back();
  const bool plain = t.dtype() == dtype && !t.in_psum() && Strided{0, t.dims}.is_contiguous() && t.count() == n;
  if (plain && !fresh) return {t.storage, t.offset, {0, 1}, {{1, n}}, rows_};
  Shape free(t.dims.size(), 1);
  free.back() = n;
  const Tile out = new_tile(k_, Memory::sbuf, rows_, {1, free}, dtype);
  copy(out, t, {1, free});
  return {out.storage, 0, {0, 1}, {{1, n}}, rows_};
}

Tile RegionEmitter::take_along(Value v, const Tile* into) {
  const Tile data = operand(v, 0);  // a wider float is the same tile: what is taken is converted, not the line
  const DType held = data.in_psum() ? tile_dtype(v) : data.dtype();
  const Tile x = line(v, 0, held, false), at = line(v, 1, DType::uint32, false);
  const std::int64_t n = x.dims[0].count, m = at.dims[0].count;
  const Tile taken = new_tile(k_, Memory::sbuf, rows_, free_of(v), held);
  k_.nc_n_gather({.dst = whole(taken, m), .data = whole(x, n), .indices = whole(at, m)});
  if (!into && held == tile_dtype(v)) return taken;
  const Tile dst = target(v, into);
  copy(dst, taken, free_of(v));
  return dst;
}

// One index after the other: where the place is the index, the element is changed.
Tile RegionEmitter::put_along(Value v, const Tile* into) {
  const std::string& mode = graph_.op(v).text("mode");
  const DType t = tile_dtype(v);
  const Tile x = line(v, 0, t, true), at = line(v, 1, DType::float32, false), values = line(v, 2, t, false);
  const std::int64_t n = x.dims[0].count, m = at.dims[0].count;
  const Free row{1, {n}};
  const Tile places = new_tile(k_, Memory::sbuf, rows_, row, DType::float32);
  k_.iota({.dst = whole(places, n), .pattern = {{1, n}}, .offset = 0});
  const bool wide = is_integer(t) && size_bytes(t) == 4;
  k_.loop(m, [&](isa::Index i) {
    const Tile hit = new_tile(k_, Memory::sbuf, rows_, row, DType::uint8);
    k_.tensor_scalar(
        {.dst = whole(hit, n), .data = whole(places, n), .op0 = AluOp::equal, .operand0 = view_of(at, {{1, 1}}, i)});
    View one = view_of(values, {{0, n}}, i);
    if (mode != "set") {
      const Tile changed = new_tile(k_, Memory::sbuf, rows_, row, is_integer(t) ? (wide ? t : DType::int32) : t);
      if (is_integer(t) && !wide) {
        change_narrow(changed, x, values, i, operator_of(mode), n);
        one =
            changed.storage.view(t).ap({{changed.storage.dim(1) * (4 / size_bytes(t)), rows_}, {4 / size_bytes(t), n}});
      } else {
        k_.tensor_tensor({.dst = whole(changed, n), .data1 = whole(x, n), .data2 = one, .op = operator_of(mode)});
        one = whole(changed, n);
      }
    }
    k_.tensor_copy_predicated({.dst = whole(x, n), .src = one, .predicate = whole(hit, n)});
  });
  const Tile dst = target(v, into);
  Tile flat = x;
  flat.dims = Strided::contiguous(free_of(v).dims).dims;
  copy(dst, flat, free_of(v));
  return dst;
}

// Narrow integers in 32 bits, of which the low ones count.
void RegionEmitter::change_narrow(const Tile& dst, const Tile& x, const Tile& values, const isa::Index& i, AluOp op,
                                  std::int64_t n) {
  const Tile a = new_tile(k_, Memory::sbuf, rows_, {1, {n}}, DType::int32),
             b = new_tile(k_, Memory::sbuf, rows_, {1, {n}}, DType::int32);
  k_.tensor_copy({.dst = whole(a, n), .src = whole(x, n)});
  k_.tensor_copy({.dst = whole(b, n), .src = view_of(values, {{0, n}}, i)});
  k_.tensor_tensor({.dst = whole(dst, n), .data1 = whole(a, n), .data2 = whole(b, n), .op = op});
}

namespace {

// Keys and their places, as they are sorted.
struct Network {
  isa::Kernel& k;
  Tile key, place;
  std::int64_t rows;

  View part(const Tile& t, const Dims& dims, std::int64_t from) const { return view_of(t, dims, from); }

  // The smaller of two into the first: by key, and of equal keys by place.
  void exchange(const Dims& dims, std::int64_t a, std::int64_t b) const {
    Shape shape;
    for (const isa::Dim& d : dims) shape.push_back(d.count);
    const Free free{1, shape};
    const auto fresh = [&](DType t) { return new_tile(k, Memory::sbuf, rows, free, t); };
    const auto all = [&](const Tile& t) { return view_of(t, t.dims); };
    const Tile above = fresh(DType::float32), ties = fresh(DType::float32), later = fresh(DType::float32),
               swaps = fresh(DType::uint8);
    k.tensor_tensor(
        {.dst = all(above), .data1 = part(key, dims, a), .data2 = part(key, dims, b), .op = AluOp::greater});
    k.tensor_tensor({.dst = all(ties), .data1 = part(key, dims, a), .data2 = part(key, dims, b), .op = AluOp::equal});
    k.tensor_tensor(
        {.dst = all(later), .data1 = part(place, dims, a), .data2 = part(place, dims, b), .op = AluOp::greater});
    k.tensor_tensor({.dst = all(ties), .data1 = all(ties), .data2 = all(later), .op = AluOp::multiply});
    k.tensor_tensor({.dst = all(swaps), .data1 = all(above), .data2 = all(ties), .op = AluOp::maximum});
    for (const Tile* t : {&key, &place}) {
      const Tile first = fresh(DType::float32);
      k.tensor_copy({.dst = all(first), .src = part(*t, dims, a)});
      k.tensor_copy_predicated({.dst = part(*t, dims, a), .src = part(*t, dims, b), .predicate = all(swaps)});
      k.tensor_copy_predicated({.dst = part(*t, dims, b), .src = all(first), .predicate = all(swaps)});
    }
  }
};

}  // namespace

// Batcher's merge exchange: all comparisons go the same way, so that a step is one pattern.
Tile RegionEmitter::order(Value v, const Tile* into) {
  const std::int64_t n = graph_.type(v).shape.back();
  const auto N = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(n)));
  const Tile x = line(v, 0, DType::float32, false);
  const Free row{1, {N}};
  const Network net{k_, new_tile(k_, Memory::sbuf, rows_, row, DType::float32),
                    new_tile(k_, Memory::sbuf, rows_, row, DType::float32), rows_};
  constexpr double kInf = std::numeric_limits<double>::infinity();
  if (N > n) k_.memset({.dst = whole(net.key, N), .value = kInf});
  k_.tensor_copy({.dst = whole(net.key, n), .src = whole(x, n)});
  k_.iota({.dst = whole(net.place, N), .pattern = {{1, N}}, .offset = 0});
  // NaN stands behind infinity, and what fills up behind both.
  const Tile is_nan = new_tile(k_, Memory::sbuf, rows_, row, DType::uint8),
             behind = new_tile(k_, Memory::sbuf, rows_, row, DType::float32);
  k_.tensor_tensor(
      {.dst = whole(is_nan, N), .data1 = whole(net.key, N), .data2 = whole(net.key, N), .op = AluOp::not_equal});
  k_.tensor_scalar(
      {.dst = whole(behind, N), .data = whole(net.place, N), .op0 = AluOp::add, .operand0 = static_cast<double>(N)});
  k_.tensor_copy_predicated({.dst = whole(net.place, N), .src = whole(behind, N), .predicate = whole(is_nan, N)});
  k_.tensor_copy_predicated({.dst = whole(net.key, N), .src = kInf, .predicate = whole(is_nan, N)});
  if (N > n)
    k_.tensor_scalar({.dst = view_of(net.place, {{1, N - n}}, n),
                      .data = view_of(net.place, {{1, N - n}}, n),
                      .op0 = AluOp::add,
                      .operand0 = static_cast<double>(2 * N)});
  for (std::int64_t p = 1; p < N; p *= 2) {
    net.exchange({{2 * p, N / (2 * p)}, {1, p}}, 0, p);
    for (std::int64_t q = p / 2; q >= 1; q /= 2)
      net.exchange({{2 * p, N / (2 * p)}, {2 * q, p / q - 1}, {1, q}}, q, 2 * q);
  }
  // The places of NaN as they were.
  k_.tensor_scalar({.dst = whole(behind, n),
                    .data = whole(net.place, n),
                    .op0 = AluOp::greater_equal,
                    .operand0 = static_cast<double>(N),
                    .op1 = AluOp::multiply,
                    .operand1 = static_cast<double>(-N)});
  k_.tensor_tensor(
      {.dst = whole(behind, n), .data1 = whole(behind, n), .data2 = whole(net.place, n), .op = AluOp::add});
  const Tile dst = target(v, into);
  Tile flat = behind;
  flat.dims = Strided::contiguous(free_of(v).dims).dims;
  copy(dst, flat, free_of(v));
  return dst;
}

// The same network for keys alone, none of them NaN. A step goes from one tile to another: the vector engine has the
// smaller of each pair, gpsimd the larger, the scalar engine what the step leaves as it is. Of equal zeros both take
// the first of their operands, each another one. Gpsimd alone compares 32-bit integers exactly.
Tile RegionEmitter::sorted_keys(const Tile& keys, std::int64_t N) {
  const bool is_integer_key = is_integer(keys.dtype());
  const Engine smaller = is_integer_key ? Engine::gpsimd : Engine::vector;
  const Engine third = is_integer_key                     ? Engine::vector
                       : arch_.features.scalar_tensor_ops ? Engine::scalar
                                                          : Engine::gpsimd;
  Tile from = keys, to = new_tile(k_, Memory::sbuf, rows_, {1, {N}}, keys.dtype());
  const auto exchange = [&](const Dims& dims, std::int64_t a, std::int64_t b) {
    const View low = view_of(from, dims, a), high = view_of(from, dims, b);
    k_.tensor_tensor(
        {.dst = view_of(to, dims, a), .data1 = low, .data2 = high, .op = AluOp::minimum, .engine = smaller});
    k_.tensor_tensor(
        {.dst = view_of(to, dims, b), .data1 = high, .data2 = low, .op = AluOp::maximum, .engine = Engine::gpsimd});
  };
  for (std::int64_t p = 1; p < N; p *= 2) {
    exchange({{2 * p, N / (2 * p)}, {1, p}}, 0, p);
    std::swap(from, to);
    for (std::int64_t q = p / 2; q >= 1; q /= 2) {
      exchange({{2 * p, N / (2 * p)}, {2 * q, p / q - 1}, {1, q}}, q, 2 * q);
      const Dims ends{{2 * p, N / (2 * p)}, {2 * p - q, 2}, {1, q}};
      k_.tensor_copy({.dst = view_of(to, ends), .src = view_of(from, ends), .engine = third});
      std::swap(from, to);
    }
  }
  return from;
}

// Values alone, ascending. NaN go as infinities, and as many of the last ones are NaN again.
Tile RegionEmitter::sorted(Value v, const Tile* into) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const std::int64_t n = graph_.type(v).shape.back();
  const auto N = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(n)));
  const Tile x = line(v, 0, graph_.type(v).dtype, false);
  const Free row{1, {N}}, one{1, {1}};
  const Tile keys = new_tile(k_, Memory::sbuf, rows_, row, x.dtype());
  const bool is_wide = is_integer(x.dtype());
  const isa::Operand last = is_wide ? isa::Operand(static_cast<std::int64_t>(highest(x.dtype()))) : isa::Operand(kInf);
  if (N > n) k_.memset({.dst = view_of(keys, {{1, N - n}}, n), .value = last});
  k_.tensor_copy({.dst = whole(keys, n), .src = whole(x, n)});
  const Op& given = graph_.op(graph_.op(v).operands[0]);
  const bool are_integers = is_wide || (given.code == OpCode::cast && is_integer(graph_.type(given.operands[0]).dtype));
  const Tile places = new_tile(k_, Memory::sbuf, rows_, row, DType::float32),
             is_nan = new_tile(k_, Memory::sbuf, rows_, row, DType::uint8),
             first = new_tile(k_, Memory::sbuf, rows_, one, DType::float32);
  if (!are_integers) {
    k_.iota({.dst = whole(places, n), .pattern = {{1, n}}, .offset = 0});
    k_.tensor_tensor({.dst = whole(is_nan, n), .data1 = whole(x, n), .data2 = whole(x, n), .op = AluOp::not_equal});
    k_.tensor_reduce({.dst = whole(first, 1), .op = AluOp::add, .data = whole(is_nan, n), .axis = {1}});
    k_.tensor_scalar({.dst = whole(first, 1),
                      .data = whole(first, 1),
                      .op0 = AluOp::subtract,
                      .operand0 = static_cast<double>(n),
                      .reverse0 = true});
    k_.tensor_copy_predicated({.dst = whole(keys, n), .src = kInf, .predicate = whole(is_nan, n)});
  }
  Tile flat = sorted_keys(keys, N);
  if (!are_integers) {
    k_.tensor_scalar(
        {.dst = whole(is_nan, n), .data = whole(places, n), .op0 = AluOp::greater_equal, .operand0 = whole(first, 1)});
    k_.tensor_copy_predicated(
        {.dst = whole(flat, n), .src = std::numeric_limits<double>::quiet_NaN(), .predicate = whole(is_nan, n)});
  }
  return as_seen(v, flat, into);
}

// Elements of each line in the order of hands, not of rounds.
Tile RegionEmitter::dealt(Value v, const Tile* into) {
  const std::int64_t n = graph_.type(v).shape.back(), parts = graph_.op(v).integer("parts"), each = n / parts;
  const Tile x = line(v, 0, tile_dtype(v), false);
  const Tile out = new_tile(k_, Memory::sbuf, rows_, {1, {n}}, tile_dtype(v));
  k_.tensor_copy(
      {.dst = view_of(out, {{each, parts}, {1, each}}, 0), .src = view_of(x, {{1, parts}, {parts, each}}, 0)});
  return as_seen(v, out, into);
}

// A line that was made on the chip, as the value is seen.
Tile RegionEmitter::as_seen(Value v, Tile line, const Tile* into) {
  line.dims = Strided::contiguous(free_of(v).dims).dims;
  if (!into && line.dtype() == tile_dtype(v)) return line;
  const Tile dst = target(v, into);
  copy(dst, line, free_of(v));
  return dst;
}

// Eight at a time: the largest, where they are, and then without them. Numbers are made smaller by a power of two, so
// that below all of them there is room for -infinity, for NaN, and for what has been found.
Tile RegionEmitter::largest(Value v, const Tile* into) {
  constexpr double kEndless = -2e38, kNaN = -3e38, kInf = std::numeric_limits<double>::infinity();
  constexpr std::int64_t kTogether = 8;
  const std::int64_t n = graph_.type(graph_.op(v).operands[0]).shape.back(), count = graph_.op(v).integer("k");
  const std::int64_t N = std::max(n, kTogether), found = (count + kTogether - 1) / kTogether * kTogether;
  const Tile x = line(v, 0, DType::float32, false);
  const Free row{1, {N}};
  const Tile key = new_tile(k_, Memory::sbuf, rows_, row, DType::float32),
             is_nan = new_tile(k_, Memory::sbuf, rows_, row, DType::uint8),
             places = new_tile(k_, Memory::sbuf, rows_, {1, {found}}, DType::uint32),
             best = new_tile(k_, Memory::sbuf, rows_, {1, {kTogether}}, DType::float32);
  if (N > n) k_.memset({.dst = whole(key, N), .value = -kInf});
  k_.tensor_scalar({.dst = whole(key, n),
                    .data = whole(x, n),
                    .op0 = AluOp::multiply,
                    .operand0 = 0.25,
                    .op1 = AluOp::maximum,
                    .operand1 = kEndless});
  k_.tensor_tensor({.dst = whole(is_nan, n), .data1 = whole(x, n), .data2 = whole(x, n), .op = AluOp::not_equal});
  k_.tensor_copy_predicated({.dst = whole(key, n), .src = kNaN, .predicate = whole(is_nan, n)});
  for (std::int64_t i = 0; i < found; i += kTogether) {
    k_.max8({.dst = whole(best, kTogether), .src = whole(key, N)});
    k_.nc_find_index8(
        {.dst = view_of(places, {{1, kTogether}}, i), .data = whole(key, N), .vals = whole(best, kTogether)});
    if (i + kTogether < found)
      k_.nc_match_replace8({.dst = whole(key, N), .data = whole(key, N), .vals = whole(best, kTogether), .imm = -kInf});
  }
  const Tile dst = target(v, into);
  Tile flat = places;
  flat.dims = Strided::contiguous(free_of(v).dims).dims;
  copy(dst, flat, free_of(v));
  return dst;
}

}  // namespace kiln::tensor
