#include "cli/terminal_width.h"

#include <sys/ioctl.h>
#include <unistd.h>

namespace kiln::cli {

std::size_t terminal_width() {
  winsize size{};
  if (!::isatty(STDOUT_FILENO) || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

}  // namespace kiln::cli
