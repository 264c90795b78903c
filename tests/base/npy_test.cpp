// What the comparison with NumPy (test_npy_oracle.py) cannot reach: arrays in memory, and damage in great
// numbers.
#include "kiln/base/npy.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <set>

#include "kiln/base/error.h"
#include "kiln/base/file.h"
#include "kiln/base/npy_rules.h"
#include "tests/seed.h"

namespace kiln {
namespace {

std::string code_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.first().category, Category::config) << error.what();
    EXPECT_FALSE(error.first().help.empty()) << error.what();
    return error.first().code;
  }
  return "accepted";
}

std::string npy_text(const std::string& header, const std::string& data) {
  std::string out("\x93NUMPY\x01\0", 8);
  out += static_cast<char>(header.size() & 0xff);
  out += static_cast<char>(header.size() >> 8);
  return out + header + data;
}

NpyArray parse(const std::string& text) { return parse_npy(std::as_bytes(std::span(text)), "test.npy"); }

// A folder of its own, gone after the test.
class Npy : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "kiln_npy_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::size_t files() const {
    return std::distance(std::filesystem::directory_iterator(folder_), std::filesystem::directory_iterator());
  }
  std::string path(const char* name) const { return folder_ / name; }
  std::filesystem::path folder_;
};

TEST_F(Npy, EveryDTypeComesBack) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    NpyArray array{dtype, {2, 3}, {}};
    for (int b = 0; b < 6 * size_bytes(dtype); ++b) array.data.push_back(static_cast<std::byte>(b * 37 + 1));
    write_npy(path("a.npy"), array);
    const NpyArray back = read_npy(path("a.npy"), dtype);
    EXPECT_EQ(back.dtype, dtype);
    EXPECT_EQ(back.shape, array.shape);
    EXPECT_EQ(back.data, array.data);
  }
  EXPECT_EQ(files(), 1u);
}

TEST_F(Npy, RefusesToWriteAnInconsistentArray) {
  const NpyArray good{DType::int16, {3}, std::vector<std::byte>(6)};
  NpyArray array = good;
  array.data.pop_back();
  EXPECT_EQ(code_of([&] { write_npy(path("a.npy"), array); }), "npy.R13");
  array = good;
  array.shape = {-1, -3};
  EXPECT_EQ(code_of([&] { write_npy(path("a.npy"), array); }), "npy.R6");
  array.shape.assign(65, 1);
  EXPECT_EQ(code_of([&] { write_npy(path("a.npy"), array); }), "npy.R6");
  EXPECT_EQ(files(), 0u);
}

TEST_F(Npy, KeepsTheOldFileWhenWritingFails) {
  write_npy(path("a.npy"), {DType::uint8, {1}, {std::byte{7}}});
  EXPECT_EQ(code_of([&] { write_npy(path("a.npy"), {DType::uint8, {2}, {std::byte{7}}}); }), "npy.R13");
  EXPECT_EQ(read_npy(path("a.npy")).data.at(0), std::byte{7});
  std::filesystem::create_directory(path("folder"));
  EXPECT_EQ(code_of([&] { write_npy(path("folder"), {DType::uint8, {0}, {}}); }), "file.R2");
  EXPECT_EQ(code_of([&] { write_npy(path("a.npy/b.npy"), {DType::uint8, {0}, {}}); }), "file.R2");
  EXPECT_EQ(code_of([&] { write_npy("/dev/full", {DType::uint8, {0}, {}}); }), "file.R2");
  EXPECT_EQ(files(), 2u);
}

TEST_F(Npy, WritesThroughALinkAndKeepsTheMode) {
  write_npy(path("a.npy"), {DType::uint8, {0}, {}});
  std::filesystem::permissions(path("a.npy"), std::filesystem::perms(0640));
  std::filesystem::create_symlink("a.npy", path("link.npy"));
  write_npy(path("link.npy"), {DType::uint8, {1}, {std::byte{9}}});
  EXPECT_TRUE(std::filesystem::is_symlink(path("link.npy")));
  EXPECT_EQ(read_npy(path("a.npy")).data.at(0), std::byte{9});
  EXPECT_EQ(std::filesystem::status(path("a.npy")).permissions(), std::filesystem::perms(0640));
}

TEST_F(Npy, WritesNamesAsLongAsAllowed) {
  const std::string longest = path(std::string(255, 'n').c_str());
  write_npy(longest, {DType::uint8, {0}, {}});
  EXPECT_TRUE(std::filesystem::exists(longest));
}

TEST(NpyParse, AcceptsWhatPythonAccepts) {
  const std::string data(8, 'x');
  for (const char* header : {
           "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }",
           "{\"shape\":(2,),\"fortran_order\":False,\"descr\":\"<f4\"}",
           " \t{ 'shape' : ( 2 , ) ,\n'descr' : '<f4' , 'fortran_order' : False }\n\n",
           "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 1,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 1L)}",
           "{'descr': '<i2', 'fortran_order': False, 'shape': (1, 4)}",
       }) {
    EXPECT_EQ(code_of([&] { parse(npy_text(header, data)); }), "accepted") << header;
  }
}

TEST(NpyParse, RefusesMalformedHeaders) {
  for (const char* header : {
           "",
           "{",
           "{}",
           "[]",
           "None",
           "'descr'",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)",
           "{'descr': '<f4', 'fortran_order': False}",
           "{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': 2}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (2)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': [2,]}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (02,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (2.0,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'more': 1}",
           "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}",
           "{'descr': '<f4, 'fortran_order': False, 'shape': (2,)}",
           "{'descr': '<\\x664', 'fortran_order': False, 'shape': (2,)}",
           "{'descr' '<f4', 'fortran_order': False, 'shape': (2,)}",
           "{'descr': None, 'fortran_order': False, 'shape': (2,)}",
           "{,'descr': '<f4', 'fortran_order': False, 'shape': (2,)}",
       }) {
    EXPECT_EQ(code_of([&] { parse(npy_text(header, std::string(8, 'x'))); }), "npy.R5") << header;
  }
  EXPECT_EQ(code_of([&] { parse(npy_text(std::string("{\0}", 3), "")); }), "npy.R5");
}

TEST(NpyParse, EveryPrefixOfAFileIsRefused) {
  const std::string file = npy_text("{'descr': '<u2', 'fortran_order': True, 'shape': (2, 3)}", std::string(12, 'x'));
  ASSERT_EQ(code_of([&] { parse(file); }), "accepted");
  for (std::size_t n = 0; n < file.size(); ++n) {
    const std::string code = code_of([&] { parse(file.substr(0, n)); });
    EXPECT_EQ(code, n < file.size() - 12 ? "npy.R3" : "npy.R11") << n;
  }
  EXPECT_EQ(code_of([&] { parse(file + "x"); }), "npy.R12");
}

// Damaged bytes are either refused with a known code, or still a file whose array is consistent.
TEST(NpyParse, SurvivesRandomDamage) {
  const auto seed = static_cast<unsigned>(test::seed());
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  std::set<std::string> codes = {"accepted"};
  for (const Rule& rule : npy_rules::kRules) codes.insert(code_of(npy_rules::kTable, rule));
  const std::string file = npy_text("{'descr': '<u2', 'fortran_order': True, 'shape': (2, 3)}", std::string(12, 'x'));
  const std::string likely = "0123456789,()'{}<>|VufibLO- \n";
  for (int round = 0; round < 100000; ++round) {
    std::string damaged = file;
    for (unsigned hits = 1 + random() % 3; hits > 0; --hits) {
      const std::size_t at = random() % damaged.size();
      const char c = random() % 2 ? likely[random() % likely.size()] : static_cast<char>(random());
      if (random() % 3 == 0)
        damaged.insert(at, 1, c);
      else
        damaged[at] = c;
    }
    NpyArray array;
    const std::string code = code_of([&] { array = parse(damaged); });
    ASSERT_TRUE(codes.contains(code)) << code;
    if (code != "accepted") continue;
    std::size_t size = static_cast<std::size_t>(size_bytes(array.dtype));
    for (const auto d : array.shape) size *= static_cast<std::size_t>(d);
    ASSERT_EQ(array.data.size(), size);
  }
}

TEST(NpyRules, HaveDistinctCodesTextAndHelp) {
  std::set<std::string> codes;
  for (const RuleTable& table : {npy_rules::kTable, file_rules::kTable}) {
    for (const Rule& rule : table.rules) {
      const std::string code = code_of(table, rule);
      EXPECT_TRUE(codes.insert(code).second) << code;
      EXPECT_FALSE(std::string_view(rule.text).empty() || std::string_view(rule.help).empty()) << code;
    }
  }
}

}  // namespace
}  // namespace kiln
