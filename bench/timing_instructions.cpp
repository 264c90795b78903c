// One kind of instruction again and again, for rows that give its duration or interval.
#include "bench/timing_common.h"

namespace kiln::bench {
using namespace isa;

namespace {

DType dtype_named(const std::string& name) {
  return name == "fp32" ? kF32 : name == "fp8" ? DType::float8_e4m3 : DType::bfloat16;
}

// `count` instructions on different tiles; independent, or each reading what the one before wrote.
struct Tiles {
  Tiles(Kernel& k, const Params& p)
      : rows(p.number("rows", 128)),
        n(p.number("n", 512)),
        count(p.number("count", 8)),
        chained(p.number("chained") != 0),
        src(p.text("src", "sbuf") == "psum" ? Memory::psum : Memory::sbuf),
        dtype(dtype_named(p.text("dtype", "fp32"))),
        to(dtype_named(p.text("to", p.text("dtype", "fp32")))) {
    k.fragment();
    column = k.input("column", {rows, 1}, kF32, Memory::sbuf);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::string name = std::to_string(i);
      in.push_back(k.inout("in" + name, {rows, n}, dtype, src));
      out.push_back(k.inout("out" + name, {rows, n}, to, Memory::sbuf));
    }
  }
  std::int64_t rows, n, count;
  bool chained;
  Memory src;
  DType dtype, to;  // of what is read and written
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
  const std::int64_t groups = p.number("groups", 1);
  const AluOp op = p.text("op") == "max" ? AluOp::maximum : AluOp::add;
  for_tiles(k, p, [&](const Tiles& t, const View& dst, const View& src) {
    const View data = groups == 1 ? src : src.reshape({t.rows, groups, t.n / groups});
    k.tensor_reduce({.dst = dst(all, ds(0, groups)), .op = op, .data = data, .axis = {groups == 1 ? 1 : 2}});
  });
}
void scale_by_column(Kernel& k, const Params& p) {
  for_tiles(k, p, [&](const Tiles& t, const View& dst, const View& src) {
    k.tensor_scalar({.dst = dst, .data = src, .op0 = AluOp::multiply, .operand0 = t.column});
  });
}
void add_scaled(Kernel& k, const Params& p) {
  const View other = k.input("other", {128, p.number("n", 512)}, DType::bfloat16, Memory::sbuf);
  for_tiles(k, p, [&](const Tiles&, const View& dst, const View& src) {
    k.scalar_tensor_tensor(
        {.dst = dst, .data = src, .op0 = AluOp::multiply, .operand0 = 2.0, .op1 = AluOp::add, .operand1 = other});
  });
}
void reciprocal(Kernel& k, const Params& p) {
  for_tiles(k, p, [&](const Tiles&, const View& dst, const View& src) { k.reciprocal({.dst = dst, .data = src}); });
}
void add(Kernel& k, const Params& p) {
  const bool second = p.text("second") == "sbuf";
  View other;
  if (second) other = k.input("other", {p.number("rows", 128), p.number("n", 512)}, kF32, Memory::sbuf);
  for_tiles(k, p, [&](const Tiles&, const View& dst, const View& src) {
    k.tensor_tensor({.dst = dst, .data1 = second ? other : src, .data2 = src, .op = AluOp::add});
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

// Transposes on the tensor engine.
void transpose_stream(Kernel& k, const Params& p) {
  k.fragment();
  const std::int64_t count = p.number("count", 64);
  const View x = k.input("x", {128, 128}, dtype_of(p), Memory::sbuf);
  for (std::int64_t i = 0; i < count; ++i) k.nc_transpose({.dst = k.psum({128, 128}, dtype_of(p)), .data = x});
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
  if (to == "scalar") k.tensor_copy({.dst = y, .src = from == "vector" ? x : sum, .engine = Engine::scalar});
  if (to == "vector") {
    const bool half = from == "scalar";
    k.tensor_copy({.dst = half ? y(all, ds(0, 128)) : y, .src = half ? z : from == "tensor" ? sum : x});
  }
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
    if (p.number("loads") != 0 && i + 1 < count) continue;
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
      {"add_scaled", add_scaled},
      {"matmul_stream", matmul},
      {"transpose_stream", transpose_stream},
      {"hand_over", hand_over},
      {"transfer", transfer},
      {"register_from_hbm", register_from_hbm},
      {"written_out", written_out},
  };
  return table;
}

}  // namespace kiln::bench
