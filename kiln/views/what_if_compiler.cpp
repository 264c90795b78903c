#include "kiln/views/what_if_compiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "kiln/timing/rules.h"

namespace kiln::views {

bool is_compiler_what_if(std::string_view text) { return text.substr(0, text.find('=')) == kMergedWhatIf; }

CompilerSpec compiler_of(const std::vector<std::string>& what_if) {
  CompilerSpec spec;
  for (const std::string& text : what_if) {
    if (!is_compiler_what_if(text)) continue;
    const std::string_view number = std::string_view(text).substr(std::min(text.size(), kMergedWhatIf.size() + 1));
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), spec.merged_passes);
    if (error != std::errc{} || end != number.data() + number.size() || spec.merged_passes <= 0)
      raise(timing::timing_rules::kTable, timing::timing_rules::kWhatIf,
            {.found = fmt::format("`{}` is no number of passes", number), .help = "merged_passes=2048"});
  }
  return spec;
}

}  // namespace kiln::views
