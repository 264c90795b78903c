#include "kiln/check/summary.h"

#include <fmt/format.h>

#include "kiln/analysis/engine_counts.h"

namespace kiln::check {
namespace {

std::string plural(std::size_t n, const char* word) { return fmt::format("{} {}{}", n, word, n == 1 ? "" : "s"); }

std::string memory_line(const char* memory, const analysis::MemoryUse& use) {
  const std::string written =
      use.written_bytes == use.peak_bytes ? "" : fmt::format(" when reordered, {} as written", use.written_bytes);
  return fmt::format("  {}: at most {} of {} bytes per partition{}{}\n", memory, use.peak_bytes, use.available_bytes,
                     written, use.in_place ? ", some used again in place" : "");
}

std::string uses(const Checked& core) {
  std::string text = memory_line("SBUF", core.allocation->sbuf) + memory_line("PSUM", core.allocation->psum);
  text += "  " + plural(core.program->instructions.size(), "instruction");
  const char* separator = ": ";
  analysis::for_each_engine(analysis::count_by_engine(*core.program, arch(core.program->target)),
                            [&](const std::string& engine, std::int64_t count) {
                              text += fmt::format("{}{} {}", separator, engine, count);
                              separator = ", ";
                            });
  return text + '\n';
}

}  // namespace

std::string summary(const Verdict& v) {
  std::string text = v.title;
  if (!v.cores.empty()) text += fmt::format(" for {}", arch(v.cores[0].program->target).name);
  text += v.errors == 0 ? ": ok" : ": " + plural(v.errors, "error");
  if (v.warnings) text += ", " + plural(v.warnings, "warning");
  if (v.left_out) text += fmt::format(", {} more not shown", v.left_out);
  text += '\n';
  if (v.errors) return text;
  for (std::size_t i = 0; i < v.cores.size(); ++i) {
    if (v.cores.size() > 1) text += fmt::format("  core {}:\n", i);
    text += uses(v.cores[i]);
  }
  return text;
}

}  // namespace kiln::check
