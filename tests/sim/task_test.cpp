// TaskQueue: program order where it matters, the earliest failure, and no task left behind.
#include "kiln/sim/task.h"

#include <gtest/gtest.h>

#include "kiln/base/error.h"
#include "kiln/isa/builder/builder.h"
#include "tests/error_of.h"

namespace kiln::sim {
namespace {

// Tasks over an array of floats: x[i] = x[i] * factor + term, and a matmul that fails on values.
class Tasks {
 public:
  Tasks() {
    isa::Kernel k("tasks");
    k.fragment();
    const auto x = k.inout("x", {1, 1}, DType::float32, Memory::sbuf);
    const auto p = k.psum({1, 1}, DType::float32);
    k.nc_matmul({.dst = p, .stationary = x, .moving = x, .is_stationary_onezero = true});
    program_ = k.finish();
    fails_ = program_.instructions.front();
  }

  // The instruction is added before any Run refers to the program.
  int add_instruction(double factor, double term) {
    isa::Kernel k("tasks");
    const auto x = k.inout("x", {1, 1}, DType::float32, Memory::sbuf);
    k.tensor_scalar(
        {.dst = x, .data = x, .op0 = AluOp::multiply, .operand0 = factor, .op1 = AluOp::add, .operand1 = term});
    programs_.push_back(std::make_unique<isa::Program>(k.finish()));
    return static_cast<int>(programs_.size()) - 1;
  }

  TaskRef scale(std::int64_t sequence, int instruction, float* x) {
    const isa::Program& p = *programs_[instruction];
    isa::Run run(p, p.instructions.front(), chip_, Engine::vector, plain_kernels(), state_);
    run.sequence = sequence;
    for (int param : {isa::args::tensor_scalar::dst, isa::args::tensor_scalar::data}) fill(run.add_tile(param), x);
    return std::make_shared<Task>(run);
  }

  // Fails because *x is neither 0 nor 1; the error tells which value it was.
  TaskRef failing(std::int64_t sequence, float* x, float* out) {
    isa::Run run(program_, fails_, chip_, Engine::tensor, plain_kernels(), state_);
    run.sequence = sequence;
    fill(run.add_tile(isa::args::nc_matmul::dst), out);
    for (int param : {isa::args::nc_matmul::stationary, isa::args::nc_matmul::moving}) fill(run.add_tile(param), x);
    return std::make_shared<Task>(run);
  }

 private:
  static void fill(isa::Tile& t, float* x) {
    t = {.data = reinterpret_cast<std::byte*>(x),
         .dtype = DType::float32,
         .free_rank = 0,
         .rows = 1,
         .row_bytes = sizeof(float),
         .free_size = 1};
  }

  const Arch& chip_ = arch(Target::trn2);
  isa::EngineState state_;
  isa::Program program_;
  isa::Instruction fails_;
  std::vector<std::unique_ptr<isa::Program>> programs_;
};

std::string found(TaskQueue& queue) {
  return error_of([&] { queue.wait(); }).found;
}

TEST(TaskQueue, KeepsTheOrderOfAChain) {
  Tasks tasks;
  const int twice = tasks.add_instruction(2, 1), half = tasks.add_instruction(0.5, 3);
  for (const int threads : {1, 2, 4}) {
    TaskQueue queue(threads);
    EXPECT_EQ(queue.threads(), threads);
    std::vector<float> x(8, 1.0f), wanted(8, 1.0f);
    std::vector<TaskRef> last(8);
    for (std::int64_t i = 0; i < 4000; ++i) {
      const std::size_t lane = i * i % 8;
      const int which = i % 3 ? half : twice;
      const TaskRef task = tasks.scale(i, which, &x[lane]);
      if (last[lane]) TaskQueue::order(last[lane], task);
      last[lane] = task;
      queue.submit(task);
      wanted[lane] = i % 3 ? wanted[lane] * 0.5f + 3 : wanted[lane] * 2 + 1;
    }
    queue.wait();
    EXPECT_EQ(x, wanted) << threads;
    for (const TaskRef& t : last) EXPECT_TRUE(!t || t->finished());
  }
}

TEST(TaskQueue, ATaskWaitsForAllItsPredecessors) {
  Tasks tasks;
  const int add = tasks.add_instruction(1, 1), twice = tasks.add_instruction(2, 0);
  for (const int threads : {1, 2, 4}) {
    TaskQueue queue(threads);
    for (int round = 0; round < 50; ++round) {
      std::vector<float> x(16);
      std::vector<TaskRef> before;
      for (float& v : x) before.push_back(tasks.scale(0, add, &v));
      const TaskRef joined = tasks.scale(1, twice, &x[0]);
      for (const TaskRef& t : before) TaskQueue::order(t, joined);
      queue.submit(joined);  // submitted first, runs last
      EXPECT_FALSE(joined->finished());
      for (const TaskRef& t : before) queue.submit(t);
      queue.wait();
      EXPECT_EQ(x[0], 2);
    }
  }
}

TEST(TaskQueue, WaitUntilLeavesAtMostThatMany) {
  Tasks tasks;
  const int add = tasks.add_instruction(1, 1);
  TaskQueue queue(1);
  float x = 0;
  TaskRef last;
  for (int i = 0; i < 100; ++i) {
    const TaskRef task = tasks.scale(i, add, &x);
    if (last) TaskQueue::order(last, task);
    last = task;
    queue.submit(task);
    queue.wait_until(10);
    EXPECT_GE(x, static_cast<float>(i + 1 - 10));
  }
  queue.wait();
  EXPECT_EQ(x, 100);
}

TEST(TaskQueue, TheFirstWorkIsTheCallersOwn) {
  TaskQueue queue(2, {}, nullptr, 100), eager(2);
  EXPECT_TRUE(queue.takes_alone(60));
  EXPECT_TRUE(queue.takes_alone(40));
  EXPECT_FALSE(queue.takes_alone(1));
  EXPECT_FALSE(queue.takes_alone(0));
  EXPECT_FALSE(eager.takes_alone(1));
}

// Who looks for an idle storage and finds none asks for help; the last task may be done before it is heard.
TEST(TaskQueue, HelpReturnsWhenNothingIsOpen) {
  for (const int threads : {1, 2}) {
    TaskQueue queue(threads);
    queue.help();
  }
}

TEST(TaskQueue, TheEarliestFailureWins) {
  Tasks tasks;
  const int add = tasks.add_instruction(1, 1);
  for (const int threads : {1, 2, 4}) {
    for (int round = 0; round < 30; ++round) {
      TaskQueue queue(threads);
      std::vector<float> x(64, 2.0f), out(64);
      for (int i = 20; i < 64; ++i) x[i] = static_cast<float>(i);
      // Late failures are submitted first and are ready at once; the earliest waits behind a chain.
      for (int i = 63; i > 20; --i) queue.submit(tasks.failing(i, &x[i], &out[i]));
      float slow = 0;
      TaskRef last;
      for (int i = 0; i < 20; ++i) {
        const TaskRef task = tasks.scale(i, add, &slow);
        if (last) TaskQueue::order(last, task);
        last = task;
        queue.submit(task);
      }
      const TaskRef first = tasks.failing(20, &x[20], &out[20]);
      TaskQueue::order(last, first);
      queue.submit(first);
      EXPECT_NE(found(queue).find("holds 20"), std::string::npos) << threads;
      EXPECT_EQ(slow, 20) << "tasks before the failure run";
      EXPECT_TRUE(queue.failed());
    }
  }
}

TEST(TaskQueue, TasksAfterAFailureAreSkippedAndFinish) {
  Tasks tasks;
  const int add = tasks.add_instruction(1, 1);
  for (const int threads : {1, 3}) {
    TaskQueue queue(threads);
    float bad = 7, out = 0, x = 0;
    const TaskRef first = tasks.failing(1, &bad, &out), after = tasks.scale(2, add, &x),
                  before = tasks.scale(0, add, &x);
    TaskQueue::order(first, after);
    TaskQueue::order(before, after);
    queue.submit(first);
    queue.submit(after);
    queue.submit(before);
    EXPECT_NE(found(queue), "");
    EXPECT_TRUE(after->finished());
    EXPECT_EQ(x, 1) << "only the task before the failure has run";
    // The queue goes on reporting the failure and can be destroyed.
    EXPECT_NE(found(queue), "");
  }
}

TEST(TaskQueue, KeepsWhatATaskNeedsUntilItIsDone) {
  Tasks tasks;
  const int add = tasks.add_instruction(1, 1);
  for (const int threads : {1, 2}) {
    TaskQueue queue(threads);
    auto value = std::make_shared<float>(1.0f);
    const std::weak_ptr<float> watch = value;
    const TaskRef gate = tasks.scale(0, add, value.get()), task = tasks.scale(1, add, value.get());
    task->keep.push_back(std::move(value));
    TaskQueue::order(gate, task);
    queue.submit(task);
    EXPECT_FALSE(watch.expired());
    queue.submit(gate);
    queue.wait();
    EXPECT_TRUE(watch.expired());
  }
}

TEST(TaskQueue, CanBeDestroyedWithTasksThatNeverRan) {
  Tasks tasks;
  const int add = tasks.add_instruction(1, 1);
  for (const int threads : {1, 2, 4}) {
    std::vector<float> x(200);
    TaskQueue queue(threads);
    TaskRef last;
    for (int i = 0; i < 200; ++i) {
      const TaskRef task = tasks.scale(i, add, &x[i]);
      if (last) TaskQueue::order(last, task);
      last = task;
      queue.submit(task);
    }
  }
}

}  // namespace
}  // namespace kiln::sim
