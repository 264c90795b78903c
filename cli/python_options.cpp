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

bool is_python(std::string_view file) { return file.ends_with(".py"); }

bool any_python(const std::vector<std::string>& files) { return std::any_of(files.begin(), files.end(), is_python); }

void add_kernel_options(CLI::App& app, KernelOptions& options) {
  app.add_option("--kernel", options.kernel, "the kernel to take; otherwise every one of the file")
      ->type_name("NAME")
      ->group(kPythonGroup);
  app.add_option("--arg", options.arguments,
                 "an argument: x=float32[128,512] for a tensor, a Python literal, a dtype or a word for anything else; "
                 "once for each")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false)
      ->group(kPythonGroup);
  app.add_option("--dtype", options.dtype, "of tensors whose shape an annotation gives; float32 unless given")
      ->check(not_a_dtype)
      ->type_name("DTYPE")
      ->group(kPythonGroup);
  app.add_option("--record", options.record, "calls that a run with KILN_RECORD=FILE in the environment wrote")
      ->type_name("FILE")
      ->group(kPythonGroup);
  app.add_option("--lnc", options.lnc, "cores of the logical core; otherwise as recorded, or 1")
      ->check(CLI::IsMember({"1", "2"}))
      ->type_name("1|2")
      ->group(kPythonGroup);
}

void require_fitting_groups(const CLI::App& app, bool for_python) {
  const char* const wrong = for_python ? kTextGroup : kPythonGroup;
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0 || option->get_group() != wrong) continue;
    const std::string name = option->get_name();
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
