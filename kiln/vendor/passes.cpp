#include "kiln/vendor/passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "kiln/vendor/balance.h"
#include "kiln/vendor/hoist.h"
#include "kiln/vendor/merge.h"
#include "kiln/vendor/order_loads.h"
#include "kiln/vendor/rename.h"

namespace kiln::vendor {

namespace {

constexpr std::array kPasses = {
    Pass{"hoist", "loads and computations hoisted", "what does not depend on the loop around it runs once", hoist},
    Pass{"merge", "small instructions merged", "a short loop of small instructions runs as one", merge},
    Pass{"rename", "buffers renamed", "a tile that is written anew does not wait for its readers", rename},
    Pass{"order", "loads reordered", "what is used first is loaded first", order_loads},
    Pass{"balance", "instructions moved to another engine", "engines that can do the same share the work", balance},
};

}  // namespace

std::span<const Pass> passes() { return kPasses; }

std::vector<Done> as_compiled(isa::Program& program, const Arch& arch, std::span<const std::string> without,
                              const CompilerSpec& compiler) {
  std::vector<Done> done;
  for (const Pass& pass : kPasses) {
    if (std::find(without.begin(), without.end(), pass.name) != without.end()) continue;
    if (const std::int64_t count = pass.run(program, arch, compiler)) done.push_back({&pass, count});
  }
  return done;
}

std::string text_of(std::span<const Done> done) {
  std::string text;
  for (const Done& d : done) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", d.count, d.pass->done);
  return text;
}

}  // namespace kiln::vendor
