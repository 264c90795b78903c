// The data files of this folder, one per generation.
#pragma once

#include "kiln/arch/arch.h"

namespace kiln {
extern const Arch kGen2, kGen3, kGen4;
}
