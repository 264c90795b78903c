// Reads the text form of a Program; docs/text-form.md has the grammar.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/isa/program.h"
#include "kiln/isa/text/text_rules.h"

namespace kiln::isa {

struct ParseOptions {
  // Statements without `@` get the place in the text as their location; off, they have none.
  bool text_locations = true;
  // The folders whose files a location after `@` may show; that of the text is one of them, if it is a file.
  std::vector<std::string> source_roots = {};
};

// Throws Error (category config, code text.R*) with line and column when the text is malformed. The result is
// well formed but not verified: see verify.h.
Program parse(std::string_view text, std::string file_name, const ParseOptions& options = {});

}  // namespace kiln::isa
