// The rules that the native half of kiln.nki raises (nki.R…), in one table. Those of the Python half stand
// where they are raised.
#pragma once

#include <span>
#include <string_view>

namespace kiln::python {

struct NkiRule {
  std::string_view code, text;
};
std::span<const NkiRule> nki_rules();
std::string_view nki_rule(std::string_view code);

}  // namespace kiln::python
