// Odd passes: statements before or behind a rolled loop that are one more pass of it but for one place. The loop runs
// once more, and at that place the source asks which pass it is.
#pragma once

#include "kiln/emit/outline.h"

namespace kiln::emit {

// For an outline that is rolled and sealed.
void fold_odd_passes(Outline& outline);

}  // namespace kiln::emit
