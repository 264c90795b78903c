#include "cli/python_file.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/outcome.h"
#include "cli/rules.h"
#include "kiln/base/terminal.h"

extern char** environ;

namespace kiln::cli {
namespace {

// The beginning of all Python that is started here: what `-c` puts first, the current folder, is taken away before
// anything is imported. (`-P` does that from CPython 3.11 on; `-I` would ignore PYTHONPATH too.)
#define KILN_WITHOUT_CURRENT_FOLDER "import sys\nif sys.path[:1] == ['']: del sys.path[0]\n"

// Finding NumPy and ml_dtypes is enough; importing them takes longer.
constexpr const char* kProbe = KILN_WITHOUT_CURRENT_FOLDER R"(
import importlib.util
missing = [m for m in ('kiln', 'numpy', 'ml_dtypes') if not importlib.util.find_spec(m)]
if missing: sys.exit('no module named ' + ' and '.join(missing))
import kiln._kiln
)";

constexpr const char* kCommand = KILN_WITHOUT_CURRENT_FOLDER R"(
from kiln.__main__ import main
sys.exit(main())
)";

// An empty part of PYTHONPATH, as `PYTHONPATH=folder:$PYTHONPATH` leaves it, would be the current folder.
void remove_empty_parts(const char* variable) {
  const char* value = std::getenv(variable);
  if (!value) return;
  std::string kept;
  std::string_view rest = value;
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    if (part.empty()) continue;
    if (!kept.empty()) kept += ':';
    kept.append(part);
  }
  setenv(variable, kept.c_str(), 1);
}

const char* interpreter() {
  const char* chosen = std::getenv("KILN_PYTHON");
  return chosen && *chosen ? chosen : "python3";
}

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of('\n') + 1, begin = text.find_last_of('\n', end ? end - 1 : 0);
  return text.substr(begin == std::string::npos ? 0 : begin + 1, end - (begin == std::string::npos ? 0 : begin + 1));
}

std::string read_all(int from) {
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = read(from, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(n));
  return text;
}

// Why the interpreter has no kiln; nothing when it has.
std::optional<std::string> lacks_kiln(const char* python) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe to it can be opened";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  const char* words[] = {python, "-c", kProbe, nullptr};
  pid_t child = 0;
  const int failed = posix_spawnp(&child, python, &actions, nullptr, const_cast<char**>(words), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  const std::string said = failed ? std::strerror(failed) : last_line(read_all(ends[0]));
  close(ends[0]);
  int status = 1;
  if (!failed && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return said.empty() ? "it does not run" : said;
}

}  // namespace

int hand_to_python(const PythonRequest& request) {
  const char* python = interpreter();
  remove_empty_parts("PYTHONPATH");
  const std::optional<std::string> reason = lacks_kiln(python);
  if (!reason) {
    std::vector<const char*> words{python, "-c", kCommand};
    for (const std::string& word : request.words) words.push_back(word.c_str());
    words.push_back(nullptr);
    execvp(python, const_cast<char**>(words.data()));
  }
  const Diagnostic d = broken(
      cli_rules::kUsage,
      fmt::format("a matter for the Python package, and `{}` cannot import kiln: {}", python, reason.value_or("")),
      "install the Python package with `pip install .` in the source tree, or set KILN_PYTHON to an "
      "interpreter that has it");
  fmt::print(stderr, "{}\n", to_text(d, {.colour = wants_colour(STDERR_FILENO)}));
  return exit_code({d});
}

}  // namespace kiln::cli
