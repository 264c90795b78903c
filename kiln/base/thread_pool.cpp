#include "kiln/base/thread_pool.h"

#include <fmt/format.h>
#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <optional>

namespace kiln {
namespace {

int checked_thread_count(int threads) {
  if (threads < 0)
    raise(thread_rules::kTable, thread_rules::kNotNegative, {.found = fmt::format("{} threads", threads)});
  return threads == 0 ? tbb::info::default_concurrency() : threads;
}

}  // namespace

struct ThreadPool::Impl {
  explicit Impl(int threads) : arena(threads) {
    // Without this, TBB makes no more threads than there are cores.
    if (threads > tbb::info::default_concurrency()) {
      limit.emplace(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads));
    }
    arena.initialize();
  }
  std::optional<tbb::global_control> limit;
  tbb::task_arena arena;
};

ThreadPool::ThreadPool(int threads) : impl_(std::make_unique<Impl>(checked_thread_count(threads))) {}
ThreadPool::~ThreadPool() = default;

int ThreadPool::threads() const { return impl_->arena.max_concurrency(); }

void ThreadPool::parallel_for(std::size_t n, const std::function<void(std::size_t)>& body) {
  impl_->arena.execute([&] {
    tbb::this_task_arena::isolate([&] { tbb::parallel_for(std::size_t{0}, n, [&](std::size_t i) { body(i); }); });
  });
}

struct TaskGroup::Impl {
  explicit Impl(tbb::task_arena& a) : arena(a) {}
  tbb::task_arena& arena;
  tbb::task_group group;
};

TaskGroup::TaskGroup(ThreadPool& pool) : impl_(std::make_unique<Impl>(pool.impl_->arena)) {}

TaskGroup::~TaskGroup() {
  impl_->group.cancel();
  try {
    wait();
  } catch (...) {  // nobody asked for the outcome, and a destructor must not throw
  }
}

void TaskGroup::run(std::function<void()> task) {
  impl_->arena.execute([&] { impl_->group.run(std::move(task)); });
}

void TaskGroup::wait() {
  impl_->arena.execute([&] { impl_->group.wait(); });
}

}  // namespace kiln
