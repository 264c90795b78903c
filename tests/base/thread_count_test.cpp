#include "kiln/base/thread_count.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "kiln/base/error.h"

namespace kiln {
namespace {

TEST(ThreadCount, IsWhatWasAskedOrOnePerProcessor) {
  EXPECT_GE(thread_count(0), 1);
  for (const int n : {1, 2, 5}) EXPECT_EQ(thread_count(n), n);
}

TEST(ThreadCount, RefusesANegativeCount) {
  try {
    thread_count(-1);
    FAIL() << "-1 threads";
  } catch (const Error& error) {
    EXPECT_EQ(error.first().code, code_of(thread_rules::kTable, thread_rules::kNotNegative));
  }
}

TEST(IdleProcessors, AreNotThoseThatOthersUse) {
  std::atomic<bool> stop = false;
  std::vector<std::thread> others;
  for (unsigned i = 0; i < std::max(std::thread::hardware_concurrency(), 1u); ++i)
    others.emplace_back([&] {
      while (!stop) {
      }
    });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const int idle = idle_processors();
  stop = true;
  for (std::thread& t : others) t.join();
  EXPECT_EQ(idle, 1);
  EXPECT_LE(idle_processors(), thread_count(0));
}

}  // namespace
}  // namespace kiln
