#include "made_run.h"

#include <algorithm>
#include <random>

#include "kiln/isa/text/parse.h"

namespace kiln::views {
namespace {

using timing::Event;
using timing::Kind;
using timing::Wait;

constexpr const char* kProgram = R"(kiln 1
program "made </script>" target trn2
tensor x: input hbm bfloat16 [128, 512]
tensor w: input hbm bfloat16 [128, 128]
tensor y: output shared_hbm float32 [128, 512]
tensor a: sbuf bfloat16 [128, 512]
tensor b: sbuf bfloat16 [128, 128]
tensor c: sbuf float32 [128, 512]
tensor p: psum float32 [128, 512]
dma_copy(dst=a, src=x)
dma_copy(dst=b, src=w)
loop i = 0 .. 2 {
  nc_matmul(dst=p, stationary=b, moving=a)
  tensor_copy(dst=c, src=p)
}
dma_copy(dst=y, src=c)
)";
enum { kLoadX, kLoadW, kMatmul, kCopy, kStore };
enum { kTensor, kVector, kSync, kQueue0, kQueue1 };

MadeRun start() {
  MadeRun made;
  made.program = std::make_unique<isa::Program>(isa::parse(kProgram, "made.kiln"));
  made.text = kProgram;
  made.run.launch = *made.program;
  made.run.arch = arch(Target::trn2);
  made.run.programs = made.run.launch.programs;
  timing::Timeline& t = made.run.timeline;
  t.ranks = {{.ranks = {0}}};
  t.core_names = {""};
  t.lanes = {{.name = "tensor", .engine = Engine::tensor},
             {.name = "vector", .engine = Engine::vector},
             {.name = "sync", .engine = Engine::sync},
             {.name = "dma 0", .engine = Engine::dma, .queue = 0},
             {.name = "dma 1", .engine = Engine::dma, .queue = 1}};
  t.tensor_peak_macs_per_ns = 2.4 * 128 * 128;
  t.hbm_bytes_per_ns = 368;
  return made;
}

void finish(timing::Timeline& t) {
  for (const Event& event : t.events) {
    timing::Lane& lane = t.lanes[event.lane];
    ++lane.executions;
    lane.busy += event.occupied;
    lane.active += event.end - event.start;
    lane.waiting[static_cast<int>(event.wait)] += event.start - event.issue;
    t.total = std::max(t.total, event.end);
    t.instructions += event.kind != Kind::trigger;
  }
  t.band = {
      .low = t.total * 9 / 10, .high = t.total * 11 / 10, .basis = "kernels that were made up", .rows = {"A", "B"}};
}

}  // namespace

MadeRun make_run(std::size_t events, unsigned seed) {
  MadeRun made = start();
  timing::Timeline& t = made.run.timeline;
  std::mt19937 random(seed);
  const auto below = [&](std::uint32_t n) { return static_cast<timing::Time>(random() % n); };
  timing::Time free[5] = {}, last_start[5] = {};
  for (std::size_t i = 0; i < events; ++i) {
    Event e{};
    e.lane = static_cast<timing::LaneId>(below(5));
    e.inst = static_cast<isa::InstructionId>(below(5));
    e.kind = e.lane >= kQueue0 ? Kind::transfer : Kind::execute;
    const bool overlaps = e.lane >= kQueue0 && below(2);
    e.issue = overlaps ? last_start[e.lane] : free[e.lane];
    e.start = e.issue + below(3) * below(400'000);
    e.occupied = 20'000 + below(900'000);
    e.end = e.start + e.occupied + below(100'000);
    const std::uint32_t cause = i > 0 ? below(static_cast<std::uint32_t>(i)) : 0;
    // As in a run, what another event waits for begins earlier, by a ns of the trace at least.
    if (i > 0 && e.start > e.issue && t.events[cause].start + 1000 <= e.start) {
      e.because = static_cast<timing::EventId>(cause);
      e.wait = static_cast<Wait>(1 + below(timing::kWaitCount - 1));
    }
    if (e.kind == Kind::transfer) e.hbm_bytes = static_cast<double>(below(1 << 20));
    free[e.lane] = std::max(free[e.lane], e.start + e.occupied);
    last_start[e.lane] = e.start;
    if (i % 10 == 0) t.critical_path.push_back({static_cast<timing::EventId>(i), e.occupied, 1});
    if (i % 3 == 0) t.memory.push_back({e.start, 0, below(200'000), below(16'384)});
    t.events.push_back(e);
  }
  std::stable_sort(t.memory.begin(), t.memory.end(), [](auto& a, auto& b) { return a.at < b.at; });
  finish(t);
  return made;
}

// Times in ns: loads 0-1000 and 0-400; matmul 1000-1200; copy 1200-1700; matmul, held up by the copy,
// 1700-1900; copy 1900-2400; store 2400-3400.
MadeRun small_run() {
  MadeRun made = start();
  timing::Timeline& t = made.run.timeline;
  const auto add = [&](int lane, int inst, Wait wait, timing::EventId because, double issue, double from, double to) {
    Event e{};
    e.lane = static_cast<timing::LaneId>(lane);
    e.inst = static_cast<isa::InstructionId>(inst);
    e.kind = lane >= kQueue0 ? Kind::transfer : Kind::execute;
    e.wait = wait;
    e.because = because;
    e.issue = static_cast<timing::Time>(issue * 1000);
    e.start = static_cast<timing::Time>(from * 1000);
    e.end = static_cast<timing::Time>(to * 1000);
    e.occupied = e.end - e.start;
    t.events.push_back(e);
  };
  add(kQueue0, kLoadX, Wait::none, isa::kNone, 0, 0, 1000);
  add(kQueue1, kLoadW, Wait::none, isa::kNone, 0, 0, 400);
  add(kTensor, kMatmul, Wait::read, 0, 0, 1000, 1200);
  add(kVector, kCopy, Wait::read, 2, 0, 1200, 1700);
  add(kTensor, kMatmul, Wait::overwrite, 3, 1200, 1700, 1900);
  add(kVector, kCopy, Wait::read, 4, 1700, 1900, 2400);
  add(kQueue0, kStore, Wait::read, 5, 1000, 2400, 3400);
  for (const timing::EventId id : {0, 2, 3, 4, 5, 6}) t.critical_path.push_back({id, t.events[id].occupied, 1});
  t.memory = {{0, 0, 1280, 0}, {1'000'000, 0, 3328, 2048}};
  t.hbm_bytes_read = 128 * 512 * 2 + 128 * 128 * 2;
  t.hbm_bytes_written = 128 * 512 * 4;
  t.compulsory_bytes = t.hbm_bytes_read + t.hbm_bytes_written;
  t.bottleneck = kQueue0;
  t.dma_busy = 2'000'000;
  finish(t);
  return made;
}

}  // namespace kiln::views
