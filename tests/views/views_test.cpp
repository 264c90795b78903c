// Views of timelines that were made up: every figure below follows from the times in made_run.cpp by hand.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "kiln/base/error.h"
#include "kiln/base/quantity_text.h"
#include "kiln/isa/text/parse.h"
#include "kiln/rewrite/move_engine.h"
#include "kiln/views/compare.h"
#include "kiln/views/figures.h"
#include "kiln/views/fit_width.h"
#include "kiln/views/json.h"
#include "kiln/views/picture_of.h"
#include "kiln/views/text.h"
#include "kiln/views/text_table.h"
#include "kiln/views/timed_kernel.h"
#include "kiln/views/what_if_engine.h"
#include "made_run.h"

namespace kiln::views {
namespace {

TEST(Format, TimesBytesAndShares) {
  EXPECT_EQ(time_text(0), "0");
  EXPECT_EQ(time_text(0.4), "0.40 ns");
  EXPECT_EQ(time_text(999.4), "999 ns");
  EXPECT_EQ(time_text(999.9), "1.00 us");
  EXPECT_EQ(time_text(13'449), "13.4 us");
  EXPECT_EQ(time_text(2.5e9), "2.50 s");
  EXPECT_EQ(bytes_text(512), "512 B");
  EXPECT_EQ(bytes_text(1536), "1.50 KiB");
  EXPECT_EQ(bytes_text(3 << 20), "3.00 MiB");
  EXPECT_EQ(percent_text(0.5), "50 %");
  EXPECT_EQ(percent_text(0.0123), "1.2 %");
  EXPECT_EQ(count_text(0, "flop"), "0 flop");
  EXPECT_EQ(count_text(1.678e7, "flop"), "16.8 Mflop");
  EXPECT_EQ(per_second_text(13'400, "flop/s"), "13.4 Tflop/s");
  EXPECT_EQ(per_second_text(0.02, "flop/s"), "20.0 Mflop/s");
}

TEST(TextTable, ColumnsAreAsWideAsTheirCells) {
  TextTable table({Align::left, Align::right});
  table.add({"a", "1"});
  table.add({"l\u00e4nger", "12"});
  EXPECT_EQ(table.to_text(1), " a        1\n l\u00e4nger  12\n");
}

TEST(TimeReport, TimesPerEngineAndLine) {
  const MadeRun made = small_run();
  const TimeReport r = report_of(made.run, false);
  EXPECT_EQ(r.total_ns, 3400);
  EXPECT_EQ(r.lanes[r.bottleneck].name, "dma");
  ASSERT_EQ(r.lanes.size(), 4u);  // the queues are one
  EXPECT_EQ(r.lanes[0].busy_ns, 400);
  EXPECT_EQ(r.lanes[0].waiting_total_ns(), 1500);
  EXPECT_EQ(r.lanes[0].waiting_ns[static_cast<int>(timing::Wait::read)], 1000);
  EXPECT_EQ(r.lanes[3].queues, 2);

  double critical = 0;
  for (const LineTime& line : r.lines) critical += line.critical_ns;
  EXPECT_EQ(critical, r.total_ns);
  const LineTime& copy = r.lines[3];
  EXPECT_EQ(to_string(copy.place), "made.kiln:14");
  EXPECT_EQ(copy.instructions, "tensor_copy");
  EXPECT_EQ(copy.executions, 2);
  EXPECT_EQ(copy.busy_ns, 1000);
  EXPECT_EQ(copy.waiting_ns, 1400);
}

TEST(TimeReport, CriticalPathIsInOrderOfTime) {
  const MadeRun made = small_run();
  const TimeReport r = report_of(made.run, false);
  std::vector<int> lines;
  for (const PathStep& step : r.critical_path) lines.push_back(step.place.line);
  EXPECT_EQ(lines, (std::vector<int>{10, 13, 14, 13, 14, 16}));
}

// Iterations that were left out count for the lines of the period that they look like.
TEST(TimeReport, LinesOfAnExtrapolatedRun) {
  const isa::Program program = isa::parse(R"(kiln 1
program "loop" target trn2
tensor y: output shared_hbm float32 [128, 512]
tensor t: sbuf float32 [128, 512]
tensor u: sbuf float32 [128, 512]
memset(dst=t, value=1.0)
loop i = 0 .. 200000 {
  tensor_scalar(dst=u, data=t, op0=multiply, operand0=0.5)
  activation(dst=t, op=exp, data=u)
}
dma_copy(dst=y, src=t)
)",
                                          "loop.kiln");
  const timing::TimedRun fast = timing::time_program(program, {.reorder = false});
  const timing::TimedRun full = timing::time_program(program, {.reorder = false, .extrapolate = false});
  ASSERT_FALSE(fast.timeline.gaps.empty());
  ASSERT_EQ(full.timeline.events_left_out, 0);
  ASSERT_EQ(fast.timeline.total, full.timeline.total);
  const std::vector<LineTime> few = time_by_line(fast), all = time_by_line(full);
  ASSERT_EQ(few.size(), all.size());
  const double slack = 1e-3 * timing::to_ns(full.timeline.total);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(few[i].place, all[i].place);
    EXPECT_EQ(few[i].executions, all[i].executions) << all[i].place.line;
    EXPECT_NEAR(few[i].busy_ns, all[i].busy_ns, slack) << all[i].place.line;
    EXPECT_NEAR(few[i].critical_ns, all[i].critical_ns, slack) << all[i].place.line;
  }
}

// Who asks the library gets what `kiln time` says, whichever function is called.
TEST(TimedKernel, DefaultOrderIsOneForAll) {
  const isa::Program program = isa::parse(R"(kiln 1
program "late" target trn2
tensor x: input hbm float32 [128, 512]
tensor y: output shared_hbm float32 [256, 512]
tensor t: sbuf float32 [128, 512]
tensor u: sbuf float32 [128, 512]
dma_copy(dst=t, src=x)
activation(dst=t, op=exp, data=t)
memset(dst=u, value=1.0)
activation(dst=u, op=exp, data=u)
dma_copy(dst=y.ap([[512, 128], [1, 512]]), src=t)
dma_copy(dst=y.ap([[512, 128], [1, 512]], offset=65536), src=u)
)",
                                          "late.kiln");
  const timing::Time unsaid = timing::time_program(program).timeline.total;
  EXPECT_NE(unsaid, timing::time_program(program, {.reorder = false}).timeline.total);
  EXPECT_EQ(unsaid, timing::time_program(program, {.reorder = true}).timeline.total);
  EXPECT_EQ(unsaid, timing::simulate(program, arch(program.target)).total);
  EXPECT_EQ(unsaid, timing::time_in_full(program).timeline.total);
  EXPECT_EQ(unsaid, time_kernel({program})->run.timeline.total);
}

TEST(TimeReport, WorkAndRoofline) {
  const MadeRun made = small_run();
  const TimeReport r = report_of(made.run, false);
  EXPECT_EQ(r.work.matmuls, 2);
  EXPECT_EQ(r.work.dma_transfers, 3);
  const double flops = 2 * 2.0 * 128 * 128 * 512;
  EXPECT_EQ(r.roofline.flops, flops);
  EXPECT_EQ(r.roofline.intensity(), flops / (128 * 512 * 2 + 128 * 128 * 2 + 128 * 512 * 4));
  EXPECT_DOUBLE_EQ(r.roofline.ceilings[0].least_ns(), 2 * 512 / 2.4);
  EXPECT_EQ(r.roofline.lowest().name, "HBM");
  // Two matmuls each read stationary and moving; p is read back and written, and read by the copies.
  const double tile = 128 * 512;
  EXPECT_EQ(r.work.psum_bytes_written, 2 * tile * 4);
  EXPECT_EQ(r.work.psum_bytes_read, 2 * tile * 4 + 2 * tile * 4);
  EXPECT_EQ(r.work.sbuf_bytes_read, 2 * (tile * 2 + 128 * 128 * 2) + tile * 4);
}

TEST(Figures, VendorNamesInVendorUnits) {
  const MadeRun made = small_run();
  const TimeReport r = report_of(made.run, false);
  const nlohmann::ordered_json summary = to_json(r)["summary"];
  EXPECT_DOUBLE_EQ(summary["kernel_time"].get<double>(), 3.4e-6);
  EXPECT_DOUBLE_EQ(summary["tensor_engine_active_time"].get<double>(), 4e-7);
  EXPECT_DOUBLE_EQ(summary["tensor_engine_active_time_percent"].get<double>(), 400.0 / 3400);
  EXPECT_EQ(summary["matmul_instruction_count"], 2);
  EXPECT_EQ(summary["hbm_write_bytes"], 128 * 512 * 4);
  EXPECT_DOUBLE_EQ(summary["mfu_estimated_percent"].get<double>(), 2 * 512 / 2.4 / 3400);
}

TEST(Figures, KeysAreUnique) {
  std::set<std::string_view> keys;
  for (const Figure& figure : figures()) EXPECT_TRUE(keys.insert(figure.key).second) << figure.key;
}

TEST(Text, SaysTheAnswers) {
  const MadeRun made = small_run();
  const std::string text = to_text(report_of(made.run, false), {.lines = 2});
  for (const char* words :
       {"3.40 us, between 3.06 us and 3.74 us", "bottleneck: dma, busy for 59 %", "kernels that were made up (2 rows)",
        "made.kiln:14", "and 3 more lines", "arithmetic intensity", "1.00 times"})
    EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
}

TEST(Compare, TwoColumnsTellTheChange) {
  const MadeRun made = small_run();
  const TimeReport a = report_of(made.run, false);
  TimeReport b = a;
  b.total_ns = 1700;
  const Column columns[] = {{"old", &a}, {"new", &b}};
  const std::string text = compare_text(columns);
  EXPECT_NE(text.find("-50.0 %"), std::string::npos) << text;
  EXPECT_EQ(compare_json(columns)["figures"]["kernel_time"], (std::vector<double>{3.4e-6, 1.7e-6}));
}

TEST(Picture, RowsDoNotOverlap) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const MadeRun made = make_run(500, seed);
    const Picture picture = picture_of(made.run);
    EXPECT_EQ(picture.slice_count(), 500u);
    for (const Track& track : picture.tracks) {
      for (const Row& row : track.rows) {
        for (std::size_t i = 1; i < row.size(); ++i)
          ASSERT_LE(row[i - 1].start + row[i - 1].duration, row[i].start) << "seed " << seed;
      }
    }
  }
}

TEST(Picture, LimitIsCounted) {
  const MadeRun made = make_run(500, 1);
  const Picture picture = picture_of(made.run, {.max_slices = 100, .max_flows = 10});
  EXPECT_EQ(picture.slice_count(), 100u);
  EXPECT_EQ(picture.slices_left_out, 400u);
  EXPECT_EQ(picture.flows.size(), 10u);
}

void set_bytes(MadeRun& made, std::size_t id, double bytes) {
  timing::Event event = made.run.timeline.events[id];
  event.hbm_bytes = bytes;
  made.run.timeline.events.replace(id, event);
}

TEST(Picture, BandwidthIsTheMeanOfEachMicrosecond) {
  MadeRun made = small_run();
  set_bytes(made, 0, 131'072);  // 0 to 1000 ns
  set_bytes(made, 1, 32'768);   // 0 to 400 ns
  set_bytes(made, 6, 262'144);  // 2400 to 3400 ns
  const Curve hbm = picture_of(made.run).curves.back();
  ASSERT_EQ(hbm.points.size(), 4u);
  EXPECT_EQ(hbm.unit, "GB/s, mean over 1.00 us");
  EXPECT_DOUBLE_EQ(hbm.points[0].value, 131.072 + 32.768);
  EXPECT_EQ(hbm.points[1].value, 0);
  EXPECT_DOUBLE_EQ(hbm.points[2].value, 262.144 * 0.6);
  EXPECT_DOUBLE_EQ(hbm.points[3].value, 262.144);  // the last window has 400 ns
  EXPECT_EQ(hbm.points[3].at, 3'000'000);
}

TEST(Picture, BandwidthOfLeftOutIterations) {
  MadeRun made = small_run();
  set_bytes(made, 2, 1000);  // 1000 to 1200 ns
  made.run.timeline.gaps = {
      {.loop = 0, .core = 0, .begin = 2'000'000, .end = 3'000'000, .iterations = 7, .hbm_bytes = 7000}};
  const Curve hbm = picture_of(made.run).curves.back();
  EXPECT_DOUBLE_EQ(hbm.points[1].value, 1);
  EXPECT_DOUBLE_EQ(hbm.points[2].value, 7);
}

TEST(Picture, LeftOutIterationsAreShown) {
  MadeRun made = small_run();
  made.run.timeline.gaps = {{.loop = 0, .core = 0, .begin = 1'900'000, .end = 2'000'000, .iterations = 7}};
  const Picture picture = picture_of(made.run);
  EXPECT_EQ(picture.tracks.back().name, "iterations not drawn");
  EXPECT_EQ(picture.labels.back().name, "7 more of loop i");
  EXPECT_EQ(picture.labels.back().line, 12);
}

TEST(FitWidth, BreaksBetweenWordsBelowTheLastColumn) {
  EXPECT_EQ(fit_width("  one two three four\n", 0), "  one two three four\n");
  EXPECT_EQ(fit_width("  one two three four\nfive\n", 12), "  one two\n    three\n    four\nfive\n");
  EXPECT_EQ(fit_width("  a    1  waits for something long", 27), "  a    1  waits for\n          something long");
  EXPECT_EQ(fit_width("averylongwordthatdoesnotfit in", 10), "averylongwordthatdoesnotfit\n  in");
  EXPECT_EQ(fit_width("längeres größeres", 17), "längeres größeres") << "characters, not bytes";
}

TEST(MoveEngine, OnlyWhereAllowed) {
  const MadeRun made = small_run();
  isa::Program program = *made.program;
  const Arch& chip = arch(Target::trn2);
  const isa::InstructionId all[] = {0, 2, 3};  // dma_copy, nc_matmul, tensor_copy
  const std::vector<isa::InstructionId> can = rewrite::movable(program, all, Engine::scalar, chip);
  EXPECT_EQ(can, std::vector<isa::InstructionId>{3});
  EXPECT_EQ(isa::resolve_engine({program, program.instructions[3]}, chip), Engine::vector);
  rewrite::move_to_engine(program, can, Engine::scalar);
  EXPECT_EQ(isa::resolve_engine({program, program.instructions[3]}, chip), Engine::scalar);
  EXPECT_TRUE(rewrite::movable(program, all, Engine::gpsimd, chip).empty()) << "gpsimd has no PSUM";
}

TEST(WhatIfEngine, BadTextsAreRefused) {
  const MadeRun made = small_run();
  const auto message = [&](const char* text) -> std::string {
    std::vector<isa::Program> programs{*made.program};
    try {
      apply_engine_what_if(text, programs);
    } catch (const Error& e) {
      return e.first().found + " / " + e.first().help;
    }
    return "accepted";
  };
  EXPECT_EQ(message("tensor_copy:scalar"), "accepted");
  EXPECT_NE(message("tensor_cpy:scalar").find("did you mean `tensor_copy`?"), std::string::npos);
  EXPECT_NE(message("tensor_copy:steam").find("no engine `steam`"), std::string::npos);
  EXPECT_NE(message("nc_matmul:vector").find("no nc_matmul of the program can run"), std::string::npos);
  EXPECT_NE(message("tensor_copy").find("has no `:`"), std::string::npos);
}

}  // namespace
}  // namespace kiln::views
