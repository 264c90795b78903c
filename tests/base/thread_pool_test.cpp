#include "kiln/base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "kiln/base/error.h"

namespace kiln {
namespace {

using std::chrono::seconds;

// Lets `count` threads wait for each other; false when they are not all there in time.
class Meeting {
 public:
  explicit Meeting(int count) : missing_(count) {}
  bool arrive() {
    std::unique_lock lock(mutex_);
    if (--missing_ == 0) all_here_.notify_all();
    return all_here_.wait_for(lock, seconds(30), [&] { return missing_ <= 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_here_;
  int missing_;
};

TEST(ThreadPool, ReportsItsThreads) {
  EXPECT_GE(ThreadPool(0).threads(), 1);
  for (const int n : {1, 2, 5}) EXPECT_EQ(ThreadPool(n).threads(), n);
}

TEST(ThreadPool, RefusesANegativeCount) {
  try {
    ThreadPool pool(-1);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.first().code, code_of(thread_rules::kTable, thread_rules::kNotNegative));
    EXPECT_EQ(error.first().category, Category::config);
  }
}

TEST(ThreadPool, VisitsEveryIndexOnce) {
  for (const int threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    for (const std::size_t n : {0, 1, 7, 10000}) {
      std::vector<std::atomic<int>> visits(n);
      pool.parallel_for(n, [&](std::size_t i) { ++visits[i]; });
      for (const auto& v : visits) ASSERT_EQ(v, 1);
    }
  }
}

TEST(ThreadPool, OneThreadIsTheCaller) {
  ThreadPool pool(1);
  std::set<std::thread::id> seen;
  pool.parallel_for(1000, [&](std::size_t) { seen.insert(std::this_thread::get_id()); });
  TaskGroup group(pool);
  for (int i = 0; i < 100; ++i) group.run([&] { seen.insert(std::this_thread::get_id()); });
  group.wait();
  EXPECT_EQ(seen, std::set{std::this_thread::get_id()});
}

TEST(ThreadPool, RunsAsManyAtOnceAsItSays) {
  ThreadPool pool(4);  // more than the cores of a small machine
  Meeting meeting(4);
  std::atomic<int> met{0};
  pool.parallel_for(4, [&](std::size_t) { met += meeting.arrive(); });
  EXPECT_EQ(met, 4);
}

TEST(ThreadPool, NeverRunsMoreAtOnceThanItSays) {
  ThreadPool pool(2);
  std::atomic<int> inside{0}, most{0};
  pool.parallel_for(500, [&](std::size_t) {
    const int now = ++inside;
    for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) continue;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    --inside;
  });
  EXPECT_LE(most, 2);
}

TEST(ThreadPool, PropagatesExceptionsAndStaysUsable) {
  ThreadPool pool(3);
  const auto broken = [](std::size_t i) {
    if (i == 17) throw std::runtime_error("17");
  };
  EXPECT_THROW(pool.parallel_for(100, broken), std::runtime_error);
  std::atomic<int> count{0};
  pool.parallel_for(100, [&](std::size_t) { ++count; });
  EXPECT_EQ(count, 100);
}

TEST(ThreadPool, NestsWithoutMixingOuterWork) {
  ThreadPool pool(4);
  std::atomic<int> count{0}, mixed{0};
  thread_local int depth = 0;
  pool.parallel_for(400, [&](std::size_t) {
    mixed += depth != 0;  // this thread already is inside a body of the outer loop
    ++depth;
    pool.parallel_for(8, [&](std::size_t i) {
      // Uneven, so that some thread waits for the last of its inner bodies while outer ones are left.
      std::this_thread::sleep_for(std::chrono::microseconds(i * 100));
      ++count;
    });
    --depth;
  });
  EXPECT_EQ(count, 3200);
  EXPECT_EQ(mixed, 0);
}

TEST(TaskGroup, RunsTasksThatRunTasks) {
  ThreadPool pool(4);
  TaskGroup group(pool);
  std::atomic<int> leaves{0};
  std::function<void(int)> split = [&](int depth) {
    if (depth == 0) {
      ++leaves;
      return;
    }
    for (int i = 0; i < 2; ++i) group.run([&split, depth] { split(depth - 1); });
  };
  group.run([&] { split(10); });
  group.wait();
  EXPECT_EQ(leaves, 1024);
}

TEST(TaskGroup, WaitThrowsWhatATaskThrew) {
  ThreadPool pool(2);
  TaskGroup group(pool);
  const Error failure(Diagnostic{.found = "task"});
  group.run([&] { throw failure; });
  EXPECT_THROW(group.wait(), Error);
  bool ran = false;
  group.run([&] { ran = true; });
  group.wait();
  EXPECT_TRUE(ran);
}

TEST(TaskGroup, MayBeDestroyedWithoutWaiting) {
  ThreadPool pool(2);
  std::atomic<int> begun{0}, ended{0};
  {
    TaskGroup group(pool);
    for (int i = 0; i < 100; ++i) {
      group.run([&] {
        ++begun;
        std::this_thread::sleep_for(std::chrono::microseconds(100));
        ++ended;
        throw std::runtime_error("nobody waits");
      });
    }
  }
  EXPECT_EQ(begun, ended);
}

TEST(TaskGroup, IsFedFromManyThreads) {
  ThreadPool pool(2);
  std::atomic<int> count{0};
  std::vector<std::thread> feeders;
  for (int t = 0; t < 4; ++t) {
    feeders.emplace_back([&] {
      TaskGroup group(pool);
      for (int i = 0; i < 500; ++i) group.run([&] { ++count; });
      group.wait();
    });
  }
  for (std::thread& t : feeders) t.join();
  EXPECT_EQ(count, 2000);
}

}  // namespace
}  // namespace kiln
