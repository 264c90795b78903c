#include "kiln/sim/workers.h"

#include <sched.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace kiln::sim {
namespace {

// A thread that is woken up often lands on the processor of the one that wakes it, and stays behind it for
// milliseconds. So it wakes up on the others, and may go anywhere once it runs. Where that is refused, the
// system places it as it likes.
class Elsewhere {
 public:
  Elsewhere() {
    const int here = sched_getcpu();
    CPU_ZERO(&allowed_);
    is_known_ = here >= 0 && sched_getaffinity(0, sizeof allowed_, &allowed_) == 0 && CPU_COUNT(&allowed_) > 1 &&
                CPU_ISSET(here, &allowed_);
    others_ = allowed_;
    if (is_known_) CPU_CLR(here, &others_);
  }
  void before_waking(pid_t thread) const { set(thread, others_); }
  void awake() const { set(0, allowed_); }

 private:
  void set(pid_t thread, const cpu_set_t& processors) const {
    if (is_known_) sched_setaffinity(thread, sizeof processors, &processors);
  }

  bool is_known_ = false;
  cpu_set_t allowed_, others_;
};

}  // namespace

struct Worker::Thread {
  std::mutex mutex;
  std::condition_variable changed;
  std::function<void()> job;  // empty: idle
  Elsewhere place = {};
  pid_t id = 0;  // 0: has not begun

  void work() {
    std::unique_lock lock(mutex);
    id = gettid();
    while (true) {
      changed.wait(lock, [this] { return static_cast<bool>(job); });
      place.awake();
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
  thread_->place = Elsewhere();
  if (thread_->id) thread_->place.before_waking(thread_->id);
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
