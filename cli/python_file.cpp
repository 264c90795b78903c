#include "cli/python_file.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

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

constexpr std::string_view kTakesKernels[] = {"check", "run", "time", "profile"};

// Finding NumPy and ml_dtypes is enough; importing them takes longer.
constexpr const char* kProbe = R"(
import importlib.util, sys
missing = [m for m in ('kiln', 'numpy', 'ml_dtypes') if not importlib.util.find_spec(m)]
if missing: sys.exit('no module named ' + ' and '.join(missing))
import kiln._kiln
)";

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
  const std::optional<std::string> reason = lacks_kiln(python);
  if (!reason) {
    std::vector<char*> words{const_cast<char*>(python), const_cast<char*>("-m"), const_cast<char*>("kiln")};
    words.insert(words.end(), argv + 1, argv + argc);
    words.push_back(nullptr);
    execvp(python, words.data());
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
