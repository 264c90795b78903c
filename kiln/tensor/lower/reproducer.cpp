#include "kiln/tensor/lower/reproducer.h"

#include <fmt/format.h>

#include <filesystem>
#include <functional>

#include "kiln/base/file.h"
#include "kiln/tensor/ir/text.h"

namespace kiln::tensor {
namespace {

// The command line that compiles the file with these options.
std::string command_for(const std::string& path, const CompileOptions& options) {
  std::string out = fmt::format("kiln compile {} --target {} -O {}", path, arch(options.target).name, options.level);
  if (options.lnc != 1) out += fmt::format(" --lnc {}", options.lnc);
  for (const std::string& input : options.donated) out += fmt::format(" --donate {}", input);
  return out;
}

Note note_for(const Graph& graph, const CompileOptions& options) {
  const std::string text = print(graph);
  std::error_code error;
  const auto folder = std::filesystem::temp_directory_path(error);
  if (error) return {fmt::format("the program could not be kept: {}", error.message()), {}};
  const std::string path = (folder / fmt::format("kiln-{:016x}.kt", std::hash<std::string>()(text))).string();
  try {
    write_atomically(path, text);
  } catch (const Error& e) {
    return {fmt::format("the program could not be kept: {}", e.first().found), {}};
  }
  return {fmt::format("the program that shows this was kept; `{}` repeats it", command_for(path, options)), {}};
}

}  // namespace

Compiled or_reproducer(const Graph& graph, const CompileOptions& options, FunctionRef<Compiled()> compile_it) {
  try {
    return compile_it();
  } catch (const Error& e) {
    if (e.first().category != Category::internal) throw;
    std::vector<Diagnostic> diagnostics = e.diagnostics();
    diagnostics.front().notes.push_back(note_for(graph, options));
    throw Error(std::move(diagnostics));
  }
}

}  // namespace kiln::tensor
