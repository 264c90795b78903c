// Rolling: statements that repeat, with numbers that grow by the same amount every time, become a loop. What one pass
// makes and later statements use is kept in a list.
#pragma once

#include "kiln/emit/outline.h"

namespace kiln::emit {

// Rolls what repeats, innermost first, and seals every statement. Without `roll`, only seals.
void roll_up(Outline& outline, Keys& keys, bool roll);

}  // namespace kiln::emit
