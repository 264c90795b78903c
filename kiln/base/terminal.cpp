#include "kiln/base/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace kiln {
namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

std::size_t terminal_width(int fd) {
  winsize size{};
  if (!::isatty(fd) || ::ioctl(fd, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

bool wants_colour(int fd) {
  return ::isatty(fd) && environment("NO_COLOR").empty() && !environment("TERM").empty() &&
         environment("TERM") != "dumb";
}

}  // namespace kiln
