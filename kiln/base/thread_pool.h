// A fixed number of threads for work inside this process. An exception thrown by the work comes out of
// `parallel_for` or `wait` in the caller's thread; when several are thrown, one of them does, and work not
// yet begun is dropped.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "kiln/base/rule.h"

namespace kiln {

namespace thread_rules {
inline constexpr Rule kNotNegative{1, "the number of threads is not negative", "use 0 for all cores"};

inline constexpr Rule kRules[] = {kNotNegative};
inline constexpr RuleTable kTable{"threads", "threads", kRules, Category::config};
}  // namespace thread_rules

class ThreadPool {
 public:
  // 0 means as many threads as the process may use; a negative count is an Error of category `config`. The
  // calling thread counts: with 1, everything runs in it.
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const;

  // Calls body(0) ... body(n - 1) in any order and returns when all are done. May be called from within a
  // body: the thread that waits then takes work of the inner loop only.
  void parallel_for(std::size_t n, const std::function<void(std::size_t)>& body);

 private:
  friend class TaskGroup;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Tasks that are waited for together; a task may run further ones in its group. The pool must outlive the
// group. A group that is destroyed without `wait` drops the tasks not yet begun and waits for the others.
class TaskGroup {
 public:
  explicit TaskGroup(ThreadPool& pool);
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  void run(std::function<void()> task);
  void wait();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kiln
