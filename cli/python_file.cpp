#include "cli/python_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>
#include <vector>

#include "cli/outcome.h"
#include "cli/rules.h"

extern char** environ;

namespace kiln::cli {
namespace {

constexpr std::string_view kTakesKernels[] = {"check", "run", "time"};

// Finding NumPy and ml_dtypes is enough; importing them takes longer.
constexpr const char* kProbe =
    "import kiln._kiln, importlib.util as u; assert u.find_spec('numpy') and u.find_spec('ml_dtypes')";

const char* interpreter() {
  const char* chosen = std::getenv("KILN_PYTHON");
  return chosen && *chosen ? chosen : "python3";
}

bool can_import_kiln(const char* python) {
  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  const char* words[] = {python, "-c", kProbe, nullptr};
  pid_t child = 0;
  const int failed = posix_spawnp(&child, python, &quiet, nullptr, const_cast<char**>(words), environ);
  posix_spawn_file_actions_destroy(&quiet);
  int status = 1;
  return !failed && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

bool is_for_python(int argc, char** argv) {
  if (argc < 3) return false;
  const std::string_view command = argv[1], word = argv[2];
  if (command == "explain") return word.starts_with("language.") || word.starts_with("nki.");
  bool takes = false;
  for (const std::string_view name : kTakesKernels) takes |= command == name;
  for (int i = 2; takes && i < argc; ++i) {
    if (std::string_view(argv[i]).ends_with(".py")) return true;
  }
  return false;
}

int hand_to_python(int argc, char** argv) {
  const char* python = interpreter();
  if (can_import_kiln(python)) {
    std::vector<char*> words{const_cast<char*>(python), const_cast<char*>("-m"), const_cast<char*>("kiln")};
    words.insert(words.end(), argv + 1, argv + argc);
    words.push_back(nullptr);
    execvp(python, words.data());
  }
  const Diagnostic d = broken(
      CliRule::usage, fmt::format("a matter for the Python package, and `{}` cannot import kiln", python),
      "install the Python package with `pip install .` in the source tree, or set KILN_PYTHON to an "
      "interpreter that has it");
  fmt::print(stderr, "{}\n", to_text(d));
  return exit_code({d});
}

}  // namespace kiln::cli
