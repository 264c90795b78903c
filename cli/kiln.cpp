// The program `kiln`.
#include "cli/main.h"
#include "cli/python_file.h"

int main(int argc, char** argv) {
  return kiln::cli::main({argv + 1, argv + argc}, {.hand_over = kiln::cli::hand_to_python, .trace = {}});
}
