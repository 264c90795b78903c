#include "tests/check/random_kernel.h"

#include <algorithm>
#include <array>
#include <random>

#include "kiln/isa/builder/builder.h"
#include "kiln/isa/semantics/check.h"

namespace kiln::check {
namespace {

using isa::ds;
using isa::Index;
using isa::Kernel;
using isa::View;

constexpr DType f32 = DType::float32, bf16 = DType::bfloat16, i32 = DType::int32;
constexpr std::int64_t kSlots = 96, kSlotSize = 128 * 128;

class RandomKernel {
 public:
  explicit RandomKernel(std::uint64_t seed) : random_(seed) {}

  isa::Program make(int statements) {
    x_ = k_.input("x", {128, 64}, f32);
    y_ = k_.output("y", {kSlots, kSlotSize}, f32);
    for (int i = 0; i < 3; ++i) load();
    block(statements, 0);
    for (std::size_t i = 0; i < 2; ++i) store(known_[known_.size() - 1 - i]);  // the others have ended before
    return k_.finish();
  }

 private:
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  bool chance(int percent) { return pick(1, 100) <= percent; }
  View known() { return known_[static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(known_.size()) - 1))]; }
  // A recent one most of the time, so that older ones end.
  View source() {
    const auto last = static_cast<std::int64_t>(known_.size()) - 1;
    return chance(5) ? known() : known_[static_cast<std::size_t>(pick(std::max<std::int64_t>(0, last - 2), last))];
  }
  DType any_dtype() { return std::array{f32, f32, f32, bf16, i32}[static_cast<std::size_t>(pick(0, 4))]; }
  // A new tile of the shape of another one.
  View like(const View& a, DType dtype) {
    return chance(20) && a.dim(1) * size_bytes(dtype) <= 2048 ? k_.psum({a.dim(0), a.dim(1)}, dtype)
                                                              : k_.sbuf({a.dim(0), a.dim(1)}, dtype);
  }
  View like(const View& a) { return like(a, chance(85) ? a.dtype() : any_dtype()); }
  // Another known tile of the same shape, in SBUF; or the same one.
  View mate(const View& a) {
    for (int i = 0; i < 8; ++i) {
      const View b = source();
      if (b.dim(0) == a.dim(0) && b.dim(1) == a.dim(1) && b.memory() == Memory::sbuf) return b;
    }
    return a;
  }
  // Whether the last instruction keeps its rules; it is taken back otherwise.
  bool is_legal() {
    std::vector<Diagnostic> wrong;
    check_instruction(k_.program(), k_.program().instructions.back(), arch(Target::trn3), wrong);
    if (std::ranges::none_of(wrong, [](const Diagnostic& d) { return d.severity == Severity::error; })) return true;
    k_.abandon();
    return false;
  }
  // What the last instruction has made.
  void keep(const View& tile) {
    if (is_legal()) known_.push_back(tile);
  }

  void load() {
    const std::int64_t n = chance(60) ? 128 : 32 << pick(0, 1), w = chance(70) ? 64 : 32;
    const View tile = k_.sbuf({n, w}, any_dtype());
    k_.dma_copy({.dst = tile, .src = x_(ds(pick(0, 128 - n), n), ds(pick(0, 64 - w), w))});
    keep(tile);
  }

  void store(const View& tile) {
    View from = tile;
    if (tile.memory() == Memory::psum || tile.dtype() != f32) {
      from = k_.sbuf({tile.dim(0), tile.dim(1)}, f32);
      k_.tensor_copy({.dst = from, .src = tile});
      if (!is_legal()) return;
    }
    Index slot = next_slot_;
    std::int64_t count = 1;
    for (const auto& [variable, passes] : loops_) {
      slot += variable * count;
      count *= passes;
    }
    if (next_slot_ + count > kSlots) return;
    next_slot_ += count;
    const std::int64_t size = tile.dim(0) * tile.dim(1);
    k_.dma_copy({.dst = y_(ds(slot, 1), ds(0, size)), .src = from});
  }

  void unary() {
    const View s = source(), d = like(s);
    const std::int64_t n = s.dim(0), w = s.dim(1);
    const View column = s(isa::all, ds(pick(0, w - 1), 1));
    switch (pick(0, 8)) {
      case 0:
        k_.tensor_copy({.dst = d, .src = s});
        break;
      case 1:
        k_.activation({.dst = d, .op = ActFn::square, .data = s, .scale = 0.5});
        break;
      case 2:
        k_.reciprocal({.dst = d, .data = s});
        break;
      case 3:
        if (s.dtype() == i32 || d.dtype() == i32) return;
        k_.tensor_scalar_cumulative({.dst = d, .src = s, .op0 = AluOp::multiply, .op1 = AluOp::add, .imm0 = 0.5});
        break;
      case 4:
        if (s.memory() == Memory::psum || d.memory() == Memory::psum) return;
        k_.affine_select({.dst = d,
                          .pattern = {{1, w}},
                          .channel_multiplier = -1,
                          .on_true_tile = s,
                          .on_false_value = 0.25,
                          .cmp_op = AluOp::greater_equal});
        break;
      case 5:
        if (n < 128)
          return;  // each partition has its own random numbers, and smaller tiles may start at any of several
        k_.dropout({.dst = d, .data = s, .prob = 0.5});
        break;
      case 6:  // a column of the source itself is an operand for all of its row
        k_.tensor_scalar({.dst = d, .data = s, .op0 = AluOp::add, .operand0 = column});
        break;
      case 7: {
        const View sums = k_.sbuf({n, 1}, f32);
        k_.activation_reduce({.dst = d, .op = ActFn::copy, .data = s, .reduce_op = AluOp::add, .reduce_res = sums});
        keep(d);
        return known_.back().tensor() == d.tensor() ? known_.push_back(sums) : void();
      }
      default:
        k_.tensor_scalar(
            {.dst = d, .data = s, .op0 = AluOp::multiply, .operand0 = 0.5, .op1 = AluOp::add, .operand1 = 0.125});
    }
    keep(d);
  }

  void binary() {
    const View a = source(), b = mate(a), d = like(a);
    switch (pick(0, 3)) {
      case 0:
        k_.tensor_tensor({.dst = d, .data1 = a, .data2 = b, .op = AluOp::subtract});
        break;
      case 1:
        k_.scalar_tensor_tensor(
            {.dst = d, .data = a, .op0 = AluOp::multiply, .operand0 = 0.5, .op1 = AluOp::add, .operand1 = b});
        break;
      case 2:
        k_.tensor_tensor_scan(
            {.dst = d, .data0 = a, .data1 = b, .initial = 0.5, .op0 = AluOp::multiply, .op1 = AluOp::add});
        break;
      default:
        k_.tensor_tensor({.dst = d, .data1 = a, .data2 = b, .op = AluOp::maximum});
    }
    keep(d);
  }

  // Parts of tiles: halves, columns that are apart, columns that move, another order of columns.
  void part() {
    const View s = source();
    const std::int64_t n = s.dim(0), w = s.dim(1), h = w / 2;
    switch (pick(0, 6)) {
      case 0: {  // both halves of a tile in one instruction
        if (s.memory() == Memory::psum || h == 0) return;
        const View d = k_.sbuf({n, h}, s.dtype());
        k_.tensor_tensor({.dst = d, .data1 = s.slice(1, 0, h), .data2 = s.slice(1, h, h), .op = AluOp::add});
        return keep(d);
      }
      case 1: {  // a wider tile that is written piece by piece
        if (w > 64) return;
        const View d = k_.sbuf({n, 2 * w}, s.dtype());
        const std::int64_t at = pick(0, w);
        k_.tensor_copy({.dst = d.slice(1, at, w), .src = s});
        if (!is_legal()) return;
        if (at > 0) k_.memset({.dst = d.slice(1, 0, at), .value = 1});
        if (at < w) k_.memset({.dst = d.slice(1, at + w, w - at), .value = 2});
        return keep(d);
      }
      case 2: {  // a tile of more partitions, whose upper half comes first
        if (n > 64) return;
        const View d = k_.sbuf({2 * n, w}, s.dtype());
        const std::int64_t first = n == 32 ? 32 : 64;
        k_.tensor_copy({.dst = d.slice(0, first, n), .src = s});
        if (!is_legal()) return;
        k_.memset({.dst = d.slice(0, 0, n), .value = 3});
        return keep(d);
      }
      case 3: {  // a half of the partitions
        if (n < 64) return;
        const View d = k_.sbuf({n / 2, w}, s.dtype());
        k_.tensor_copy({.dst = d, .src = s.slice(0, chance(50) ? n / 2 : 0, n / 2)});
        return keep(d);
      }
      case 4: {  // columns in another order
        if (w % 4 != 0) return;
        const View d = k_.sbuf({n, w}, s.dtype());
        k_.tensor_copy({.dst = d.reshape({n, 4, w / 4}), .src = s.reshape({n, w / 4, 4}).permute({0, 2, 1})});
        return keep(d);
      }
      case 5: {  // every second column to every second column, and the others
        if (h == 0 || w % 2 != 0) return;
        const View d = k_.sbuf({n, w}, s.dtype());
        const std::int64_t odd = pick(0, 1);
        k_.tensor_copy({.dst = d.slice(1, odd, h, 2), .src = s.slice(1, pick(0, 1), h, 2)});
        if (!is_legal()) return;
        k_.memset({.dst = d.slice(1, 1 - odd, h, 2), .value = 4});
        return keep(d);
      }
      default: {  // one value per partition
        const View d = k_.sbuf({n, 1}, f32);
        k_.tensor_reduce({.dst = d, .op = AluOp::maximum, .data = s, .axis = {1}});
        return keep(d);
      }
    }
  }

  // A tile that is there already gets a new value; here the order of instructions matters.
  void overwrite() {
    const View s = source(), d = mate(s);
    if (d.memory() == Memory::psum) return;
    k_.tensor_scalar({.dst = d, .data = s, .op0 = AluOp::add, .operand0 = 0.25});
    is_legal();
  }

  void loop(int depth) {
    const std::int64_t passes = pick(2, 3);
    const std::size_t outer = known_.size();
    const int inside = static_cast<int>(pick(2, 8));
    if (chance(30)) {
      k_.fori_loop(0, passes, [&](isa::Reg) { block(inside, depth + 1); });
    } else {
      k_.loop(passes, [&](const Index& i) {
        loops_.emplace_back(i, passes);
        block(inside, depth + 1);
        loops_.pop_back();
      });
    }
    known_.resize(outer);
  }

  void block(int statements, int depth) {
    for (int i = 0; i < statements; ++i) {
      const std::int64_t kind = pick(0, 99);
      if (kind < 10) {
        load();
      } else if (kind < 45) {
        unary();
      } else if (kind < 65) {
        binary();
      } else if (kind < 80) {
        part();
      } else if (kind < 86) {
        overwrite();
      } else if (kind < 94 || depth == 2) {
        store(source());
      } else {
        loop(depth);
      }
    }
  }

  std::mt19937_64 random_;
  Kernel k_{"random", Target::trn3};
  View x_, y_;
  std::vector<View> known_;
  std::vector<std::pair<Index, std::int64_t>> loops_;
  std::int64_t next_slot_ = 0;
};

}  // namespace

isa::Program random_kernel(std::uint64_t seed, int statements) { return RandomKernel(seed).make(statements); }

}  // namespace kiln::check
