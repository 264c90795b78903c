// Passes: what the vendor's compiler does to a kernel on its own, as far as documents and measured kernels show it.
// They change a copy of a program for the timing model; check, run and emitted source keep the kernel as written.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/arch/arch.h"
#include "kiln/arch/compiler_spec.h"
#include "kiln/isa/program.h"

namespace kiln::vendor {

struct Pass {
  std::string_view name;
  std::string_view done;  // "loads hoisted", with how many before it
  std::string_view what;  // for listings
  std::int64_t (*run)(isa::Program&, const Arch&, const CompilerSpec&);
};

// In the order in which they run.
std::span<const Pass> passes();

// What the compiler did: the pass and how many instructions or tensors it changed.
struct Done {
  const Pass* pass;
  std::int64_t count;
};

// Runs all passes but those whose names are in `without`.
std::vector<Done> as_compiled(isa::Program& program, const Arch& arch, std::span<const std::string> without = {},
                              const CompilerSpec& compiler = {});

// "12 loads hoisted, 3 buffers renamed"; empty when nothing was done.
std::string text_of(std::span<const Done> done);

}  // namespace kiln::vendor
