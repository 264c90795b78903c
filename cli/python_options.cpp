#include "cli/python_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/rules.h"
#include "kiln/base/dtype.h"

namespace kiln::cli {
namespace {

std::string not_a_dtype(const std::string& text) {
  DType parsed;
  return parse_dtype(text, parsed) ? "" : fmt::format("`{}` is no dtype of NKI", text);
}

}  // namespace

bool is_python(std::string_view file) { return file.ends_with(".py") || names_function(file); }

bool names_function(std::string_view file) {
  const std::size_t at = file.rfind(".py:");
  if (at == std::string_view::npos) return false;
  const std::string_view name = file.substr(at + 4);
  return !name.empty() && name.find_first_of("/\\.:") == std::string_view::npos;
}

std::string file_of(const std::string& path) { return names_function(path) ? path.substr(0, path.rfind(':')) : path; }

bool any_python(const std::vector<std::string>& files) { return std::any_of(files.begin(), files.end(), is_python); }

void add_arguments(CLI::App& app, std::vector<std::string>& arguments) {
  app.add_option("--arg", arguments,
                 "an argument: x=float32[128,512] for a tensor, a Python literal, a dtype or a word for anything else; "
                 "once for each")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false)
      ->group(kPythonGroup);
}

void add_kernel_options(CLI::App& app, KernelOptions& options) {
  app.add_option("--kernel", options.kernel, "the kernel to take, as FILE.py:NAME; otherwise every one of the file")
      ->type_name("NAME")
      ->group(kPythonGroup);
  add_arguments(app, options.arguments);
  app.add_option("--dtype", options.dtype, "of tensors whose shape an annotation gives; float32 unless given")
      ->check(not_a_dtype)
      ->type_name("DTYPE")
      ->group(kPythonGroup);
  app.add_option("--record", options.record, "calls that a run with KILN_RECORD=FILE in the environment wrote")
      ->type_name("FILE")
      ->group(kPythonGroup);
  app.add_option("--lnc", options.lnc,
                 "cores of the logical core, of tensor programs (.kt) too; otherwise as recorded, or 1")
      ->check(CLI::IsMember({"1", "2"}))
      ->type_name("1|2")
      ->group(kPythonGroup);
}

namespace {

std::vector<std::string> files_of(const CLI::App& app) {
  const CLI::Option* file = app.get_option_no_throw("FILE");
  return file ? file->results() : std::vector<std::string>{};
}

// A tensor program is compiled for as many cores as are asked for.
bool is_for_tensor_programs(const CLI::App& app, const std::string& option) {
  return option == "--lnc" &&
         std::ranges::any_of(files_of(app), [](const std::string& f) { return f.ends_with(".kt"); });
}

// A script calls its kernels itself; functions in a file have arguments.
void require_function(const CLI::App& app) {
  if (app.get_name() != "run" || app.count("--arg") == 0) return;
  const std::vector<std::string> files = files_of(app);
  if (std::ranges::any_of(files, [](const std::string& f) { return f.find(".py:") != std::string::npos; })) return;
  throw Error(
      broken(cli_rules::kKindOfFile, "`--arg` goes with FILE.py:FUNCTION only",
             "a script calls its kernels itself; for the kernels of a file, kiln check, kiln time and kiln emit "
             "have `--arg`"));
}

}  // namespace

void require_fitting_groups(const CLI::App& app, bool for_python) {
  if (for_python) require_function(app);
  const char* const wrong = for_python ? kTextGroup : kPythonGroup;
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0 || option->get_group() != wrong) continue;
    const std::string name = option->get_name();
    if (!for_python && is_for_tensor_programs(app, name)) continue;
    if (!for_python)
      throw Error(broken(cli_rules::kKindOfFile, fmt::format("`{}` goes with kernels in Python only", name)));
    throw Error(broken(cli_rules::kKindOfFile, fmt::format("`{}` goes with programs in text form only", name),
                       fmt::format("a script makes its arrays itself; if `{0}` is the script's own, write it after "
                                   "`--`: kiln run script.py -- {0} ...",
                                   name)));
  }
}

PythonRequest request_of(const CLI::App& app, std::vector<std::string> words, std::vector<std::string> script_words) {
  PythonRequest request{
      .command = app.get_name(), .words = std::move(words), .options = {}, .script_words = std::move(script_words)};
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() > 0) request.options[option->get_single_name()] = option->results();
  }
  return request;
}

}  // namespace kiln::cli
