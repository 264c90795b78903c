// The program `kiln`.
#include "cli/main.h"
#include "cli/python_file.h"

int main(int argc, char** argv) {
  if (kiln::cli::is_for_python(argc, argv)) return kiln::cli::hand_to_python(argc, argv);
  return kiln::cli::main(argc, argv);
}
