// A fault of the compiler keeps the program that shows it.
#include "kiln/tensor/lower/reproducer.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "kiln/base/file.h"
#include "kiln/tensor/ir/expr.h"
#include "kiln/tensor/ir/text.h"
#include "kiln/tensor/ir/verify.h"

using namespace kiln;
using namespace kiln::tensor;

namespace {

Graph doubled() {
  Builder b("doubled");
  b.output("y", b.input("x", {DType::float32, {4, 8}}) * 2.0);
  return b.finish();
}

class ReproducerTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) / "reproducer_test";
    std::filesystem::create_directories(folder_);
    setenv("TMPDIR", folder_.c_str(), 1);
  }
  void TearDown() override {
    std::filesystem::remove_all(folder_);
    unsetenv("TMPDIR");
  }
  // The files that were left.
  std::vector<std::string> files() const {
    std::vector<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      if (entry.path().extension() == ".kt") out.push_back(entry.path().string());
    }
    return out;
  }
  std::filesystem::path folder_;
};

// What a pass does that leaves a graph which is none.
const auto break_it = []() -> Compiled {
  Graph graph = doubled();
  graph.output("z", 99);
  verify(graph, "a-pass");
  return {};
};

TEST_F(ReproducerTest, KeepsTheProgram) {
  const CompileOptions options{.target = Target::trn3, .level = 1, .lnc = 2, .donated = {"x"}};
  try {
    or_reproducer(doubled(), options, break_it);
    FAIL() << "no error";
  } catch (const Error& e) {
    ASSERT_EQ(files().size(), 1u);
    const std::string path = files()[0];
    EXPECT_EQ(print(parse(read_file(path), path)), print(doubled()));
    EXPECT_NE(e.first().found.find("a-pass"), std::string::npos) << e.what();
    ASSERT_EQ(e.first().notes.size(), 1u);
    const std::string command = "kiln compile " + path + " --target trn3 -O 1 --lnc 2 --donate x";
    EXPECT_NE(e.first().notes[0].text.find(command), std::string::npos) << e.what();
  }
}

TEST_F(ReproducerTest, ErrorsOfTheUserKeepNothing) {
  const auto refuse = []() -> Compiled { throw Error(Diagnostic{.category = Category::not_yet, .found = "not yet"}); };
  EXPECT_THROW(or_reproducer(doubled(), {}, refuse), Error);
  EXPECT_TRUE(files().empty());
}

TEST_F(ReproducerTest, WithoutAFolderTheFaultIsToldAllTheSame) {
  setenv("TMPDIR", (folder_ / "missing").c_str(), 1);
  try {
    or_reproducer(doubled(), {}, break_it);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.first().category, Category::internal);
    ASSERT_EQ(e.first().notes.size(), 1u);
    EXPECT_NE(e.first().notes[0].text.find("could not be kept"), std::string::npos) << e.what();
  }
}

}  // namespace
