// The program `kiln`.
#include "cli/main.h"
#include "cli/python_file.h"
#include "cli/tidy_signals.h"

int main(int argc, char** argv) {
  kiln::cli::tidy_on_signals();
  return kiln::cli::main({argv + 1, argv + argc}, {.hand_over = kiln::cli::hand_to_python, .trace = {}});
}
