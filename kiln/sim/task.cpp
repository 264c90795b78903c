#include "kiln/sim/task.h"

namespace kiln::sim {

TaskQueue::TaskQueue(int threads) {
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { work(); });
}

TaskQueue::~TaskQueue() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  ready_.notify_all();
  for (auto& w : workers_) w.join();
}

void TaskQueue::order(const TaskRef& after, const TaskRef& task) {
  std::lock_guard lock(after->mutex);
  if (after->finished()) return;
  task->waiting.fetch_add(1, std::memory_order_relaxed);
  after->successors.push_back(task);
}

void TaskQueue::submit(const TaskRef& task) {
  {
    std::lock_guard lock(mutex_);
    ++open_;
  }
  if (task->waiting.fetch_sub(1, std::memory_order_acq_rel) == 1) make_ready(task);
}

void TaskQueue::make_ready(const TaskRef& task) {
  {
    std::lock_guard lock(mutex_);
    queue_.push_back(task);
  }
  ready_.notify_one();
  progress_.notify_one();
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
      task->run.row().semantics->run(task->run);
    } catch (...) {
      std::lock_guard lock(mutex_);
      if (task->run.sequence < failed_at_.load(std::memory_order_relaxed)) {
        failed_at_.store(task->run.sequence, std::memory_order_release);
        failure_ = std::current_exception();
      }
    }
  }
  std::vector<TaskRef> successors;
  {
    std::lock_guard lock(task->mutex);
    task->done.store(true, std::memory_order_release);
    successors.swap(task->successors);
  }
  task->keep.clear();
  for (const TaskRef& s : successors) {
    if (s->waiting.fetch_sub(1, std::memory_order_acq_rel) == 1) make_ready(s);
  }
  {
    std::lock_guard lock(mutex_);
    --open_;
  }
  progress_.notify_all();
}

void TaskQueue::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    ready_.wait(lock, [this] { return stop_ || !queue_.empty(); });
    if (stop_) return;
    const TaskRef task = pop();
    lock.unlock();
    execute(task);
    lock.lock();
  }
}

void TaskQueue::wait_until(std::int64_t limit) {
  std::unique_lock lock(mutex_);
  while (open_ > limit) {
    if (const TaskRef task = pop()) {
      lock.unlock();
      execute(task);
      lock.lock();
    } else {
      progress_.wait(lock, [&] { return open_ <= limit || !queue_.empty(); });
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
