// Bytes that were never written travel through every kind of flow and are reported where they leave.
#include <functional>

#include "tests/sim/run_kernel.h"

namespace kiln::sim {
namespace {

// One instruction or more between a tile that is partly written and an output.
struct Flow {
  const char* name;
  // Writes a part of `t` (128 x 32, float32) and returns what is stored.
  std::function<View(Kernel&, const View& t, const View& x)> make;
  // A part of that which depends on written bytes only, and one that does not.
  std::function<View(const View&)> valid, invalid;
};

View part(const View& v, std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns) {
  return v(ds(row, rows), ds(column, columns));
}
void load(Kernel& k, const View& t, const View& x, std::int64_t rows, std::int64_t columns) {
  k.dma_copy({.dst = part(t, 0, rows, 0, columns), .src = part(x, 0, rows, 0, columns)});
}

const Flow kFlows[] = {
    {"elementwise",
     [](Kernel& k, const View& t, const View& x) {
       load(k, t, x, 128, 20);
       View u = k.sbuf({128, 32}, DType::float32);
       k.tensor_tensor({.dst = u, .data1 = t, .data2 = t, .op = AluOp::add});
       k.tensor_scalar({.dst = u, .data = u, .op0 = AluOp::multiply, .operand0 = 2});
       return u;
     },
     [](const View& r) { return part(r, 0, 128, 0, 20); }, [](const View& r) { return part(r, 0, 128, 20, 1); }},
    {"operand column",
     [](Kernel& k, const View& t, const View& x) {
       load(k, t, x, 64, 32);
       View u = k.sbuf({128, 32}, DType::float32);
       k.memset({.dst = u, .value = 1});
       k.tensor_scalar({.dst = u, .data = u, .op0 = AluOp::add, .operand0 = t(all, ds(3, 1))});
       return u;
     },
     [](const View& r) { return part(r, 0, 64, 0, 32); }, [](const View& r) { return part(r, 64, 1, 31, 1); }},
    {"reduce",
     [](Kernel& k, const View& t, const View& x) {
       load(k, t, x, 64, 32);
       load(k, t, x, 128, 31);
       View u = k.sbuf({128, 1}, DType::float32);
       k.tensor_reduce({.dst = u, .op = AluOp::add, .data = t, .axis = {1}});
       return u;
     },
     [](const View& r) { return part(r, 0, 64, 0, 1); }, [](const View& r) { return part(r, 64, 1, 0, 1); }},
    {"stationary",
     [](Kernel& k, const View& t, const View& x) {
       load(k, t, x, 128, 20);
       View m = k.sbuf({128, 8}, DType::float32);
       k.memset({.dst = m, .value = 1});
       View p = k.psum({32, 8}, DType::float32);
       k.nc_matmul({.dst = p, .stationary = t, .moving = m});
       View u = k.sbuf({32, 8}, DType::float32);
       k.tensor_copy({.dst = u, .src = p});
       return u;
     },
     [](const View& r) { return part(r, 0, 20, 0, 8); }, [](const View& r) { return part(r, 0, 21, 7, 1); }},
    {"moving",
     [](Kernel& k, const View& t, const View& x) {
       load(k, t, x, 128, 20);
       View s = k.sbuf({128, 8}, DType::float32);
       k.memset({.dst = s, .value = 1});
       View p = k.psum({8, 32}, DType::float32);
       k.nc_matmul({.dst = p, .stationary = s, .moving = t});
       View u = k.sbuf({8, 32}, DType::float32);
       k.tensor_copy({.dst = u, .src = p});
       return u;
     },
     [](const View& r) { return part(r, 0, 8, 0, 20); }, [](const View& r) { return part(r, 0, 1, 20, 1); }},
    {"accumulation",
     [](Kernel& k, const View& t, const View& x) {
       load(k, t, x, 128, 20);
       View s = k.sbuf({128, 8}, DType::float32), m = k.sbuf({128, 32}, DType::float32);
       k.memset({.dst = s, .value = 1});
       k.memset({.dst = m, .value = 1});
       View p = k.psum({8, 32}, DType::float32);
       k.nc_matmul({.dst = p, .stationary = s, .moving = t});
       k.nc_matmul({.dst = p, .stationary = s, .moving = m});  // adds to garbage in columns 20 and up
       View u = k.sbuf({8, 32}, DType::float32);
       k.tensor_copy({.dst = u, .src = p});
       return u;
     },
     [](const View& r) { return part(r, 0, 8, 0, 20); }, [](const View& r) { return part(r, 0, 1, 20, 1); }},
    {"transpose",
     [](Kernel& k, const View& t, const View& x) {
       load(k, t, x, 32, 20);
       View u = k.sbuf({32, 32}, DType::float32);
       k.nc_transpose({.dst = u, .data = part(t, 0, 32, 0, 32), .engine = Engine::vector});
       return u;
     },
     [](const View& r) { return part(r, 0, 20, 0, 32); }, [](const View& r) { return part(r, 0, 21, 5, 1); }},
    {"permuted copy through HBM",
     [](Kernel& k, const View& t, const View& x) {
       load(k, t, x, 128, 20);
       View h = k.hbm({32, 128}, DType::float32), u = k.sbuf({32, 128}, DType::float32);
       k.dma_copy({.dst = h.permute({1, 0}), .src = t});
       k.dma_copy({.dst = u, .src = h});
       return u;
     },
     [](const View& r) { return part(r, 0, 20, 0, 128); }, [](const View& r) { return part(r, 20, 1, 127, 1); }},
    {"conversion",
     [](Kernel& k, const View& t, const View& x) {
       load(k, t, x, 128, 20);
       View b = k.sbuf({128, 32}, DType::bfloat16), u = k.sbuf({128, 32}, DType::float32);
       k.tensor_copy({.dst = b, .src = t});
       k.tensor_copy({.dst = u, .src = b});
       return u;
     },
     [](const View& r) { return part(r, 0, 128, 0, 20); }, [](const View& r) { return part(r, 0, 128, 20, 1); }},
};

// Line of the store and of the declaration of `t`.
struct Lines {
  int store, declared;
};

Lines build(Kernel& k, const Flow& flow, bool valid) {
  const View x = k.input("x", {128, 32}, DType::float32);
  const int declared = __LINE__ + 1;
  const View t = k.sbuf({128, 32}, DType::float32, {.name = "partly_written"});
  const View result = flow.make(k, t, x), stored = (valid ? flow.valid : flow.invalid)(result);
  const View y = k.output("y", stored.shape(), DType::float32);
  const int store = __LINE__ + 1;
  k.dma_copy({.dst = y, .src = stored});
  return {store, declared};
}

TEST(Shadow, TheWrittenPartOfATileIsEnough) {
  for (const Flow& flow : kFlows) {
    SCOPED_TRACE(flow.name);
    Kernel k("valid");
    build(k, flow, true);
    KernelRun run(k);
    run.set("x", counting(128 * 32));
    EXPECT_EQ(to_text(run.error()), to_text(Diagnostic{}));
    for (const float v : run.get("y")) EXPECT_EQ(v, v);  // no NaN: garbage would be one in places
  }
}

TEST(Shadow, TheOtherPartIsReportedWhereItLeaves) {
  for (const Flow& flow : kFlows) {
    SCOPED_TRACE(flow.name);
    Kernel k("invalid");
    const Lines lines = build(k, flow, false);
    KernelRun run(k);
    run.set("x", counting(128 * 32));
    for (const int threads : {1, 4}) {
      const Diagnostic d = run.error({.threads = threads});
      EXPECT_EQ(d.code, "run.R1");
      EXPECT_EQ(d.category, Category::undefined);
      EXPECT_TRUE(has(d.found, "of `y` depends on bytes of `partly_written`")) << d.found;
      EXPECT_EQ(d.loc.line, lines.store);
      ASSERT_EQ(d.notes.size(), 1u);
      EXPECT_EQ(d.notes[0].loc.line, lines.declared);
    }
  }
}

// Bytes between them are not written with them.
TEST(Shadow, ElementsThatLieApart) {
  for (const DType dtype : {DType::uint8, DType::int16, DType::float32}) {
    for (const bool valid : {true, false}) {
      SCOPED_TRACE(std::string(name(dtype)) + (valid ? ", valid" : ", invalid"));
      Kernel k("apart");
      const View y = k.output("y", {4, 6}, dtype), t = k.sbuf({4, 12}, dtype);
      k.memset({.dst = t.ap({{12, 4}, {2, 6}}), .value = 7});
      k.dma_copy({.dst = y, .src = t.ap({{12, 4}, {2, 6}}, valid ? 0 : 1)});
      EXPECT_EQ(KernelRun(k).error().code, valid ? "" : "run.R1");
    }
  }
}

TEST(Shadow, NamesTheElement) {
  Kernel k("element");
  const View x = k.input("x", {128, 8}, DType::float32), y = k.output("y", {128, 8}, DType::float32);
  const View t = k.sbuf({128, 8}, DType::float32);
  k.dma_copy({.dst = t(all, ds(0, 4)), .src = x(all, ds(0, 4))});
  k.dma_copy({.dst = part(t, 0, 7, 4, 4), .src = part(x, 0, 7, 4, 4)});
  k.dma_copy({.dst = y, .src = t});
  EXPECT_TRUE(has(KernelRun(k).error().found, "element [7, 4] of `y`"));
}

// Stores the last of 300 tensors, none of them written.
void store_one_of_many(Kernel& k) {
  const View y = k.output("y", {128, 1}, DType::float32);
  View t;
  for (int i = 0; i < 300; ++i) t = k.sbuf({128, 1}, DType::float32);
  k.dma_copy({.dst = y, .src = t});
}

TEST(Shadow, ManyTensorsOfOneLineShareAnOrigin) {
  Kernel k("many");
  store_one_of_many(k);
  const Diagnostic d = KernelRun(k).error();
  EXPECT_EQ(d.code, "run.R1");
  EXPECT_TRUE(has(d.found, "or another of its line")) << d.found;
  ASSERT_EQ(d.notes.size(), 1u);
  EXPECT_TRUE(has(d.notes[0].text, "was declared here")) << d.notes[0].text;
}

TEST(Shadow, ManyTensorsOfManyLinesShareTheLastOrigin) {
  Kernel k("many");
  store_one_of_many(k);
  int line = 0;
  for (isa::Tensor& t : k.program().tensors) t.loc = k.program().add_loc({"kernel.py", ++line, {}});
  const Diagnostic d = KernelRun(k).error();
  EXPECT_EQ(d.code, "run.R1");
  EXPECT_TRUE(has(d.found, "a tensor declared late")) << d.found;
}

TEST(Shadow, AnIndexAPredicateAndAnOffsetMustBeWritten) {
  const std::function<void(Kernel&, const View& y)> sinks[] = {
      [](Kernel& k, const View& y) {  // scalar offset
        const View a = k.sbuf({128, 8}, DType::float32), i = k.sbuf({1, 1}, DType::int32, {.name = "sink"});
        k.memset({.dst = a, .value = 1});
        k.dma_copy({.dst = y, .src = a(all, ds(0, 2)).scalar_offset(i, 1)});
      },
      [](Kernel& k, const View& y) {  // the last of the row indices
        const View h = k.input("h", {256, 2}, DType::float32), i = k.sbuf({128, 1}, DType::int32, {.name = "sink"});
        k.memset({.dst = i(ds(0, 96)), .value = 1});
        k.dma_copy({.dst = y, .src = h(ds(0, 128)).vector_offset(i)});
      },
      [](Kernel& k, const View& y) {  // predicate
        const View a = k.sbuf({128, 2}, DType::float32), p = k.sbuf({128, 2}, DType::uint8, {.name = "sink"});
        k.memset({.dst = a, .value = 1});
        k.memset({.dst = p(all, ds(0, 1)), .value = 1});
        k.tensor_copy_predicated({.dst = a, .src = 2.0, .predicate = p});
        k.dma_copy({.dst = y, .src = a});
      },
      [](Kernel& k, const View& y) {  // register
        const View i = k.sbuf({1, 1}, DType::int32, {.name = "sink"}), a = k.sbuf({128, 8}, DType::float32);
        k.memset({.dst = a, .value = 1});
        const isa::Reg r = k.reg();
        k.register_load({.dst = r, .src = i});
        k.dma_copy({.dst = y, .src = a(all, ds(0, 2)).scalar_offset(r, 1)});
      },
  };
  for (const auto& sink : sinks) {
    SCOPED_TRACE(&sink - sinks);
    Kernel k("sink");
    sink(k, k.output("y", {128, 2}, DType::float32));
    const Diagnostic d = KernelRun(k).error();
    EXPECT_EQ(d.code, "run.R2");
    EXPECT_TRUE(has(d.found, "bytes of `sink`")) << d.found;
  }
}

TEST(Shadow, ADeclarationInALoopIsFreshEachTime) {
  for (const bool inside : {true, false}) {
    for (const int threads : {1, 4}) {
      Kernel k("fresh");
      const View x = k.input("x", {128, 2}, DType::float32), y = k.output("y", {128, 2}, DType::float32);
      View t = k.sbuf({128, 2}, DType::float32);
      k.loop(2, [&](isa::Index i) {
        if (inside) t = k.sbuf({128, 2}, DType::float32);
        k.dma_copy({.dst = t(all, ds(i, 1)), .src = x(all, ds(i, 1))});
        k.dma_copy({.dst = y(all, ds(i, 1)), .src = t(all, ds(0, 1))});  // written in the first pass only
      });
      EXPECT_EQ(KernelRun(k).error({.threads = threads}).code, inside ? "run.R1" : "");
    }
  }
}

TEST(Shadow, AnOutputThatIsPartlyWrittenIsAWarning) {
  Kernel k("partly");
  const View x = k.input("x", {128, 8}, DType::float32);
  const View y = k.output("y", {4, 32, 8}, DType::float32), z = k.output("z", {128, 8}, DType::float32);
  const View w = k.inout("w", {128, 8}, DType::float32);
  k.dma_copy({.dst = y(ds(0, 2)), .src = x(ds(0, 64))});
  k.dma_copy({.dst = y(2, ds(0, 32), ds(0, 7)), .src = x(ds(64, 32), ds(0, 7))});
  k.dma_copy({.dst = z, .src = x});
  k.dma_copy({.dst = w(ds(0, 1)), .src = x(ds(0, 1))});  // the rest is the caller's
  KernelRun run(k);
  for (const int threads : {1, 2}) {
    const std::vector<Diagnostic> warnings = run.run({.threads = threads}).warnings;
    ASSERT_EQ(warnings.size(), 1u) << to_text(warnings);
    EXPECT_EQ(warnings[0].code, "run.R9");
    EXPECT_EQ(warnings[0].severity, Severity::warning);
    EXPECT_EQ(warnings[0].found, "1152 of the 4096 bytes of `y` are never written, first those of element [2, 0, 7]");
  }
}

}  // namespace
}  // namespace kiln::sim
