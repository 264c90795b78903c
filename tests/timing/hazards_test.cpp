// Random programs, in order and reordered: no instruction starts before what it depends on is done, judged by
// the bytes that each one touches.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "kiln/isa/builder/builder.h"
#include "kiln/isa/table.h"
#include "kiln/timing/simulate.h"

namespace kiln::timing {
namespace {
using namespace isa;

constexpr DType kF32 = DType::float32;
constexpr std::int64_t kRows = 4, kColumns = 24;  // small tiles, so that many of them meet

// What an instruction touches: (tensor, partition, byte), and whether it writes it.
using Touched = std::vector<std::pair<std::array<std::int64_t, 3>, bool>>;

void add_bytes(Touched& touched, const Program& p, const Access& a, bool writes) {
  const bool on_chip = is_on_chip(p.tensors[a.tensor].memory);
  const std::int64_t size = size_bytes(a.dtype);
  std::vector<std::int64_t> at(a.rank);
  while (true) {
    std::int64_t element = a.offset.constant;
    for (int d = on_chip ? 1 : 0; d < a.rank; ++d) element += at[d] * a.dims[d].stride;
    touched.push_back({{a.tensor, on_chip ? a.partition.constant + at[0] : 0, element * size}, writes});
    int d = a.rank - 1;
    while (d >= 0 && ++at[d] == a.dims[d].count) at[d--] = 0;
    if (d < 0) return;
  }
}

Touched touched_by(const Program& p, const Instruction& inst) {
  Touched touched;
  const auto& params = info(inst.opcode).params;
  for (std::size_t i = 0; i < params.size(); ++i) {
    const Arg& arg = p.arg(inst, static_cast<int>(i));
    if (arg.kind == Arg::Kind::access) add_bytes(touched, p, p.accesses[arg.index], params[i].is_output());
  }
  std::sort(touched.begin(), touched.end());
  return touched;
}

struct Conflict {
  bool any = false, read_after_write = false;
};
Conflict conflict(const Touched& first, const Touched& second) {
  Conflict c;
  for (const auto& [byte, writes] : second) {
    for (auto i = std::lower_bound(first.begin(), first.end(), std::pair(byte, false));
         i != first.end() && i->first == byte; ++i) {
      c.any |= writes || i->second;
      c.read_after_write |= !writes && i->second;
    }
  }
  return c;
}

class Hazards : public testing::TestWithParam<bool> {
 protected:
  std::mt19937 random{7};
  std::int64_t pick(std::int64_t lo, std::int64_t hi) {
    return std::uniform_int_distribution<std::int64_t>(lo, hi)(random);
  }
  View part(const View& t, std::int64_t width) { return t(all, ds(pick(0, kColumns - width), width)); }

  Program make(int count) {
    Kernel k("random");
    k.fragment();
    std::vector<View> sbuf, hbm;
    for (int i = 0; i < 3; ++i) {
      const std::string n = std::to_string(i);
      sbuf.push_back(k.inout("s" + n, {kRows, kColumns}, kF32, Memory::sbuf));
      hbm.push_back(k.inout("h" + n, {kRows, kColumns}, kF32, Memory::shared_hbm));
    }
    const View sum = k.inout("p", {kRows, kColumns}, kF32, Memory::psum);
    const auto tile = [&](std::int64_t width) { return part(sbuf[static_cast<std::size_t>(pick(0, 2))], width); };
    for (int i = 0; i < count; ++i) {
      const std::int64_t width = pick(1, 12);
      const View dst = tile(width), src = tile(width), far = part(hbm[static_cast<std::size_t>(pick(0, 2))], width);
      switch (pick(0, 6)) {
        case 0:
          k.dma_copy({.dst = dst, .src = far});
          break;
        case 1:
          k.dma_copy({.dst = far, .src = src});
          break;
        case 2:
          k.tensor_copy({.dst = dst, .src = src});
          break;
        case 3:
          k.activation({.dst = dst, .op = ActFn::exp, .data = src});
          break;
        case 4:
          k.tensor_tensor({.dst = dst, .data1 = src, .data2 = src, .op = AluOp::add, .engine = Engine::gpsimd});
          break;
        case 5:
          k.nc_matmul({.dst = part(sum, width), .stationary = tile(kRows), .moving = src});
          break;
        default:
          k.tensor_copy({.dst = dst, .src = part(sum, width), .engine = Engine::scalar});
      }
    }
    return k.finish();
  }
};

TEST_P(Hazards, NothingStartsTooEarly) {
  SCOPED_TRACE("seed 7");
  int conflicts = 0;
  for (int round = 0; round < 30; ++round) {
    const Program p = make(60);
    const Timeline t = simulate(p, arch(Target::trn2), {.reorder = GetParam()});
    std::vector<Time> start(p.instructions.size(), -1), end(p.instructions.size(), -1);
    std::vector<LaneId> lane(p.instructions.size());
    for (const Event& e : t.events) {
      if (e.kind != Kind::transfer) start[e.inst] = e.start, lane[e.inst] = e.lane;
      if (e.kind != Kind::trigger) end[e.inst] = e.end;
    }
    std::vector<Touched> touched;
    for (const Instruction& inst : p.instructions) touched.push_back(touched_by(p, inst));
    for (std::size_t j = 0; j < touched.size(); ++j) {
      for (std::size_t i = 0; i < j; ++i) {
        const Conflict c = conflict(touched[i], touched[j]);
        if (!c.any) continue;
        ++conflicts;
        const bool dma = p.instructions[i].opcode == Opcode::dma_copy;
        const bool same_engine = lane[i] == lane[j] && !dma;
        const bool in_psum_only = p.instructions[i].opcode == Opcode::nc_matmul;
        const bool whole = !same_engine || (c.read_after_write && !in_psum_only);
        EXPECT_GE(start[j], whole ? end[i] : start[i])
            << "round " << round << ": instruction " << j << " and what it depends on, " << i;
      }
    }
  }
  EXPECT_GT(conflicts, 1000);
}

INSTANTIATE_TEST_SUITE_P(Order, Hazards, testing::Values(false, true),
                         [](const auto& p) { return p.param ? "reordered" : "in_order"; });

}  // namespace
}  // namespace kiln::timing
