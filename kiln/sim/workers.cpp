#include "kiln/sim/workers.h"

#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace kiln::sim {

struct Worker::Thread {
  std::mutex mutex;
  std::condition_variable changed;
  std::function<void()> job;  // empty: idle

  void work() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [this] { return static_cast<bool>(job); });
      lock.unlock();
      job();
      lock.lock();
      job = nullptr;
      changed.notify_all();
    }
  }
};

// The threads without a job. Never destroyed: they wait until the process ends. A fork leaves them behind in
// the parent, so the child begins anew.
struct Worker::Idle {
  std::mutex mutex;
  std::vector<std::shared_ptr<Thread>> threads;
  pid_t process = getpid();

  static Idle& get() {
    static std::mutex guard;
    static Idle* idle = new Idle;
    std::lock_guard lock(guard);
    if (idle->process != getpid()) idle = new Idle;
    return *idle;
  }
};

Worker::Worker(std::function<void()> job) {
  Idle& idle = Idle::get();
  {
    std::lock_guard lock(idle.mutex);
    if (!idle.threads.empty()) {
      thread_ = std::move(idle.threads.back());
      idle.threads.pop_back();
    }
  }
  if (!thread_) {
    thread_ = std::make_shared<Thread>();
    std::thread([thread = thread_] { thread->work(); }).detach();
  }
  std::lock_guard lock(thread_->mutex);
  thread_->job = std::move(job);
  thread_->changed.notify_all();
}

Worker::~Worker() {
  if (!thread_) return;  // moved from
  {
    std::unique_lock lock(thread_->mutex);
    thread_->changed.wait(lock, [this] { return !thread_->job; });
  }
  Idle& idle = Idle::get();
  std::lock_guard lock(idle.mutex);
  idle.threads.push_back(std::move(thread_));
}

}  // namespace kiln::sim
