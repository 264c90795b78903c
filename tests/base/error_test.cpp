#include "kiln/base/error.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

namespace kiln {
namespace {

Diagnostic matmul_diagnostic() {
  return {.code = "nc_matmul.R3",
          .rule = "the moving free size is at most 512 (NeuronCore-v3)",
          .loc = {.file = "gemm.py", .line = 41},
          .context = "nc_matmul(dst=acc, stationary=at, moving=bt)",
          .found = "moving tile has 640 free elements",
          .allowed = "at most 512 on gen3",
          .help = "split the free dimension into tiles of at most 512",
          .notes = {{"`bt` declared here", {.file = "gemm.py", .line = 30}}}};
}

// A source file that lives as long as the test.
class SourceFile {
 public:
  explicit SourceFile(const std::string& text) : path_(testing::TempDir() + "kiln_error_test_source.py") {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~SourceFile() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(ErrorText, ShowsEveryPart) {
  EXPECT_EQ(to_text(matmul_diagnostic()),
            "error[nc_matmul.R3]: moving tile has 640 free elements\n"
            "  --> gemm.py:41\n"
            "   | nc_matmul(dst=acc, stationary=at, moving=bt)\n"
            "   = rule: the moving free size is at most 512 (NeuronCore-v3)\n"
            "   = allowed: at most 512 on gen3\n"
            "   = help: split the free dimension into tiles of at most 512\n"
            "   = note: `bt` declared here: gemm.py:30");
}

TEST(ErrorText, OmitsAbsentParts) {
  EXPECT_EQ(to_text(Diagnostic{.severity = Severity::warning, .found = "odd"}), "warning: odd");
  EXPECT_EQ(to_text(Diagnostic{.code = "x.R1", .rule = "x is even"}), "error[x.R1]: x is even");
  EXPECT_EQ(to_text(Diagnostic{.category = Category::not_yet}), "error: not_yet");
  EXPECT_EQ(to_text(Diagnostic{.found = "odd", .notes = {{"see also", {}}}}), "error: odd\n   = note: see also");
}

TEST(ErrorText, AlignsFurtherLines) {
  EXPECT_EQ(to_text(Diagnostic{.context = "a\nb", .found = "odd", .help = "first\nsecond"}),
            "error: odd\n"
            "   | a\n"
            "   | b\n"
            "   = help: first\n"
            "           second");
}

TEST(ErrorText, ShowsTheSourceLine) {
  const SourceFile source("first\n  nisa.nc_matmul(a)\r\n\x1b[31mred\n");
  Diagnostic d{.loc = {.file = source.path(), .line = 2}, .context = "nc_matmul", .found = "odd"};
  EXPECT_EQ(to_text(d), "error: odd\n  --> " + source.path() +
                            ":2\n 2 |   nisa.nc_matmul(a)\n"
                            "   | nc_matmul");
  d.context = "nisa.nc_matmul(a)";  // said by the source line already
  EXPECT_EQ(to_text(d), "error: odd\n  --> " + source.path() + ":2\n 2 |   nisa.nc_matmul(a)");
  d.loc.line = 3;
  EXPECT_NE(to_text(d).find(" 3 | ?[31mred\n"), std::string::npos) << to_text(d);
}

TEST(ErrorText, UnderlinesWhatIsWrong) {
  const SourceFile source("  f(\xc3\xa4, bias)\n");
  Diagnostic d{.loc = {.file = source.path(), .line = 1}, .column = 9, .width = 4, .context = "f", .found = "odd"};
  EXPECT_EQ(to_text(d), "error: odd\n  --> " + source.path() +
                            ":1:8\n 1 |   f(\xc3\xa4, bias)\n"
                            "   |        ^^^^\n"
                            "   | f");
  d.width = 40;  // the line is shorter: another one than that which was meant
  EXPECT_EQ(to_text(d).find('^'), std::string::npos);
  d.width = 0;
  EXPECT_EQ(to_text(d).find('^'), std::string::npos);
}

TEST(ErrorText, WidensTheGutterForLongLineNumbers) {
  const SourceFile source(std::string(1233, '\n') + "code");
  const Diagnostic d{.loc = {.file = source.path(), .line = 1234}, .context = "c", .found = "odd", .help = "h"};
  EXPECT_EQ(to_text(d), "error: odd\n    --> " + source.path() +
                            ":1234\n"
                            "1234 | code\n"
                            "     | c\n"
                            "     = help: h");
}

TEST(ErrorText, SurvivesUnreadableSources) {
  const SourceFile source("only\n");
  for (const SourceLoc& loc :
       {SourceLoc{source.path(), 9, {}}, SourceLoc{testing::TempDir(), 1, {}}, SourceLoc{"/dev/zero", 1, {}},
        SourceLoc{std::string("a\0b", 3), 1, {}}, SourceLoc{source.path(), 1, {}, true}}) {
    EXPECT_EQ(to_text(Diagnostic{.loc = loc, .found = "odd"}), "error: odd\n  --> " + to_string(loc));
  }
}

TEST(ErrorText, DoesNotWaitForAPipe) {
  const std::string path = testing::TempDir() + "kiln_error_test_pipe";
  std::filesystem::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(to_text(Diagnostic{.loc = {.file = path, .line = 1}, .found = "odd"}), "error: odd\n  --> " + path + ":1");
  std::filesystem::remove(path);
}

TEST(ErrorText, EscapesWhatATerminalWouldObey) {
  const Diagnostic d{.code = "x.R1\x07",
                     .loc = {.file = "a\nb\x1b[2J.py", .line = 3, .stack = {"c\x1b:1"}},
                     .context =
                         "t\x9b"
                         "31m",
                     .found = "name \xe2\x80\xae`x\x1b[31m`",
                     .help = "\xff h\xc3\xa4"};
  EXPECT_EQ(to_text(d),
            "error[x.R1\\x07]: name \\u202e`x\\x1b[31m`\n"
            "  --> a\\x0ab\\x1b[2J.py:3\n"
            "   | t\\x9b31m\n"
            "   = called from: c\\x1b:1\n"
            "   = help: \\xff h\xc3\xa4");
}

TEST(ErrorText, ShowsTheLineAndTheMarkThatItIsGiven) {
  const Diagnostic d{.loc = {.file = "<cell 3>", .line = 2},
                     .column = 3,
                     .found = "odd",
                     .facts = {{"target", "trn2"}, {"pass", "i=3, j=77"}},
                     .source = "f(\xe8\xa1\xa8)",
                     .mark = "  ^^"};
  EXPECT_EQ(to_text(d),
            "error: odd\n"
            "  --> <cell 3>:2:3\n"
            " 2 | f(\xe8\xa1\xa8)\n"
            "   |   ^^\n"
            "   = target: trn2\n"
            "   = pass: i=3, j=77");
  const auto json = nlohmann::json::parse(to_json(d));
  EXPECT_EQ(json["target"], "trn2");
  EXPECT_EQ(json["pass"], "i=3, j=77");
}

TEST(ErrorText, ColoursChangeNoWord) {
  const SourceFile source("  f(a, bias)\n");
  Diagnostic d = matmul_diagnostic();
  d.loc = {.file = source.path(), .line = 1};
  d.column = 8;
  d.width = 4;
  const std::string coloured = to_text(d, {.colour = true});
  EXPECT_NE(coloured, to_text(d));
  EXPECT_EQ(std::regex_replace(coloured, std::regex("\x1b\\[[0-9;]*m"), ""), to_text(d));
}

TEST(ErrorText, ShortensLongCallStacks) {
  Diagnostic d{.loc = {.file = "a.py", .line = 1}, .found = "odd"};
  for (int i = 0; i < 10; ++i) d.loc.stack.push_back("b.py:" + std::to_string(i));
  const std::string text = to_text(d);
  EXPECT_NE(text.find("\n   = called from: b.py:0\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("b.py:8"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("= called from: ... and 2 more")) << text;
}

TEST(ErrorJson, KeepsEveryFieldUnderItsKey) {
  Diagnostic d = matmul_diagnostic();
  d.loc.stack = {"main.py:7"};
  const auto json = nlohmann::ordered_json::parse(to_json(d));
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"severity", "category", "code", "rule", "file", "line", "stack", "context",
                                            "found", "allowed", "help", "notes"}));
  EXPECT_EQ(json["severity"], "error");
  EXPECT_EQ(json["category"], "invalid");
  EXPECT_EQ(json["code"], d.code);
  EXPECT_EQ(json["rule"], d.rule);
  EXPECT_EQ(json["file"], "gemm.py");
  EXPECT_EQ(json["line"], 41);
  EXPECT_EQ(json["stack"], nlohmann::ordered_json::array({"main.py:7"}));
  EXPECT_EQ(json["context"], d.context);
  EXPECT_EQ(json["found"], d.found);
  EXPECT_EQ(json["allowed"], d.allowed);
  EXPECT_EQ(json["help"], d.help);
  EXPECT_EQ(json["notes"][0]["text"], "`bt` declared here");
  EXPECT_EQ(json["notes"][0]["line"], 30);
}

TEST(ErrorJson, HasOperandAndColumnWhereTheyAreKnown) {
  const auto json = nlohmann::json::parse(to_json(Diagnostic{.column = 9, .operand = "bias"}));
  EXPECT_EQ(json["operand"], "bias");
  EXPECT_EQ(json["column"], 9);
  const auto without = nlohmann::json::parse(to_json(Diagnostic{}));
  EXPECT_FALSE(without.contains("operand") || without.contains("column"));
}

TEST(ErrorJson, EmptyFieldsKeepTheirType) {
  const auto json = nlohmann::json::parse(to_json(Diagnostic{}));
  EXPECT_TRUE(json["stack"].is_array());
  EXPECT_TRUE(json["notes"].is_array());
  EXPECT_EQ(json["line"], 0);
  EXPECT_EQ(json["found"], "");
  EXPECT_EQ(to_json(std::vector<Diagnostic>{}), "[]");
}

TEST(ErrorJson, ReplacesInvalidUtf8) {
  const auto json = nlohmann::json::parse(to_json(Diagnostic{.found = "a\xff\xc3(b"}));
  EXPECT_EQ(json["found"], "a\xef\xbf\xbd\xef\xbf\xbd(b");
}

TEST(ErrorException, CarriesAllDiagnostics) {
  const Error error(std::vector<Diagnostic>{{.found = "one"}, {.found = "two"}});
  EXPECT_STREQ(error.what(), "error: one\n\nerror: two");
  EXPECT_EQ(error.diagnostics().size(), 2u);
  EXPECT_EQ(nlohmann::json::parse(to_json(error.diagnostics()))[1]["found"], "two");
  EXPECT_EQ(Error(std::vector<Diagnostic>{}).first().category, Category::internal);
}

TEST(ErrorException, FailedAssumptionIsInternal) {
  try {
    KILN_ASSERT(1 + 1 == 3);
    FAIL() << "nothing thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.first().category, Category::internal);
    EXPECT_EQ(error.first().found, "assumption failed: 1 + 1 == 3");
    EXPECT_GT(error.first().loc.line, 0);
  }
}

}  // namespace
}  // namespace kiln
