#include "cli/tidy_signals.h"

#include <csignal>

#include "kiln/base/temporaries.h"

namespace kiln::cli {
namespace {

constexpr int kEnding[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU};

// Only what is async-signal-safe. The handler is gone when it is called, so the signal now ends the process.
extern "C" void tidy_and_end(int signal) {
  unlink_temporaries();
  std::raise(signal);
}

bool is_default(int signal) {
  struct sigaction now;
  return ::sigaction(signal, nullptr, &now) == 0 && !(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_DFL;
}

}  // namespace

void tidy_on_signals() {
  struct sigaction action = {};
  action.sa_handler = tidy_and_end;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
  for (const int signal : kEnding) {
    if (is_default(signal)) ::sigaction(signal, &action, nullptr);
  }
  if (is_default(SIGXFSZ)) std::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace kiln::cli
