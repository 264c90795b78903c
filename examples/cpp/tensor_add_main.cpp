#include "example.h"
#include "programs.h"

using namespace kiln;
using namespace kiln::examples;

int main(int argc, char** argv) {
  const Example example{
      .name = "tensor_add",
      .summary = "out[R, C] = x + y",
      .size_names = {"R", "C"},
      .default_sizes = {300, 5000},
      .build = [](const Sizes& s, Target target) { return tensor_add(s[0], s[1], target); },
      .reference =
          [](const Sizes&, Arrays& a) {
            for (std::size_t i = 0; i < a["out"].size(); ++i)
              a["out"][i] = static_cast<float>(double{a["x"][i]} + double{a["y"][i]});
          },
      .tolerance = 0,  // one float32 addition is rounded once, as the reference is
  };
  return run_example(example, argc, argv);
}
