// One kind of instruction again and again, for rows that give its duration or interval.
#include "bench/timing_common.h"

namespace kiln::bench {
using namespace isa;

namespace {

// `count` instructions on different tiles; independent, or each reading what the one before wrote.
struct Tiles {
  Tiles(Kernel& k, const Params& p)
      : rows(p.number("rows", 128)),
        n(p.number("n", 512)),
        count(p.number("count", 8)),
        chained(p.number("chained") != 0),
        src(p.text("src", "sbuf") == "psum" ? Memory::psum : Memory::sbuf),
        dtype(p.text("dtype", "fp32") == "fp32" ? kF32 : DType::bfloat16) {
    k.fragment();
    column = k.input("column", {rows, 1}, kF32, Memory::sbuf);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::string name = std::to_string(i);
      in.push_back(k.inout("in" + name, {rows, n}, dtype, src));
      out.push_back(k.inout("out" + name, {rows, n}, dtype, Memory::sbuf));
    }
  }
  std::int64_t rows, n, count;
  bool chained;
  Memory src;
  DType dtype;
  View column;
  std::vector<View> in, out;
  const View& from(std::int64_t i) const { return chained && i > 0 ? out[i - 1] : in[i]; }
};

void for_tiles(Kernel& k, const Params& p, const std::function<void(const Tiles&, const View&, const View&)>& body) {
  const Tiles t(k, p);
  for (std::int64_t i = 0; i < t.count; ++i) body(t, t.out[i], t.from(i));
}

void scalar_copy(Kernel& k, const Params& p) {
  for_tiles(k, p, [&](const Tiles&, const View& dst, const View& src) {
    k.tensor_copy({.dst = dst, .src = src, .engine = Engine::scalar});
  });
}
void vector_copy(Kernel& k, const Params& p) {
  for_tiles(k, p, [&](const Tiles&, const View& dst, const View& src) { k.tensor_copy({.dst = dst, .src = src}); });
}
void exp_bias(Kernel& k, const Params& p) {
  for_tiles(k, p, [&](const Tiles& t, const View& dst, const View& src) {
    k.activation({.dst = dst, .op = ActFn::exp, .data = src, .bias = t.column});
  });
}
void identity_bias(Kernel& k, const Params& p) {
  for_tiles(k, p, [&](const Tiles& t, const View& dst, const View& src) {
    k.activation({.dst = dst, .op = ActFn::copy, .data = src, .bias = t.column, .scale = 2.0});
  });
}
void activation_sum(Kernel& k, const Params& p) {
  const View sum = k.inout("sum", {p.number("rows", 128), 1}, kF32, Memory::sbuf);
  for_tiles(k, p, [&](const Tiles&, const View& dst, const View& src) {
    k.activation_reduce({.dst = dst, .op = ActFn::square, .data = src, .reduce_op = AluOp::add, .reduce_res = sum});
  });
}
void reduce(Kernel& k, const Params& p) {
  for_tiles(k, p, [&](const Tiles&, const View& dst, const View& src) {
    k.tensor_reduce({.dst = dst(all, ds(0, 1)), .op = AluOp::add, .data = src, .axis = {1}});
  });
}
void scale_by_column(Kernel& k, const Params& p) {
  for_tiles(k, p, [&](const Tiles& t, const View& dst, const View& src) {
    k.tensor_scalar({.dst = dst, .data = src, .op0 = AluOp::multiply, .operand0 = t.column});
  });
}
void reciprocal(Kernel& k, const Params& p) {
  for_tiles(k, p, [&](const Tiles&, const View& dst, const View& src) { k.reciprocal({.dst = dst, .data = src}); });
}
void add(Kernel& k, const Params& p) {
  for_tiles(k, p, [&](const Tiles&, const View& dst, const View& src) {
    k.tensor_tensor({.dst = dst, .data1 = src, .data2 = src, .op = AluOp::add});
  });
}

void matmul(Kernel& k, const Params& p) {
  k.fragment();
  const std::int64_t n = p.number("n", 512), m = p.number("m", 128), count = p.number("count", 64);
  const DType dtype = dtype_of(p);
  const View s = k.input("s", {128, m}, dtype, Memory::sbuf), x = k.input("x", {128, n}, dtype, Memory::sbuf);
  for (std::int64_t i = 0; i < count; ++i) {
    const View out = k.psum({m, n}, kF32);
    k.nc_matmul({.dst = out, .stationary = s, .moving = x});
  }
}

// A product, and what another engine does with it.
void hand_over(Kernel& k, const Params& p) {
  k.fragment();
  const View a = k.input("a", {128, 128}, kF32, Memory::sbuf), b = k.input("b", {128, 512}, kF32, Memory::sbuf);
  const View x = k.inout("x", {128, 512}, kF32, Memory::sbuf), y = k.inout("y", {128, 512}, kF32, Memory::sbuf);
  const View z = k.inout("z", {128, 128}, kF32, Memory::sbuf), sum = k.psum({128, 512}, kF32);
  const std::string from = p.text("from"), to = p.text("to");
  if (from == "tensor") k.nc_matmul({.dst = sum, .stationary = a, .moving = b});
  if (from == "scalar") k.activation({.dst = z, .op = ActFn::exp, .data = a});
  if (from == "vector") k.tensor_copy({.dst = x, .src = b});
  if (to == "scalar") k.tensor_copy({.dst = y, .src = sum, .engine = Engine::scalar});
  if (to == "vector")
    k.tensor_copy({.dst = from == "scalar" ? y(all, ds(0, 128)) : y, .src = from == "scalar" ? z : x});
  if (to == "tensor") k.nc_matmul({.dst = sum, .stationary = z, .moving = b});
  if (to == "dma") k.dma_copy({.dst = k.output("out", {128, 512}, kF32), .src = x});
}

void transfer(Kernel& k, const Params& p) {
  const std::int64_t rows = p.number("rows", 128), bytes = p.number("bytes", 512);
  const std::string mode = p.text("dge", "unknown");
  const DgeMode dge = mode == "static"  ? DgeMode::none
                      : mode == "swdge" ? DgeMode::swdge
                      : mode == "hwdge" ? DgeMode::hwdge
                                        : DgeMode::unknown;
  const View in = k.input("in", {rows, bytes}, DType::uint8);
  const View out = k.output("out", {rows, bytes}, DType::uint8);
  const bool use = p.number("use") != 0;
  const std::int64_t count = p.number("count", 1);
  for (std::int64_t i = 0; i < count; ++i) {
    const View tile = k.sbuf({rows, bytes}, DType::uint8);
    k.dma_copy({.dst = tile, .src = in, .dge_mode = dge});
    if (!use) {
      k.dma_copy({.dst = out, .src = tile, .dge_mode = dge});
    } else {
      const View copy = k.sbuf({rows, bytes}, DType::uint8);
      k.tensor_copy({.dst = copy,
                     .src = tile,
                     .engine = arch(k.program().target).generation > 2 ? Engine::scalar : Engine::vector});
      k.dma_copy({.dst = out, .src = copy, .dge_mode = dge});
    }
  }
}

// `count` times five instructions, written out: what a traced kernel looks like.
void written_out(Kernel& k, const Params& p) {
  constexpr std::int64_t kRows = 1000;
  const DType bf16 = DType::bfloat16;
  const View in = k.input("in", {kRows * 128, 512}, bf16), out = k.output("out", {kRows * 128, 512}, bf16);
  for (std::int64_t i = 0; i < p.number("count"); ++i) {
    const View x = k.sbuf({128, 512}, bf16), y = k.sbuf({128, 512}, bf16), sum = k.psum({128, 512}, kF32);
    k.dma_copy({.dst = x, .src = in(ds(i % kRows * 128, 128), all)});
    k.nc_matmul({.dst = sum, .stationary = x(all, ds(0, 128)), .moving = x});
    k.activation({.dst = y, .op = ActFn::exp, .data = sum});
    k.tensor_scalar({.dst = y, .data = y, .op0 = AluOp::multiply, .operand0 = 2.0});
    k.dma_copy({.dst = out(ds(i % kRows * 128, 128), all), .src = y});
  }
}

void register_from_hbm(Kernel& k, const Params&) {
  const View in = k.input("in", {1, 1}, DType::int32);
  const Reg r = k.reg();
  k.register_load({.dst = r, .src = in});
}

}  // namespace

const KernelTable& instruction_kernels() {
  static const KernelTable table = {
      {"scalar_copy", scalar_copy},
      {"vector_copy", vector_copy},
      {"exp_bias", exp_bias},
      {"identity_bias", identity_bias},
      {"activation_sum", activation_sum},
      {"reduce", reduce},
      {"scale_by_column", scale_by_column},
      {"reciprocal", reciprocal},
      {"add", add},
      {"matmul_stream", matmul},
      {"hand_over", hand_over},
      {"transfer", transfer},
      {"register_from_hbm", register_from_hbm},
      {"written_out", written_out},
  };
  return table;
}

}  // namespace kiln::bench
