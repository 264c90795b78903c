// The options that concern kernels in Python. They are declared here and nowhere else: `--help` shows them, and the
// Python package gets what was given.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cli/host.h"

namespace kiln::cli {

// Groups of options, as the help shows them; what stands in neither goes with both kinds of files.
inline constexpr const char* kPythonGroup = "Kernels in Python (.py)";
inline constexpr const char* kTextGroup = "Programs in text form (.kiln)";

bool is_python(std::string_view file);
// file.py:function, a NumPy function to compile.
bool names_function(std::string_view file);
// The file of it, or the path as it is.
std::string file_of(const std::string& path);
bool any_python(const std::vector<std::string>& files);

// Values of the options that say which kernel and with which arguments.
struct KernelOptions {
  std::string kernel, dtype, record, lnc;
  std::vector<std::string> arguments;
};
void add_arguments(CLI::App& app, std::vector<std::string>& arguments);
void add_kernel_options(CLI::App& app, KernelOptions& options);

// Throws Error for options of the other kind of files.
void require_fitting_groups(const CLI::App& app, bool for_python);

PythonRequest request_of(const CLI::App& app, std::vector<std::string> words, std::vector<std::string> script_words);

}  // namespace kiln::cli
