#include "kiln/sim/task.h"

#include <hwy/cache_control.h>
#include <time.h>

#include "kiln/sim/compute.h"
#include "kiln/sim/placed_error.h"

namespace kiln::sim {

namespace {
constexpr std::int64_t kPollEvery = 20;  // milliseconds

// A clock that is read without a system call and ticks every few milliseconds.
std::int64_t coarse_milliseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}
}  // namespace

TaskQueue::TaskQueue(int threads, std::function<void()> poll, FirstNonfinite* nonfinite, std::int64_t alone)
    : nonfinite_(nonfinite),
      threads_(std::max(threads, 1)),
      alone_(alone),
      poll_(std::move(poll)),
      polled_at_(coarse_milliseconds()) {}

TaskQueue::~TaskQueue() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  ready_.notify_all();
  workers_.clear();
}

void TaskQueue::order(const TaskRef& after, const TaskRef& task) {
  std::lock_guard lock(after->mutex);
  if (after->finished()) return;
  task->waiting.fetch_add(1, std::memory_order_relaxed);
  after->successors.push_back(task);
}

void TaskQueue::submit(const TaskRef& task) {
  while (static_cast<int>(workers_.size()) + 1 < threads_) workers_.emplace_back([this] { work(); });
  {
    std::lock_guard lock(mutex_);
    ++open_;
    if (task->waiting.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    queue_.push_back(task);
  }
  ready_.notify_one();
}

TaskRef TaskQueue::pop() {
  if (queue_.empty()) return nullptr;
  TaskRef task = std::move(queue_.front());
  queue_.pop_front();
  return task;
}

void TaskQueue::execute(const TaskRef& task) {
  // A task after a failure would work on unspecified values; one before it must still run, because it may
  // fail earlier.
  if (task->run.sequence < failed_at_.load(std::memory_order_acquire)) {
    try {
      task->operands ? compute_here(task->run, nonfinite_, *task->operands) : compute(task->run, nonfinite_);
    } catch (const Error& e) {
      fail(*task, std::make_exception_ptr(
                      PlacedError(e, task->run.program(), &task->run.inst(), task->loops, task->run.rank_number)));
    } catch (...) {
      fail(*task, std::current_exception());
    }
  }
  finish(task);
}

void TaskQueue::fail(const Task& task, std::exception_ptr failure) {
  std::lock_guard lock(mutex_);
  if (task.run.sequence >= failed_at_.load(std::memory_order_relaxed)) return;
  failed_at_.store(task.run.sequence, std::memory_order_release);
  failure_ = std::move(failure);
}

void TaskQueue::finish(const TaskRef& task) {
  std::vector<TaskRef> successors;
  {
    std::lock_guard lock(task->mutex);
    task->done.store(true, std::memory_order_release);
    successors.swap(task->successors);
  }
  task->operands.reset();
  task->keep.clear();
  bool any_ready = false;
  {
    std::lock_guard lock(mutex_);
    for (const TaskRef& s : successors) {
      if (s->waiting.fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
      queue_.push_front(s);  // runs next: what it reads is still in the cache
      any_ready = true;
    }
    --open_;
  }
  if (any_ready) ready_.notify_one();
  progress_.notify_one();
}

// Most gaps between tasks are shorter than it takes to wake a thread up, so it looks around for about as long
// first.
template <class Condition>
void TaskQueue::sleep(std::unique_lock<std::mutex>& lock, std::condition_variable& signal, Condition until) {
  constexpr int kLooks = 40, kPauses = 64;
  for (int look = 0; look < kLooks && !until(); ++look) {
    lock.unlock();
    for (int i = 0; i < kPauses; ++i) hwy::Pause();
    lock.lock();
  }
  signal.wait(lock, until);
}

void TaskQueue::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    sleep(lock, ready_, [this] { return stop_ || !queue_.empty(); });
    if (stop_) return;
    const TaskRef task = pop();
    lock.unlock();
    execute(task);
    lock.lock();
  }
}

void TaskQueue::help() {
  std::unique_lock lock(mutex_);
  const std::int64_t before = open_;
  if (const TaskRef task = pop()) {
    lock.unlock();
    execute(task);
  } else if (open_ > 0) {  // else the last one was done since the caller looked
    sleep(lock, progress_, [&] { return open_ < before || !queue_.empty(); });
  }
}

void TaskQueue::poll() {
  if (!poll_) return;
  const std::int64_t now = coarse_milliseconds();
  if (now - polled_at_ < kPollEvery) return;
  polled_at_ = now;
  try {
    poll_();
  } catch (...) {
    stopped_ = true;
    throw;
  }
}

void TaskQueue::wait_until(std::int64_t limit) {
  std::unique_lock lock(mutex_);
  while (open_ > limit) {
    if (poll_) {
      lock.unlock();
      poll();
      lock.lock();
    }
    if (const TaskRef task = pop()) {
      lock.unlock();
      execute(task);
      lock.lock();
    } else {
      sleep(lock, progress_, [&] { return open_ <= limit || !queue_.empty(); });
    }
  }
}

void TaskQueue::wait() {
  wait_until(0);
  rethrow();
}

void TaskQueue::rethrow() {
  std::unique_lock lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

}  // namespace kiln::sim
