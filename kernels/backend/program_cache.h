// Programs that were made and found legal, by what they depend on.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "kiln/isa/program.h"

namespace kiln::backend {

// The program of a key; made and checked when it is not there. The oldest ones are forgotten.
inline constexpr std::size_t kMostPrograms = 512;
std::shared_ptr<const isa::Program> cached_program(const std::string& operation, const std::string& key, Target target,
                                                   const std::function<isa::Program(Target)>& make);
std::size_t cached_program_count();
void clear_programs();

}  // namespace kiln::backend
