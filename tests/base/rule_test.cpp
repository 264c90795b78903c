// A diagnostic of a broken rule: what the table, the rule and the case add to it.
#include "kiln/base/rule.h"

#include <gtest/gtest.h>

namespace kiln {
namespace {

constexpr RuleWords kWords{"x is even", "double x", Mark::undocumented};
constexpr Rule kEven{1, "x is even", "double x"};
constexpr Rule kOlder{2, "x is small", "halve x", Mark::historical};
constexpr Rule kChosen{3, kWords};
constexpr Rule kNamed{"known", "x is known", "name x"};
constexpr Rule kRules[] = {kEven, kOlder, kChosen, kNamed};
constexpr RuleTable kTable{"test", "tests", kRules, Category::config};

TEST(Rule, CodesArePrefixAndLabel) {
  EXPECT_EQ(code_of(kTable, kEven), "test.R1");
  EXPECT_EQ(code_of(kTable, kNamed), "test.known");
  EXPECT_EQ(code_of(kInternalRules, kInternalRules.rules[0]), "internal");
}

TEST(Rule, TheRuleSaysWhatTheCaseLeavesOut) {
  const Diagnostic d = broken(kTable, kEven, {.found = "x is 3"});
  EXPECT_EQ(d.severity, Severity::error);
  EXPECT_EQ(d.category, Category::config);
  EXPECT_EQ(d.code, "test.R1");
  EXPECT_EQ(d.rule, "x is even");
  EXPECT_EQ(d.found, "x is 3");
  EXPECT_EQ(d.help, "double x");
  EXPECT_EQ(d.operand + d.allowed + d.context, "");
}

TEST(Rule, TheCaseGoesBeforeTheRule) {
  const Diagnostic d = broken(kTable, kEven,
                              {.found = "x is 3",
                               .allowed = "2 and 4",
                               .help = "pass 4",
                               .rule = "x of f is even",
                               .loc = {"a.kiln", 7, {}},
                               .column = 5,
                               .context = "f(x=3)",
                               .operand = "x",
                               .notes = {{"declared here", {}}},
                               .severity = Severity::warning,
                               .category = Category::invalid});
  EXPECT_EQ(d.severity, Severity::warning);
  EXPECT_EQ(d.category, Category::invalid);
  EXPECT_EQ(d.rule, "x of f is even");
  EXPECT_EQ(d.help, "pass 4");
  EXPECT_EQ(d.allowed, "2 and 4");
  EXPECT_EQ(to_string(d.loc), "a.kiln:7");
  EXPECT_EQ(d.column, 5);
  EXPECT_EQ(d.context, "f(x=3)");
  EXPECT_EQ(d.operand, "x");
  ASSERT_EQ(d.notes.size(), 1u);
}

TEST(Rule, MarksTellHowWellItIsFounded) {
  const Diagnostic older = broken(kTable, kOlder, {.found = "x is 9"});
  EXPECT_EQ(older.rule, "x is small (documented in an older release)");
  EXPECT_EQ(older.category, Category::config);
  const Diagnostic chosen = broken(kTable, kChosen, {.found = "x is 3"});
  EXPECT_EQ(chosen.rule, "x is even (undocumented, our choice)");
  EXPECT_EQ(chosen.category, Category::undefined);
}

TEST(Rule, RaiseThrowsIt) {
  try {
    raise(kTable, kNamed, {.found = "who?"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.first().code, "test.known");
    EXPECT_EQ(std::string(error.what()), "error[test.known]: who?\n   = rule: x is known\n   = help: name x");
  }
}

}  // namespace
}  // namespace kiln
