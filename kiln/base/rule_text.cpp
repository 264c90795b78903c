#include "kiln/base/rule_text.h"

#include "kiln/base/error.h"

namespace kiln {

void throw_config_error(const RuleText& rule, const std::string& file, const std::string& found,
                        const std::string& help) {
  Diagnostic d;
  d.category = Category::config;
  d.code = rule.code;
  d.rule = rule.text;
  d.loc.file = file;
  d.found = found;
  d.help = help.empty() ? rule.help : help;
  throw Error(std::move(d));
}

}  // namespace kiln
