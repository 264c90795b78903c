// Tasks: instructions whose values are still to be computed, ordered by the memory they touch. The issuing
// thread makes tasks in program order; any thread may run one whose predecessors are done. The result is the
// same for any number of threads because conflicting tasks keep program order.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "kiln/isa/semantics/run.h"
#include "kiln/sim/first_nonfinite.h"
#include "kiln/sim/workers.h"

namespace kiln::sim {

struct Operands;
struct Task;
using TaskRef = std::shared_ptr<Task>;

struct Task final : isa::PassSource {
  explicit Task(const isa::Run& r) : run(r), loops(r.loops ? r.loops->pass() : isa::Pass{}) { run.loops = this; }
  isa::Pass pass() const override { return loops; }
  bool finished() const { return done.load(std::memory_order_acquire); }

  isa::Run run;                              // its sequence is the place in program order
  isa::Pass loops;                           // when it was issued
  std::shared_ptr<const Operands> operands;  // of an instruction of a core
  std::vector<std::shared_ptr<void>> keep;   // storages, offset tables: alive until the values are there
  std::atomic<bool> done{false};
  std::atomic<int> waiting{1};  // predecessors not done, plus one while being issued
  std::mutex mutex;             // guards successors against `done`
  std::vector<TaskRef> successors;
};

// Runs tasks on the calling thread and on threads of its own, which begin with the first task.
class TaskQueue {
 public:
  // `poll` is called now and then by the thread that issues; it may throw to stop the run. `nonfinite` looks at what is
  // computed; null: nobody does.
  // The first `alone` units of work (dispatch.cpp) are the calling thread's: others would wake up for too little.
  explicit TaskQueue(int threads, std::function<void()> poll = {}, FirstNonfinite* nonfinite = nullptr,
                     std::int64_t alone = 0);
  // Tasks that have not started are dropped; those that run are waited for.
  ~TaskQueue();
  int threads() const { return threads_; }
  // Whether the calling thread computes this much more itself.
  bool takes_alone(std::int64_t work) { return (alone_ -= work) >= 0; }
  FirstNonfinite* nonfinite() const { return nonfinite_; }

  // `after` must finish first. Call before `submit`.
  static void order(const TaskRef& after, const TaskRef& task);
  void submit(const TaskRef& task);
  // Helps until every submitted task is done; throws the error of the earliest task that failed.
  void wait();
  // Runs one task, or waits until one that others run is done; returns when there is none.
  void help();
  // Helps until at most `limit` tasks are open.
  void wait_until(std::int64_t limit);
  // The earliest failure so far: tasks after it are not run.
  bool failed() const { return failed_at_.load(std::memory_order_acquire) != INT64_MAX; }
  void rethrow();
  // Calls `poll` when the last time is a while ago. Cheap: it may stand at every instruction.
  void poll();
  bool stopped() const { return stopped_; }  // by `poll`

 private:
  void work();
  void execute(const TaskRef& task);
  TaskRef pop();
  void fail(const Task& task, std::exception_ptr failure);
  void finish(const TaskRef& task);
  template <class Condition>
  void sleep(std::unique_lock<std::mutex>& lock, std::condition_variable& signal, Condition until);

  FirstNonfinite* const nonfinite_;
  const int threads_;
  std::int64_t alone_;  // what is left of it
  std::mutex mutex_;
  std::condition_variable ready_, progress_;
  std::deque<TaskRef> queue_;
  std::int64_t open_ = 0;
  bool stop_ = false;
  std::function<void()> poll_;
  std::int64_t polled_at_ = 0;  // milliseconds
  bool stopped_ = false;
  std::atomic<std::int64_t> failed_at_{INT64_MAX};
  std::exception_ptr failure_;
  std::vector<Worker> workers_;
};

}  // namespace kiln::sim
