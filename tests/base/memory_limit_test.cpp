#include "kiln/base/memory_limit.h"

#include <gtest/gtest.h>

#include "kiln/base/quantity_text.h"
#include "tests/error_of.h"

namespace kiln {
namespace {

TEST(MemoryLimit, IsWhatIsSaidOrWhatTheMachineHas) {
  EXPECT_GT(default_max_memory(), 0);
  EXPECT_EQ(error_of([] { require_memory(100, 100, "arrays"); }).code, "");
  const Diagnostic d = error_of([] { require_memory(4096, 1024, "arrays"); });
  EXPECT_EQ(d.code, "limit.R1");
  EXPECT_EQ(d.found, "arrays: 4.00 KiB, where 1.00 KiB may be taken");
  EXPECT_EQ(d.category, Category::config);
  EXPECT_EQ(error_of([] { require_memory(1e18, 0, "arrays"); }).code, "limit.R1");
}

TEST(MemoryLimit, SizesAreText) {
  const std::pair<const char*, std::int64_t> sizes[] = {{"1", 1},
                                                        {"4096", 4096},
                                                        {"4096B", 4096},
                                                        {"2K", 2048},
                                                        {"1.5KiB", 1536},
                                                        {"3 MiB", 3 << 20},
                                                        {"8G", std::int64_t{8} << 30},
                                                        {"1TB", std::int64_t{1} << 40}};
  for (const auto& [text, bytes] : sizes) EXPECT_EQ(parse_bytes(text), bytes) << text;
  for (const char* text : {"", "0", "-1", "x", "G", "8 X", "8GG", "8Gx", "nan", "inf", "1e30", "0.1", "9999999T"})
    EXPECT_EQ(parse_bytes(text), std::nullopt) << text;
}

}  // namespace
}  // namespace kiln
