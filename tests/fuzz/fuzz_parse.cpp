// Any bytes as a text: either a program that prints, verifies and reads back the same, or an Error of
// category config.
#include "kiln/isa/text/parse.h"
#include "kiln/isa/verify/verify.h"
#include "tests/fuzz/require.h"

namespace {

using kiln::require;

// The printed form is a fixed point, and printing loses nothing that the verifier sees.
void round_trip(const kiln::isa::Program& program) {
  const std::string text = print(program);
  const kiln::isa::Program again = kiln::isa::parse(text, "again.kiln", {.text_locations = false});
  require(print(again) == text, "printing is no fixed point");
  const auto first = verify(program), second = verify(again);
  require(first.size() == second.size(), "printing loses what verify sees");
  for (std::size_t i = 0; i < first.size(); ++i)
    require(first[i].code == second[i].code, "printing changes what verify sees");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::optional<kiln::isa::Program> program;
  try {
    program = kiln::isa::parse(text, "fuzz.kiln", {.text_locations = false});
  } catch (const kiln::Error& e) {
    require(e.first().category == kiln::Category::config, e.what());
  }
  if (program) round_trip(*program);
  return 0;
}
