// Workers: threads that wait for the next run instead of ending with one. A new thread starts on the
// processor of the one that makes it and takes milliseconds to find another that is idle; one that worked
// before is woken where it was.
#pragma once

#include <functional>
#include <memory>

namespace kiln::sim {

// A job on a thread of its own.
class Worker {
 public:
  explicit Worker(std::function<void()> job);  // must not throw
  ~Worker();                                   // waits until the job is done
  Worker(Worker&&) = default;
  Worker& operator=(Worker&&) = delete;

 private:
  struct Thread;
  struct Idle;
  std::shared_ptr<Thread> thread_;
};

}  // namespace kiln::sim
