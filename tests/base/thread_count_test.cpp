#include "kiln/base/thread_count.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace kiln
