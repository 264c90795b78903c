// Where the operands of an instruction with gathered or scattered views and their indices must lie.
#pragma once

#include <cstdint>
#include <string>

#include "kiln/isa/semantics/check.h"

namespace kiln::isa {

// What lies at a wrong partition, in words, or nothing. Tensors that the compiler places count as lying
// wherever it suits.
std::string misplaced_indirect(const Check& c);

// Whether an access can start at this partition: it is placed there by hand, or the compiler can place its tensor so.
bool can_start_at(const Check& c, const Access& access, std::int64_t partition);

// How many offsets an index holds for each group of partitions that share them.
std::int64_t index_capacity(const Check& c, const Access& index);

}  // namespace kiln::isa
