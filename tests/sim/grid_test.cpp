// Elementwise instructions on tiles of any layout, computed where the tiles lie, give the bits of the definition.
#include <bit>
#include <random>

#include "kiln/isa/text/print.h"
#include "tests/seed.h"
#include "tests/sim/run_kernel.h"

namespace kiln::sim {
namespace {

using Random = std::mt19937_64;

std::int64_t one_of(Random& random, std::initializer_list<std::int64_t> values) {
  return values.begin()[random() % values.size()];
}

// Views of one shape in tiles that are larger, permuted or repeat themselves.
class Layouts {
 public:
  Layouts(Kernel& k, Random& random, DType dtype)
      : k_(k), random_(random), dtype_(dtype), rows_(one_of(random, {1, 2, 7, 128})) {
    const std::uint64_t rank = 1 + random() % 3;
    for (std::uint64_t d = 0; d < rank; ++d)
      shape_.push_back(rank == 1 ? one_of(random, {1, 5, 8, 64, 130, 2500}) : one_of(random, {1, 3, 4, 16, 20}));
  }

  // `writable`: no element lies in two places of it.
  View view(bool writable) {
    const int last = static_cast<int>(shape_.size());
    isa::Shape whole{rows_};
    whole.insert(whole.end(), shape_.begin(), shape_.end());
    switch (random_() % (writable ? 4 : 6)) {
      case 1:  // a part of longer rows
        whole[last] += one_of(random_, {1, 3, 16});
        return loaded(whole).slice(last, static_cast<std::int64_t>(random_() % 2), shape_.back());
      case 2:  // every second element
        whole[last] *= 2;
        return loaded(whole).slice(last, 0, shape_.back(), 2);
      case 3:
        return permuted(whole, last);
      case 4:  // the same elements again and again
        whole[1] = 1;
        return loaded(whole).broadcast(1, shape_[0]);
      case 5:  // each element some times
        whole[last] = 1;
        return loaded(whole).broadcast(last, shape_.back());
      default:
        return loaded(whole);
    }
  }
  View column() {
    return random_() % 2 ? loaded({rows_, 1}, DType::float32) : loaded({rows_, 3}, DType::float32).slice(1, 1, 1);
  }

  // All tiles as they are in the end.
  void store() {
    for (std::size_t i = 0; i < tiles_.size(); ++i)
      k_.dma_copy(
          {.dst = k_.output("out" + std::to_string(i), tiles_[i].shape(), tiles_[i].dtype()), .src = tiles_[i]});
  }

 private:
  View loaded(const isa::Shape& whole) { return loaded(whole, dtype_); }
  View loaded(const isa::Shape& whole, DType dtype) {
    const View tile = k_.sbuf(whole, dtype);
    k_.dma_copy({.dst = tile, .src = k_.input("in" + std::to_string(tiles_.size()), whole, dtype)});
    return tiles_.emplace_back(tile);
  }
  View permuted(isa::Shape whole, int last) {
    if (last < 2) return loaded(whole);
    std::swap(whole[last], whole[last - 1]);
    std::vector<int> order;
    for (int d = 0; d <= last; ++d) order.push_back(d);
    std::swap(order[last], order[last - 1]);
    return loaded(whole).permute(order);
  }

  Kernel& k_;
  Random& random_;
  const DType dtype_;
  const std::int64_t rows_;
  isa::Shape shape_;
  std::vector<View> tiles_;
};

AluOp any_op(Random& random) {
  constexpr AluOp kOps[] = {AluOp::add,     AluOp::subtract, AluOp::multiply,
                            AluOp::maximum, AluOp::greater,  AluOp::abs_max};
  return kOps[random() % std::size(kOps)];
}

isa::Program random_program(Random& random) {
  Kernel k("grid");
  Layouts layouts(k, random, random() % 2 ? DType::float32 : DType::bfloat16);
  const bool in_place = random() % 4 == 0, reverse0 = random() % 2, reverse1 = random() % 2;
  const View x = layouts.view(in_place), y = layouts.view(false), dst = in_place ? x : layouts.view(true);
  const AluOp op0 = any_op(random), op1 = any_op(random);
  const View column = layouts.column();
  switch (random() % 8) {
    case 0:
      k.tensor_tensor({.dst = dst, .data1 = x, .data2 = y, .op = op0});
      break;
    case 1:
      k.scalar_tensor_tensor({.dst = dst,
                              .data = x,
                              .op0 = op0,
                              .operand0 = column,
                              .op1 = op1,
                              .operand1 = y,
                              .reverse0 = reverse0,
                              .reverse1 = reverse1});
      break;
    case 2:
      k.scalar_tensor_tensor({.dst = dst,
                              .data = x,
                              .op0 = op0,
                              .operand0 = 1.5,
                              .op1 = op1,
                              .operand1 = y,
                              .reverse0 = reverse0,
                              .reverse1 = reverse1});
      break;
    case 3:
      k.tensor_scalar({.dst = dst,
                       .data = x,
                       .op0 = op0,
                       .operand0 = 0.75,
                       .reverse0 = reverse0,
                       .op1 = op1,
                       .operand1 = column,
                       .reverse1 = reverse1});
      break;
    case 4:
      k.tensor_scalar({.dst = dst, .data = x, .op0 = op0, .operand0 = 1.25, .reverse0 = reverse0});
      break;
    case 5:
      k.reciprocal({.dst = dst, .data = x});
      break;
    case 6:
      k.activation({.dst = dst, .op = ActFn::copy, .data = x});
      break;
    default:
      k.tensor_scalar({.dst = dst, .data = x, .op0 = op0, .operand0 = column, .reverse0 = reverse0});
  }
  layouts.store();
  return k.finish();
}

// Exact integers and bits of them.
isa::Program random_integers(Random& random) {
  Kernel k("integers");
  Layouts layouts(k, random, random() % 3 ? DType::int32 : DType::int16);
  const bool in_place = random() % 4 == 0, reverse0 = random() % 2;
  const View x = layouts.view(in_place), y = layouts.view(false), dst = in_place ? x : layouts.view(true);
  constexpr AluOp kBits[] = {AluOp::bitwise_and, AluOp::bitwise_xor, AluOp::right_shift};
  switch (random() % 4) {
    case 0:
      k.tensor_tensor({.dst = dst, .data1 = x, .data2 = y, .op = kBits[random() % 3]});
      break;
    case 1:
      k.tensor_scalar({.dst = dst, .data = x, .op0 = kBits[random() % 3], .operand0 = 3, .reverse0 = reverse0});
      break;
    case 2:
      k.tensor_scalar({.dst = dst, .data = x, .op0 = AluOp::add, .operand0 = 3, .reverse0 = reverse0});
      break;
    default:
      k.tensor_tensor({.dst = dst, .data1 = x, .data2 = y, .op = random() % 2 ? AluOp::maximum : AluOp::subtract});
  }
  layouts.store();
  return k.finish();
}

// Parts of complex numbers, as products of them lie: pairs, pairs whose numbers change places, the first or the second
// numbers alone or twice, here and there the same ones in all groups.
class PairViews {
 public:
  PairViews(Kernel& k, Random& random) : k_(k), random_(random) {}

  // [rows, groups, size, 2], or [rows, groups, size]
  View view(bool are_pairs, bool writable) {
    const View tile = loaded();
    const std::int64_t part = static_cast<std::int64_t>(random_() % 2);
    const auto kind = random_() % (writable ? 1 : 4);
    const View number = tile.select(3, part);
    if (!are_pairs) return kind == 3 ? spread(number) : number;
    if (kind == 1) return swapped(tile);
    if (kind >= 2) return (kind == 3 ? spread(number) : number).expand_dim(3).broadcast(3, 2);
    return tile;
  }
  void store() {
    for (std::size_t i = 0; i < tiles_.size(); ++i)
      k_.dma_copy({.dst = k_.output("out" + std::to_string(i), tiles_[i].shape(), DType::float32), .src = tiles_[i]});
  }

 private:
  View loaded() {
    const View whole = k_.sbuf({rows_, groups_, size_ + wider_, 2}, DType::float32);
    k_.dma_copy({.dst = whole, .src = k_.input("in" + std::to_string(tiles_.size()), whole.shape(), DType::float32)});
    return tiles_.emplace_back(whole).slice(2, wider_ / 2, size_);
  }
  View spread(const View& number) const { return number.slice(1, 0, 1).broadcast(1, groups_); }
  View swapped(const View& tile) const {
    const std::int64_t group = 2 * (size_ + wider_);
    return tile.ap({{groups_ * group, rows_}, {group, groups_}, {2, size_}, {-1, 2}}, tile.offset() + 1);
  }

  Kernel& k_;
  Random& random_;
  const std::int64_t rows_ = one_of(random_, {1, 3, 128}), groups_ = one_of(random_, {1, 2, 5}),
                     size_ = one_of(random_, {1, 3, 4, 8, 21, 64}), wider_ = one_of(random_, {0, 0, 2, 3});
  std::vector<View> tiles_;
};

isa::Program random_pairs(Random& random) {
  Kernel k("pairs");
  PairViews views(k, random);
  const bool are_pairs = random() % 3, in_place = random() % 4 == 0;
  const View x = views.view(are_pairs, in_place), y = views.view(are_pairs, false);
  k.tensor_tensor({.dst = in_place ? x : views.view(are_pairs, true),
                   .data1 = x,
                   .data2 = y,
                   .op = random() % 10 ? any_op(random) : AluOp::logical_xor});
  views.store();
  return k.finish();
}

using Arrays = std::map<std::string, std::vector<std::uint16_t>>;  // of 32 bits two halves

Arrays random_arrays(const isa::Program& program, Random& random) {
  std::normal_distribution<float> normal;
  Arrays arrays;
  for (const isa::Tensor& t : program.tensors) {
    if (t.role == isa::Role::internal) continue;
    for (std::int64_t i = 0; i < t.size(); ++i) {
      const float value = random() % 8 ? normal(random) : std::copysign(0.0f, normal(random));
      const auto bits = std::bit_cast<std::uint32_t>(value);
      if (size_bytes(t.dtype) == 4) arrays[t.name].push_back(static_cast<std::uint16_t>(bits));
      arrays[t.name].push_back(static_cast<std::uint16_t>(bits >> 16));
    }
  }
  return arrays;
}

Arrays results(const isa::Program& program, Arrays arrays, const RunOptions& options) {
  Buffers buffers;
  for (auto& [name, words] : arrays)
    buffers[name] = {reinterpret_cast<std::byte*>(words.data()), words.size() * sizeof(std::uint16_t)};
  run(program, arch(program.target), buffers, options);
  return arrays;
}

void expect_bits_of_the_definition(isa::Program (*make)(Random&)) {
  Random random(test::seed());
  for (int round = 0; round < 400; ++round) {
    const isa::Program program = make(random);
    const Arrays given = random_arrays(program, random);
    const Arrays wanted = results(program, given, {.threads = 1, .plain = true});
    for (const NanMode nan : {NanMode::off, NanMode::warn})
      ASSERT_EQ(results(program, given, {.threads = 1, .nan = nan}), wanted)
          << "round " << round << isa::print(program);
    ASSERT_EQ(results(program, given, {.threads = 3}), wanted) << "round " << round << isa::print(program);
  }
}

TEST(Grid, EveryLayoutGivesTheBitsOfTheDefinition) { expect_bits_of_the_definition(random_program); }

TEST(Grid, EveryLayoutOfPairsGivesTheBitsOfTheDefinition) { expect_bits_of_the_definition(random_pairs); }

TEST(Grid, EveryLayoutOfIntegersGivesTheBitsOfTheDefinition) { expect_bits_of_the_definition(random_integers); }

}  // namespace
}  // namespace kiln::sim
