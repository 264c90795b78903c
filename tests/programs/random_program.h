// Random programs over all instructions, with loops of all kinds, views, also as other dtypes, registers, run-time
// addresses and tiles that nobody wrote.
#pragma once

#include <cstdint>
#include <vector>

#include "kiln/isa/program.h"
#include "tests/programs/choices.h"

namespace kiln::isa {

struct RandomProgramOptions {
  bool legal;      // see below
  int statements;  // about
  int depth;       // of loops
  int trips;       // of a loop, at most
};

// The structure is sound (verify finds nothing), the meaning is arbitrary. Pools are filled in the order of the text,
// so that parse(print(p)) has the same indices as p.
inline constexpr RandomProgramOptions kSoundProgram{.legal = false, .statements = 40, .depth = 5, .trips = 8};
// Mostly passes check, too: each instruction is tried with operands that suit its row of the table and kept when its
// own rules accept it. It nearly always ends.
inline constexpr RandomProgramOptions kLegalProgram{.legal = true, .statements = 12, .depth = 2, .trips = 3};

Program random_program(Choices& choices, const RandomProgramOptions& options);
Program random_program(std::uint64_t seed, const RandomProgramOptions& options = kSoundProgram);

// One program, or those of a pair of cores that meet.
std::vector<Program> random_launch(Choices& choices, const RandomProgramOptions& options = kLegalProgram);

}  // namespace kiln::isa
